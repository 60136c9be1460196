use expect_test::{Expect, expect};
use profctl_model::{Cell, Column, Role, Table, Ticks, Timebase};

use super::*;

/// Elapsed, net, calls, max and avg and min, % real, % net, name.
type Row = (u64, u64, u64, [u64; 3], f64, f64, &'static str);

/// A summary in the columns of 1993.
fn summary(timebase: Timebase, rows: &[Row]) -> Table {
    let columns = vec![
        Column::new("elapsed", "Elapsed", Role::Time),
        Column::new("net", "Net", Role::Time),
        Column::new("calls", "# calls", Role::Count),
        Column::new("net_max", "max", Role::Time).in_group("net"),
        Column::new("net_avg", "avg", Role::Time).in_group("net"),
        Column::new("net_min", "min", Role::Time).in_group("net"),
        Column::new("real_pct", "% real", Role::Percent),
        Column::new("net_pct", "% net", Role::Percent),
        Column::new("name", "name", Role::Name),
    ];
    let mut table = Table::new("profctl.test/1", timebase, columns);
    for &(elapsed, net, calls, [max, avg, min], real, share, name) in rows {
        let time = |ticks| Cell::Time(Ticks(ticks));
        table.push(vec![
            time(elapsed),
            time(net),
            Cell::Count(calls),
            time(max),
            time(avg),
            time(min),
            Cell::Percent(real),
            Cell::Percent(share),
            name.into(),
        ]);
    }
    table
}

fn two_rows() -> Table {
    let mut table = summary(
        Timebase::MICROSECONDS,
        &[
            (903_110, 421_907, 1204, [2210, 350, 9], 12.3449, 61.455, "disk_strategy"),
            (118, 118, 7, [40, 16, 3], 0.004, 0.0171, "a|b,\"c\""),
        ],
    );
    table.notes.push("3 calls partial".into());
    table
}

fn text(table: &Table, format: Format, style: Style) -> String {
    let mut out = Vec::new();
    write(table, format, &style, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn check(table: &Table, format: Format, style: Style, expected: &Expect) {
    expected.assert_eq(&text(table, format, style));
}

#[test]
fn the_summary_of_1993() {
    check(
        &two_rows(),
        Format::Table,
        Style::default(),
        &expect![[r#"
             Elapsed    Net  # calls   (max/avg/min)  % real  % net   name
            -----------------------------------------------------------------------
              903110 421907     1204    (2210/350/9)  12.34% 61.45%   disk_strategy
                 118    118        7       (40/16/3)   0.00%  0.02%   a|b,"c"
            note: 3 calls partial
        "#]],
    );
}

#[test]
fn finer_clocks_and_other_units_widen_the_columns() {
    let rows = [(1_234_567, 1_000, 2, [700, 500, 300], 1.0, 2.0, "f")];
    let style = Style { unit: TimeUnit::Ms, ..Style::default() };
    let table = summary(Timebase::NANOSECONDS, &rows);
    check(
        &table,
        Format::Table,
        style,
        &expect![[r"
              Elapsed      Net  # calls                 (max/avg/min)  % real  % net   name
            -------------------------------------------------------------------------------
             1.234567 0.001000        2  (0.000700/0.000500/0.000300)   1.00%  2.00%   f
        "]],
    );
}

#[test]
fn a_narrow_terminal_costs_the_name_its_end_and_wraps_nothing() {
    for width in [1, 20, 66, 70, 72] {
        let style = Style { width: Some(width), ..Style::default() };
        for line in text(&two_rows(), Format::Table, style).lines() {
            let fits = line.chars().count() <= width;
            assert!(fits || line.starts_with("note: "), "{width}: {line}");
        }
    }
    let style = Style { width: Some(70), ..Style::default() };
    let narrow = text(&two_rows(), Format::Table, style);
    assert!(narrow.contains("61.45%   disk_strate…\n"), "{narrow}");
    assert!(narrow.contains("0.02%   a|b,\"c\"\n"), "{narrow}");
}

#[test]
fn colours_come_only_when_asked_for() {
    let plain = text(&two_rows(), Format::Table, Style::default());
    let style = Style { color: true, ..Style::default() };
    let painted = text(&two_rows(), Format::Table, style);
    assert!(!plain.contains('\x1b') && painted.contains("\x1b[1m Elapsed"), "{painted:?}");
}

#[test]
fn names_cannot_steer_the_terminal() {
    let mut table = Table::new(
        "profctl.test/1",
        Timebase::MICROSECONDS,
        vec![
            Column::new("state", "state", Role::Text),
            Column::new("calls", "# calls", Role::Count),
            Column::new("name", "name", Role::Name),
        ],
    );
    table.push(vec![Cell::Null, Cell::Count(1), "\x1b[2J\n\u{202e}größe".into()]);
    check(
        &table,
        Format::Table,
        Style::default(),
        &expect![[r"
            state  # calls   name
            -----------------------------------------
            -            1   \u{1b}[2J\n\u{202e}größe
        "]],
    );
    let json = text(&table, Format::Json, Style::default());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["rows"][0]["name"], "\x1b[2J\n\u{202e}größe");
    assert_eq!(json["rows"][0]["state"], serde_json::Value::Null);
}

#[test]
fn json_parses_and_carries_reported_integers() {
    let json: serde_json::Value =
        serde_json::from_str(&text(&two_rows(), Format::Json, Style::default())).unwrap();
    assert_eq!(json["schema"], "profctl.test/1");
    assert_eq!(json["unit"], "ns");
    assert_eq!(json["columns"][3], "net_max");
    assert_eq!(json["rows"][0]["elapsed"], 903_110_000);
    assert_eq!(json["rows"][0]["real_pct"], 12.3449);
    assert_eq!(json["rows"][1]["name"], "a|b,\"c\"");
    assert_eq!(json["notes"][0], "3 calls partial");
}

#[test]
fn csv_quotes_what_it_must() {
    let csv = text(&two_rows(), Format::Csv, Style::default());
    assert_eq!(csv.matches("\r\n").count(), csv.lines().count());
    expect![[r#"
        elapsed,net,calls,net_max,net_avg,net_min,real_pct,net_pct,name
        903110000,421907000,1204,2210000,350000,9000,12.3449,61.455,disk_strategy
        118000,118000,7,40000,16000,3000,0.004,0.0171,"a|b,""c"""
    "#]]
    .assert_eq(&csv.replace('\r', ""));
}

#[test]
fn markdown_is_aligned_and_escaped() {
    check(
        &two_rows(),
        Format::Markdown,
        Style::default(),
        &expect![[r#"
            | Elapsed |    Net | # calls | (max/avg/min) | % real |  % net | name            |
            | ------: | -----: | ------: | ------------: | -----: | -----: | --------------- |
            |  903110 | 421907 |    1204 |  (2210/350/9) | 12.34% | 61.45% | `disk_strategy` |
            |     118 |    118 |       7 |     (40/16/3) |  0.00% |  0.02% | `a\|b,"c"`      |

            > note: 3 calls partial
        "#]],
    );
}

#[test]
fn formats_are_parsed_by_the_name_they_print() {
    for format in Format::ALL {
        assert_eq!(format.to_string().parse(), Ok(format));
    }
    assert!("xml".parse::<Format>().is_err());
}
