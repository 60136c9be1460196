use expect_test::expect_file;
use profctl_model::{
    Column, Func, FuncKind, Names, PairedNode, PairedTree, PathCost, Role, Span, SpanSink as _,
    Table, Thread, Tick, TickUnit, Ticks, Timebase, Trace, TraceBuilder, TraceMeta,
};
use serde_json::{Value, json};

use super::calls::{self, Numbers, Scale};
use super::pack::tests::unpacked;
use super::*;
use crate::chart::lanes::Lanes;
use crate::chart::picture::PathPlace;
use crate::number;

/// A trace of one thread from calls that end in this order: name, start, end, callees.
fn trace(calls: &[(&str, u64, u64, u32)]) -> Trace {
    let mut names = Names::default();
    let thread = names.threads.push(Thread { name: "main".into(), ..Thread::default() });
    let mut builder = TraceBuilder::default();
    let mut roots: Vec<Ticks> = Vec::new();
    for &(name, start, end, callees) in calls {
        let func = names.func(Func { name: name.into(), ..Func::default() });
        let wall = Ticks(end - start);
        let below = roots.split_off(roots.len() - callees as usize);
        let net = below.iter().fold(wall, |net, &one| net - one);
        roots.push(wall);
        let span = Span {
            func,
            thread,
            cpu: None,
            start: Tick(start),
            end: Tick(end),
            wall,
            off_cpu: Ticks(0),
            net,
            stolen: Ticks(0),
            callees,
            descendants: 0,
            late: profctl_model::Late::NONE,
            outermost: true,
            interrupt: false,
            fidelity: profctl_model::Fidelity::EXACT,
        };
        builder.span(&span, &names);
    }
    let last = calls.iter().map(|call| call.2).max().unwrap_or(0);
    let meta = TraceMeta {
        timebase: Timebase::NANOSECONDS,
        first: Tick(0),
        last: Tick(last),
        events: 0,
        knows_off_cpu: false,
        diags: profctl_model::DiagLog::default(),
    };
    builder.finish(meta, names)
}

fn figures() -> Table {
    let columns = vec![
        Column::new("calls", "# calls", Role::Count),
        Column::new("module", "module", Role::Text),
        Column::new("name", "name", Role::Name),
    ];
    Table::new("profctl.test/1", Timebase::NANOSECONDS, columns)
}

fn page_of(trace: &Trace, title: &str) -> String {
    let figures = figures();
    write(&Page {
        title: title.into(),
        sentence: None,
        facts: vec![("name".into(), "<b>&\"'".into())],
        notes: Vec::new(),
        unit: TimeUnit::Auto,
        picture: Some(Picture {
            calls: Some(Calls {
                trace,
                trees: &[],
                functions: &figures,
                path: &[],
                calls_max: CALLS_MAX,
            }),
            paired: None,
            first: Kind::Chart,
            begin: Begin::default(),
        }),
        sections: Vec::new(),
    })
}

const NESTED: [(&str, u64, u64, u32); 6] = [
    ("leaf", 2, 4, 0),
    ("leaf", 4, 5, 0),
    ("mid", 1, 50, 2),
    ("leaf", 60, 61, 0),
    ("main", 0, 100, 2),
    ("tail", 100, 100, 0),
];

fn columns_of(trace: &Trace, least: u64) -> (calls::Block, Value, Vec<Vec<i64>>) {
    let numbers = Numbers { of_func: vec![1, 2, 3, 4], of_thread: Vec::new() };
    let scale = Scale { first: Tick(0), step: 1 };
    let block = calls::block(trace, &Lanes::of(trace), &numbers, scale, least);
    let (head, columns) = unpacked(&block.text);
    // A column of zeros is omitted.
    let of =
        |name| columns.get(name).cloned().unwrap_or(vec![0; head["n"].as_u64().unwrap() as usize]);
    let wanted = ["depth", "func", "gap", "length"].map(of);
    let counts = columns.get("count").cloned().unwrap_or_default();
    (block, head, [wanted.to_vec(), vec![counts]].concat())
}

