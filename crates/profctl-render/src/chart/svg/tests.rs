use expect_test::{Expect, expect};
use proptest::prelude::*;
use quick_xml::Reader;
use quick_xml::events::Event;

use super::*;
use crate::chart::frames::Frames;
use crate::chart::lanes::Lanes;
use crate::chart::picture::{
    ChartOptions, DiffOptions, GraphOptions, PathPlace, PathStep, chart, diff, graph,
};
use crate::chart::testing::{frames, random_trace, trace};
use crate::number::TimeUnit;
use profctl_model::{PairedNode, PairedTree, PathCost, SpanId, Tick, Timebase, Trace};

fn step(call: SpanId, start: u64, end: u64) -> PathStep {
    let place = PathPlace::Call(call);
    PathStep { place, start: Tick(start), end: Tick(end), waits: false }
}

fn chart_options(title: &str) -> ChartOptions {
    ChartOptions {
        title: title.to_owned(),
        width: 400,
        levels: 8,
        narrowest: 100,
        budget: 1000,
        unit: TimeUnit::Auto,
        upward: false,
        notes: vec!["lost: 1 gap".into()],
    }
}

fn graph_options(title: &str) -> GraphOptions {
    let ChartOptions { title, width, levels, narrowest, budget, unit, upward, .. } =
        chart_options(title);
    let notes = Vec::new();
    GraphOptions { title, width, levels, narrowest, budget, unit, upward, turned: false, notes }
}

fn chart_of(trace: &Trace) -> Picture {
    chart(trace, &Lanes::of(trace), &[], &chart_options("a <chart>"))
}

fn graph_of(trace: &Trace) -> Picture {
    graph(&frames(trace, None), &trace.meta.timebase, &graph_options("graph"))
}

/// The text of every element of one name, and how many elements there are; fails if it is not a
/// XML.
fn texts(svg: &str, name: &str) -> (Vec<String>, usize) {
    let mut reader = Reader::from_str(svg);
    reader.config_mut().check_end_names = true;
    let (mut found, mut elements, mut inside) = (Vec::new(), 0, false);
    loop {
        match reader.read_event().expect("well-formed XML") {
            Event::Start(start) => {
                elements += 1;
                inside = start.name().as_ref() == name;
                if inside {
                    found.push(String::new());
                }
            }
            Event::Empty(_) => elements += 1,
            Event::End(_) => inside = false,
            Event::Text(text) if inside => {
                found.last_mut().unwrap().push_str(&text);
            }
            Event::GeneralRef(name) if inside => {
                let named = match &*name {
                    "lt" => '<',
                    "gt" => '>',
                    "amp" => '&',
                    "quot" => '"',
                    other => panic!("&{other};"),
                };
                found.last_mut().unwrap().push(named);
            }
            Event::Eof => return (found, elements),
            _ => {}
        }
    }
}

/// The plot without its frame: what differs from picture to picture.
fn check(picture: &Picture, expected: &Expect) {
    let svg = write(picture);
    texts(&svg, "title");
    let from = svg.find("<svg id=\"plot\"").expect("a plot");
    let until = svg.find("<script>").expect("a script");
    expected.assert_eq(&svg[from..until]);
}

