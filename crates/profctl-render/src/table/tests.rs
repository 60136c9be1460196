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
            Times in us
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
            Times in ms
              Elapsed      Net  # calls                 (max/avg/min)  % real  % net   name
            -------------------------------------------------------------------------------
             1.234567 0.001000        2  (0.000700/0.000500/0.000300)   1.00%  2.00%   f
        "]],
    );
}

/// Calls of a nanosecond clock: large and small numbers, a long name.
fn wide() -> Table {
    let long = "a_function_with_a_name_of_44_characters_here";
    let rows = [
        (15_847_598_204, 15_073_402_000, 12_345, [8_594_123, 2_558_700, 451], 46.69, 88.37, long),
        (450, 450, 1, [450, 450, 450], 0.0, 0.0, "f"),
    ];
    let mut table = summary(Timebase::NANOSECONDS, &rows);
    table.left_out_first = &["real_pct", "net_avg"];
    table
}

fn at_width(table: &Table, width: usize) -> String {
    text(table, Format::Table, Style { width: Some(width), ..Style::default() })
}

#[test]
fn decimals_are_rounded_before_anything_is_left_out() {
    expect![[r"
        Times in ms
         Elapsed   Net  # calls           (max/avg/min)  % real  % net   name
        ----------------------------------------------------------------------------------------------------
           15848 15073    12345    (8.594/2.559/0.0005)  46.69% 88.37%   a_function_with_a_name_of_44_chara…
               0     0        1  (0.0005/0.0005/0.0005)   0.00%  0.00%   f
        note: decimals reduced to fit 100 columns
    "]].assert_eq(&at_width(&wide(), 100));
    expect![[r"
        Times in ms
          Elapsed      Net  # calls  % net   name
        --------------------------------------------------------------------------------
         15847.60 15073.40    12345 88.37%   a_function_with_a_name_of_44_characters_he…
             0.00     0.00        1  0.00%   f
        note: decimals reduced to fit 80 columns
        note: omitted to fit 80 columns: % real, (max/avg/min)
    "]]
    .assert_eq(&at_width(&wide(), 80));
}

#[test]
fn a_name_keeps_24_characters_at_any_width() {
    for width in [1, 20, 40, 60, 80, 100] {
        let text = at_width(&wide(), width);
        assert!(text.contains("a_function_with_a_name_"), "{width}: {text}");
        for line in text.lines().filter(|_| width >= 60) {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
    expect![[r"
        Times in ms
         Elapsed   Net  # calls  % net   name
        ------------------------------------------------------------
           15848 15073    12345 88.37%   a_function_with_a_name_of_…
               0     0        1  0.00%   f
        note: decimals reduced to fit 60 columns
        note: omitted to fit 60 columns: % real, (max/avg/min)
    "]]
    .assert_eq(&at_width(&wide(), 60));
}

#[test]
fn a_tree_gives_up_indentation_before_columns() {
    let mut table = wide();
    let name = "  ".repeat(20) + "a_function_below_twenty_others";
    table.rows[1][8] = name.as_str().into();
    expect![[r"
        Times in ms
         Elapsed   Net  # calls  % net   name
        --------------------------------------------------------------------------------
           15848 15073    12345 88.37%   a_function_with_a_name_of_44_characters_here
               0     0        1  0.00%                       a_function_below_twenty_ot…
        note: decimals reduced to fit 80 columns
        note: omitted to fit 80 columns: % real, (max/avg/min)
    "]]
    .assert_eq(&at_width(&table, 80));
    expect![[r"
        Times in ms
         Elapsed   Net  # calls              (max/avg/min)  % real  % net   name
        ----------------------------------------------------------------------------------------------------------------------
           15848 15073    12345    (8.5941/2.5587/0.00045)  46.69% 88.37%   a_function_with_a_name_of_44_characters_here
               0     0        1  (0.00045/0.00045/0.00045)   0.00%  0.00%                       a_function_below_twenty_others
        note: decimals reduced to fit 120 columns
    "]].assert_eq(&at_width(&table, 120));
}

#[test]
fn text_and_notes_break_between_words() {
    let columns = ["name", "about"].map(|name| Column::new(name, name, Role::Text)).to_vec();
    let mut table = Table::new("profctl.test/1", Timebase::NANOSECONDS, columns);
    table.push(vec!["chrome".into(), "trace-event JSON of Chrome and of many other tools".into()]);
    table.push(vec!["a".into(), "averylongwordwithoutanyspacethatmustbebrokensomewhere".into()]);
    table.notes.push("a note of more words than fit in one line of the table".into());
    expect![[r"
        name    about
        ----------------------------------------
        chrome  trace-event JSON of Chrome and
                of many other tools
        a       averylongwordwithoutanyspacethat
                mustbebrokensomewhere
        note: a note of more words than fit in
              one line of the table
    "]]
    .assert_eq(&at_width(&table, 40));
}

#[test]
fn the_unit_follows_the_largest_number_and_is_always_stated() {
    for (net, expected) in
        [(999, "Times in ns"), (15_000, "Times in us"), (20_000_000_000, "Times in ms")]
    {
        let rows = [(net, net, 1, [net; 3], 1.0, 1.0, "f")];
        let table = summary(Timebase::NANOSECONDS, &rows);
        for format in [Format::Table, Format::Markdown] {
            assert!(text(&table, format, Style::default()).starts_with(expected), "{net}");
        }
    }
}

#[test]
fn an_estimate_shows_no_digit_that_is_not_known() {
    let columns = vec![
        Column::new("net", "Net", Role::Time),
        Column::new("net_p99", "p99", Role::Time).estimated(),
    ];
    let mut table = Table::new("profctl.test/1", Timebase::NANOSECONDS, columns);
    for ticks in [12_300, 500, 12_345] {
        table.push(vec![Cell::Time(Ticks(ticks)), Cell::Time(Ticks(ticks))]);
    }
    let text = text(&table, Format::Table, Style::default());
    let p99: Vec<&str> =
        text.lines().skip(3).filter_map(|row| row.split_whitespace().nth(1)).collect();
    assert_eq!(p99, ["12.3", "0.5", "12.345"]);
}

#[test]
fn nothing_in_a_name_is_markup_in_markdown() {
    let columns =
        vec![Column::new("state", "a|b", Role::Text), Column::new("name", "name", Role::Name)];
    let mut table = Table::new("profctl.test/1", Timebase::NANOSECONDS, columns);
    for name in ["`|![x](http://y)|`", "\\|![x](http://y)", "x\n| y |\n", "<img src=x>"] {
        table.push(vec![name.into(), name.into()]);
    }
    table.push(vec!["x".into(), "y".repeat(70_000).as_str().into()]);
    table.notes.push("![x](http://y)".into());
    let markdown = text(&table, Format::Markdown, Style::default());
    assert!(markdown.lines().any(|line| line.len() > 70_000));
    let short: String = markdown.split_inclusive('\n').filter(|line| line.len() < 1_000).collect();
    expect![[r"
        | a\|b                       | name                                                                   |
        | -------------------------- | ---------------------------------------------------------------------- |
        | \`\|\!\[x\](http\://y)\|\` | `` `\|![x](http://y)\|` ``                                             |
        | \\\|\!\[x\](http\://y)     | <code>&#92;&#124;&#33;&#91;x&#93;&#40;http&#58;&#47;&#47;y&#41;</code> |
        | x\\n\| y \|\\n             | <code>x&#92;n&#124; y &#124;&#92;n</code>                              |
        | \<img src=x\>              | `<img src=x>`                                                          |

        > note: \!\[x\](http\://y)
    "]].assert_eq(&short);
}

#[test]
fn colors_come_only_when_asked_for() {
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
            Times in us

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