#[test]
fn calls_stand_in_the_order_of_entry_and_near_one_another() {
    let trace = trace(&NESTED);
    let (block, head, columns) = columns_of(&trace, 0);
    assert_eq!((block.kept, block.merged), (6, 0));
    assert_eq!(head["lanes"], json!([{ "n": 6 }]));
    // main, mid, leaf, leaf, leaf, tail; functions in the order in which they ended first.
    assert_eq!(columns[0], [0, 1, 1, 0, -1, -1], "steps of depth");
    assert_eq!(columns[1], [3, 2, 1, 1, 1, 4], "functions");
    assert_eq!(columns[2], [0, 1, 1, 0, 10, 0], "from the neighbor's end, or the caller's start");
    assert_eq!(columns[3], [100, 49, 2, 1, 1, 0], "lengths");
    assert!(columns[4].is_empty(), "nothing is merged");
}

#[test]
fn what_is_short_is_merged_and_counted_with_all_below_it() {
    let trace = trace(&NESTED);
    let (block, _, columns) = columns_of(&trace, 10);
    assert_eq!((block.kept, block.merged), (2, 4));
    // main, mid, two leaves as one, a leaf alone, the tail without a length.
    assert_eq!(columns[1], [3, 2, 0, 0, 0]);
    assert_eq!(columns[3], [100, 49, 3, 1, 0]);
    assert_eq!(columns[4], [2, 1, 1]);
    let (block, _, columns) = columns_of(&trace, 1000);
    assert_eq!((block.kept, block.merged), (0, 6));
    assert_eq!((columns[1].clone(), columns[4].clone()), (vec![0], vec![6]));
}

#[test]
fn the_shortest_calls_give_way_first() {
    let trace = trace(&NESTED);
    let scale = Scale { first: Tick(0), step: 1 };
    for (most, kept) in [(6, 6), (5, 5), (2, 2), (1, 1), (0, 0)] {
        let least = calls::least_length(&trace, scale, most);
        let (block, ..) = columns_of(&trace, least);
        assert_eq!(block.kept, kept, "at most {most}, so from {least} on");
        assert_eq!(block.kept + block.merged, 6);
    }
}

#[test]
fn times_beyond_what_a_browser_can_count_are_told_in_coarser_steps() {
    for (most, step) in [(0, 1), ((1 << 53) - 1, 1), (1 << 53, 10), (u64::MAX, 10_000)] {
        assert_eq!(Scale::new(Tick(0), most).step, step);
    }
    let long = trace(&[("f", 0, u64::MAX, 0)]);
    assert!(page_of(&long, "long").contains("data-calls"));
}

#[test]
fn no_name_can_leave_its_place() {
    let hostile = "</script><script>alert(1)</script>\"'<!--\u{202e}\n";
    let trace = trace(&[(hostile, 0, 5, 0)]);
    let page = page_of(&trace, hostile);
    let scripts = page.matches("<script").count();
    assert_eq!(scripts, page_of(&self::trace(&[("f", 0, 5, 0)]), "f").matches("<script").count());
    assert_eq!(scripts, page.matches("</script>").count());
    assert!(!page.contains("alert(1)</script>"));
    assert!(page.contains("&lt;/script&gt;") && !page.contains('\u{202e}'));
    assert!(page.contains("<dd>&lt;b&gt;&amp;&quot;&#39;</dd>"));
}