#[test]
fn a_chart_shows_calls_gaps_and_absences() {
    let trace = trace(
        "@a #0 0 sys_read( 10 f( 11 ) 12 f( 13 ) 40 irq( 60 ) 100 ~) run:a:0:0-70 off:a:70-90 run:a:0:90-100 \
         gap:0:95 mark:a:50",
    );
    let spans: Vec<_> = trace.spans.ids().collect();
    let path = [step(spans[0], 0, 40), step(spans[3], 40, 60), step(spans[0], 60, 100)];
    let options = ChartOptions { narrowest: 1000, ..chart_options("chart") };
    let picture = chart(&trace, &Lanes::of(&trace), &path, &options);
    check(
        &picture,
        &expect![[r#"
            <svg id="plot" x="57" y="0" width="329" height="279">
            <g class="v"><rect fill="url(#veil)" opacity=".6" x="230.3" y="172" width="65.8" height="42"/></g>
            <g class="st"><title>running for 70 us</title><rect class="st0" x="0" y="163" width="230.3" height="7"/></g>
            <g class="st"><title>sleeping for 20 us</title><rect fill="url(#st2)" x="230.3" y="163" width="65.8" height="7"/></g>
            <g class="st"><title>running for 10 us</title><rect class="st0" x="296.1" y="163" width="32.9" height="7"/></g>
            <g class="b" data-l="0"><title>a
            ran 70 us on CPU 0
            then sleeping</title><rect class="s f11" x="0" y="139" width="229.8" height="17"/><text x="4" y="151">a</text></g>
            <g class="b" data-l="0"><title>a
            ran 10 us on CPU 0</title><rect class="s f11" x="296.1" y="139" width="32.4" height="17"/><text x="300.1" y="151">a</text></g>
            <g class="b" data-l="1"><title>sys_read
            syscall
            elapsed: 100 us
            net: 78 us
            from 0 us on a, CPU 0
            exit not recorded</title><rect class="s s0" x="0" y="172" width="328.5" height="17"/><rect fill="url(#hatch)" opacity=".35" x="0" y="172" width="328.5" height="17"/><text x="4" y="184">sys_read</text></g>
            <g class="b" data-l="1" data-m="1"><title>2 calls, mostly f
            elapsed: 2 us
            from 10 us to 13 us on a
            the first: f</title><rect class="s mg" x="32.9" y="190" width="9.37" height="17"/></g>
            <g class="b" data-l="1"><title>irq
            interrupt
            elapsed: 20 us
            net: 20 us
            from 40 us on a, CPU 0</title><rect class="s i0" x="131.6" y="190" width="65.3" height="17"/><text x="135.6" y="202">irq</text></g>
            <g class="v"><rect class="bg" opacity=".3" x="230.3" y="172" width="65.8" height="42"/></g>
            <g class="u" data-x="312.55" transform="translate(312.55 0)"><title>lost here: an unknown number of events</title><line class="gap" y1="172" y2="214"/></g>
            <g class="u" data-x="164.5" transform="translate(164.5 0)"><title>mark</title><line class="mark" y1="208" y2="214"/></g>
            <polyline class="p" points="0,187 131.6,187 131.6,205 197.4,205 197.4,187 329,187 "/>
            </svg>
            <text class="note" x="14" y="237">lost: 1 gap</text>
            <text class="note" x="14" y="254">merged: calls narrower than 10 pixels are drawn as blocks that c…</text>
            <text class="note tool" x="14" y="287">click or Enter zooms, Escape goes back, / searches, n finds the n…</text>
        "#]],
    );
}

#[test]
fn a_graph_merges_paths() {
    let trace = trace("0 main( 10 f( 20 g( 30 ) 40 ) 50 f( 60 ) 61 tiny( 62 ) 90 h( 100 ) 100 )");
    check(
        &graph_of(&trace),
        &expect![[r#"
            <svg id="plot" x="14" y="0" width="372" height="172">
            <g class="b" data-l="0"><title>main
            1 call
            elapsed: 100 us, 100.00% of all
            net: 49 us, 49.00% of all</title><rect class="s f14" x="0" y="105" width="371.5" height="17"/><text x="4" y="117">main</text></g>
            <g class="b" data-l="0"><title>f
            2 calls
            elapsed: 40 us, 40.00% of all
            net: 30 us, 30.00% of all
            elapsed max/avg/min: 30/20/10 us</title><rect class="s f30" x="0" y="123" width="148.3" height="17"/><text x="4" y="135">f</text></g>
            <g class="b" data-l="0"><title>h
            1 call
            elapsed: 10 us, 10.00% of all
            net: 10 us, 10.00% of all</title><rect class="s f3" x="148.8" y="123" width="36.7" height="17"/><text x="152.8" y="135">h</text></g>
            <g class="b" data-l="0"><title>tiny
            1 call
            elapsed: 1 us, 1.00% of all
            net: 1 us, 1.00% of all</title><rect class="s f19" x="186" y="123" width="3.22" height="17"/></g>
            <g class="b" data-l="0"><title>g
            1 call
            elapsed: 10 us, 10.00% of all
            net: 10 us, 10.00% of all</title><rect class="s f7" x="0" y="141" width="36.7" height="17"/><text x="4" y="153">g</text></g>
            </svg>
            <text class="note tool" x="14" y="180">click or Enter zooms, Escape goes back, / searches, n finds the n…</text>
        "#]],
    );
}

#[test]
fn callers_can_stand_below_and_paths_be_turned() {
    let trace = trace("0 main( 10 f( 60 ) 70 g( 80 f( 100 ) 100 ) 100 )");
    let frames = frames(&trace, None);
    let places = |frames: &Frames, upward: bool| {
        let options = GraphOptions { upward, turned: true, ..graph_options("graph") };
        let picture = graph(frames, &trace.meta.timebase, &options);
        let top = picture.plot.top;
        let place = |b: &Drawn| format!("{}:{}+{}", b.label, (b.y - top) / 18, b.x1 - b.x0);
        picture.boxes.iter().map(place).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(places(&frames, false), "main:0+37200 f:1+18600 g:1+11160 f:2+7440");
    assert_eq!(places(&frames, true), "main:2+37200 f:1+18600 g:1+11160 f:0+7440");
    // 50 + 20 ticks of f, 20 of main, 10 of g: each below it those who called it.
    assert_eq!(
        places(&frames.turned(), false),
        "f:0+26040 main:0+7440 g:0+3720 main:1+18600 g:1+7440 main:2+7440 main:1+3720"
    );
}

#[test]
fn a_comparison_shows_both_sides_and_what_only_one_has() {
    let mut tree = PairedTree::default();
    let cost = |calls, elapsed, net| Some(PathCost { calls, elapsed, net });
    let node = |name: &str, parent, before, after, verdict| PairedNode {
        name: name.to_owned(),
        renamed_from: None,
        parent,
        depth: u32::from(parent.is_some()),
        before,
        after,
        verdict,
    };
    let (before, after) = (cost(1, 100_000, 10_000), cost(1, 160_000, 10_000));
    let main = tree.push(node("main", None, before, after, Some("inconclusive")));
    let (before, after) = (cost(5, 50_000, 50_000), cost(5, 110_000, 110_000));
    tree.push(node("slower", Some(main), before, after, Some("regressed")));
    tree.push(node("lost", Some(main), cost(4, 40_000, 40_000), None, Some("gone")));
    tree.push(node("added", Some(main), None, cost(2, 40_000, 40_000), None));
    let options = DiffOptions {
        title: "diff".into(),
        sides: ["old".into(), "new".into()],
        width: 400,
        levels: 8,
        narrowest: 100,
        budget: 1000,
        unit: TimeUnit::Auto,
        upward: false,
        notes: Vec::new(),
    };
    let picture = diff(&tree, &Timebase::NANOSECONDS, &options);
    check(
        &picture,
        &expect![[r#"
            <svg id="plot" x="14" y="0" width="372" height="223">
            <g class="b" data-l="0"><title>main
            before: 100.000 us, 100.00% of all before
            after: 160.000 us, 100.00% of all after
            change: +60.000 us, relative +60.00%, share +0.00 points
            net: 10.000 us before, 10.000 us after
            calls: 1 before, 1 after
            verdict: inconclusive</title><rect class="s m2" x="0" y="156" width="371.5" height="17"/><rect fill="url(#hatch)" opacity=".35" x="0" y="156" width="371.5" height="17"/><rect class="b0" x="0" y="174" width="186" height="4"/><rect class="m2" x="0" y="178" width="297.6" height="4"/><text x="4" y="168">main</text></g>
            <g class="b" data-l="0"><title>slower
            before: 50.000 us, 50.00% of all before
            after: 110.000 us, 68.75% of all after
            change: +60.000 us, relative +120.00%, share +18.75 points
            net: 50.000 us before, 110.000 us after
            calls: 5 before, 5 after
            verdict: regressed</title><rect class="s m3" x="0" y="184" width="204.1" height="17"/><rect class="b0" x="0" y="202" width="93" height="4"/><rect class="m3" x="0" y="206" width="204.6" height="4"/><text x="4" y="196">slower</text></g>
            <g class="b" data-l="0"><title>added
            new: path only in after
            before: 0.000 us, 0.00% of all before
            after: 40.000 us, 25.00% of all after
            change: +40.000 us, relative new, share +25.00 points
            net: 0.000 us before, 40.000 us after
            calls: 0 before, 2 after
            not tested</title><rect class="s un e1" x="204.6" y="184" width="73.9" height="17"/><rect class="b0" x="204.6" y="202" width="0" height="4"/><rect class="m4" x="204.6" y="206" width="74.4" height="4"/><text x="208.6" y="196">added</text></g>
            <g class="b" data-l="0"><title>lost
            gone: path only in before
            before: 40.000 us, 40.00% of all before
            after: 0.000 us, 0.00% of all after
            change: -40.000 us, relative gone, share -40.00 points
            net: 40.000 us before, 0.000 us after
            calls: 4 before, 0 after
            verdict: gone</title><rect class="s l4 e2" x="279" y="184" width="73.9" height="17"/><rect class="b0" x="279" y="202" width="74.4" height="4"/><rect class="l4" x="279" y="206" width="0" height="4"/><text x="283" y="196">lost</text></g>
            </svg>
            <text class="note tool" x="14" y="231">click or Enter zooms, Escape goes back, / searches, n finds the n…</text>
        "#]],
    );
}

#[test]
fn names_cannot_break_out() {
    let hostile = "0 </title><script>alert(1)</script>&\"]]>( 1000 )";
    for picture in [chart_of(&trace(hostile)), graph_of(&trace(hostile))] {
        let svg = write(&picture);
        let (titles, _) = texts(&svg, "title");
        let named = titles.iter().any(|t| t.starts_with("</title><script>alert(1)</script>&\"]]>"));
        assert!(named, "{titles:?}");
        assert_eq!(svg.matches("<script").count(), 1);
        assert!(!svg.contains("href") && !svg.contains("@import"), "nothing is loaded");
    }
    assert_eq!(xml("a\u{1}\u{1b}[0m\u{FFFF}é"), "a\u{FFFD}\u{FFFD}[0m\u{FFFD}é");
}

#[test]
fn large_traces_stay_openable() {
    let calls: String = (0..30_000).fold(String::new(), |line, n| {
        let at = n * 100;
        line + &format!("{at} f{}( {} g( {} ) {} ) ", n % 50, at + 10, at + 60, at + 90)
    });
    let trace = trace(&calls);
    let options = ChartOptions { width: 20_000, budget: 4000, ..chart_options("large") };
    let svg = write(&chart(&trace, &Lanes::of(&trace), &[], &options));
    let (_, elements) = texts(&svg, "title");
    assert!(elements < 20_000, "{elements}");
}

proptest! {
    #[test]
    fn every_picture_is_xml_and_counts_every_call(trace in random_trace()) {
        let picture = chart_of(&trace);
        let (titles, _) = texts(&write(&picture), "title");
        let calls: usize = titles
            .iter()
            // The first title is the picture's, those of lanes are before boxes.
            .filter(|title| title.contains('\n'))
            .map(|title| match title.split_once(" call") {
                Some((n, _)) if n.parse::<usize>().is_ok() => n.parse().unwrap(),
                _ => 1,
            })
            .sum();
        prop_assert_eq!(calls, trace.spans.len());
        texts(&write(&graph_of(&trace)), "title");
    }
}

proptest! {
    #[test]
    fn frames_too_narrow_to_be_drawn_need_not_be_kept(
        trace in random_trace(),
        levels in 0..5_u32,
        narrowest in 100..6_000_u64,
    ) {
        let options = GraphOptions { levels, narrowest, ..graph_options("graph") };
        let net: u128 = trace.spans.net.iter().map(|net| u128::from(net.0)).sum();
        let kept = frames(&trace, Some(options.visible(net)));
        let all = frames(&trace, None);
        prop_assert!(kept.frames.len() <= all.frames.len());
        let timebase = &trace.meta.timebase;
        prop_assert_eq!(graph(&kept, timebase, &options), graph(&all, timebase, &options));
    }
}