#[test]
fn a_page_fetches_nothing() {
    let page = page_of(&trace(&NESTED), "calls");
    for word in
        ["http://", "https://", "fetch(", "XMLHttpRequest", "import(", " src=", "@import", "url("]
    {
        let found = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!found.contains(word), "{word}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn an_empty_trace_and_one_without_length_have_a_page() {
    for calls in [&[][..], &[("f", 7, 7, 0)]] {
        let page = page_of(&trace(calls), "little");
        assert!(page.contains("id=\"data-page\"") && page.contains("id=\"data-calls\""));
    }
}

#[test]
fn a_comparison_tells_each_path_once() {
    let cost = |elapsed, net| Some(PathCost { calls: 1, elapsed, net });
    let node = |name: &str, parent, before, after, verdict| PairedNode {
        name: name.into(),
        renamed_from: None,
        parent,
        depth: u32::from(parent.is_some()),
        before,
        after,
        verdict,
    };
    let mut tree = PairedTree::default();
    let main = tree.push(node("main", None, cost(10, 4), cost(20, 4), Some("regressed")));
    let idle = tree.push(node("idle", None, cost(5, 5), cost(5, 5), None));
    tree.push(node("new", Some(main), None, cost(16, 16), Some("new")));
    tree.push(node("idle", Some(idle), cost(0, 0), None, Some("equivalent")));
    let paints = crate::chart::palette::Paint::all();
    let sides = graph::Sides { before: "a", after: "b" };
    let text = graph::paired(&tree, sides, &paints, Scale { first: Tick(0), step: 1 });
    let (head, columns) = unpacked(&text);
    assert_eq!(head["names"], json!(["", "main", "new", "idle"]));
    assert_eq!(head["verdicts"], json!(["not tested", "regressed", "new", "equivalent"]));
    assert_eq!(columns["name"], [1, 2, 3, 3]);
    assert_eq!(columns["depth"], [0, 1, -1, 1]);
    assert_eq!(columns["seen"], [3, 2, 3, 1]);
    assert_eq!(columns["unproven"], [0, 0, 0, 1]);
    assert_eq!(columns["after_net"], [4, 16, 5, 0]);
}

#[test]
fn a_table_is_one_that_can_be_sorted_by_ear() {
    let mut table = figures();
    table.push(vec![profctl_model::Cell::Count(3), "m".into(), "f<int>".into()]);
    let page = write(&Page {
        title: "t".into(),
        sentence: None,
        facts: Vec::new(),
        notes: Vec::new(),
        unit: TimeUnit::Auto,
        picture: None,
        sections: vec![Section::Table {
            heading: "Functions".into(),
            table: &table,
            sorted_by: Some("calls"),
            names_functions: true,
        }],
    });
    for wanted in [
        "<th scope=\"col\" class=\"number\" aria-sort=\"descending\">",
        "</td><td class=\"number\">3</td><td>m</td>",
        "<button type=\"button\" class=\"pick\">f&lt;int&gt;</button>",
        "aria-label=\"filter names by regular expression\"",
    ] {
        assert!(page.contains(wanted), "{wanted}");
    }
    assert!(!page.contains("id=\"picture\""));
}

/// What the formatter in the page must print, for the test that runs it in a browser.
#[test]
fn the_browser_is_told_what_numbers_look_like() {
    let seconds = |numerator, denominator, resolution| Timebase {
        unit: TickUnit::Seconds { numerator, denominator },
        resolution: Ticks(resolution),
        ..Timebase::NANOSECONDS
    };
    let clocks = [
        Timebase::NANOSECONDS,
        Timebase::MICROSECONDS,
        seconds(1, 1_000_000_000, 1_000),
        seconds(1, 1_000_000_000_000_000, 1),
        seconds(1, 24_000_000, 1),
        seconds(1, 16_000_000, 1),
        seconds(60, 1, 1),
        Timebase { unit: TickUnit::Cycles, ..Timebase::NANOSECONDS },
    ];
    let mut cases = Vec::new();
    for timebase in clocks {
        for unit in TimeUnit::ALL {
            let clock = data::clock(&timebase, unit, 1);
            for ticks in [0, 1, 999, 1_000, 1_234_567, (1 << 53) - 1] {
                let number = number::length(Ticks(ticks), &timebase, unit);
                let text = format!("{number} {}", unit.label(&timebase));
                cases.push(json!([clock, ticks, text]).to_string());
            }
        }
    }
    let text = format!("[\n{}\n]\n", cases.join(",\n"));
    expect_file![concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/e2e/number-cases.json")]
        .assert_eq(&text);
}

#[test]
fn functions_carry_their_kind_color_and_figures() {
    let mut trace = trace(&NESTED);
    trace.names.func(Func { name: "irq".into(), kind: FuncKind::Interrupt, ..Func::default() });
    let mut figures = figures();
    figures.push(vec![profctl_model::Cell::Count(3), profctl_model::Cell::Null, "leaf".into()]);
    let calls = Calls {
        trace: &trace,
        trees: &[],
        functions: &figures,
        path: &[PathStep {
            place: PathPlace::Call(profctl_model::SpanId::from_index(1)),
            start: Tick(1),
            end: Tick(4),
            waits: false,
        }],
        calls_max: CALLS_MAX,
    };
    let value = data::value_of(&calls, TimeUnit::Auto);
    let functions = value["functions"].as_array().unwrap();
    let names: Vec<_> = functions.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["", "leaf", "mid", "main", "tail"], "the most called first, irq not at all");
    assert_eq!((&functions[1]["figures"], &value["figures"]), (&json!(["3"]), &json!(["calls"])));
    assert_eq!(functions[2]["figures"], json!(null));
    assert_eq!(value["path"], json!([[1, 3, 0, 1, 0]]));
    assert_eq!(value["lanes"][0]["levels"], 3);
}
