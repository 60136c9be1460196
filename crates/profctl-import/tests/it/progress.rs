//! Sinks that watch the progress of reading get the same calls as others, and what is final by it,
//! is. Every event of theirs takes the general path, so this compares it with the one that most
//! events of others take.

use std::fmt::Write as _;

use profctl_import::{Files, Grouping, Memory, ReadOptions, Single, stream};
use profctl_model::{IdVec, Names, Progress, Record, Span, SpanSink, ThreadId, Tick};
use profctl_testkit::fixtures;
use proptest::prelude::*;

use crate::properties;
use crate::recorder::{Recorder, read};

/// Keeps everything, and checks each call against what [`Progress`] said before.
#[derive(Default)]
struct Watching {
    recorder: Recorder,
    /// When the calls of each thread that may still get a caller began.
    roots: IdVec<ThreadId, Vec<Tick>>,
    /// The latest [`Progress::open_from`] of each thread.
    open_from: IdVec<ThreadId, Option<Tick>>,
    settled: usize,
    /// Whether nothing is checked, as where records contradict one another.
    takes_all: bool,
}

impl SpanSink for Watching {
    fn span(&mut self, span: &Span, names: &Names) {
        self.recorder.span(span, names);
        if self.takes_all {
            return;
        }
        let roots = self.roots.grow_to(span.thread);
        if let Some(open_from) = *self.open_from.grow_to(span.thread) {
            let earliest = roots.iter().fold(open_from, |earliest, &start| earliest.min(start));
            assert!(span.start >= earliest, "{span:?} begins before {earliest:?}");
        }
        let [callees, late] = [span.callees, span.late.roots].map(|n| n as usize);
        assert!(callees + late <= roots.len(), "{span:?} has callees that were final");
        let late = roots.split_off(roots.len() - late);
        roots.truncate(roots.len() - callees);
        roots.push(span.start);
        roots.extend(late);
    }
    fn record(&mut self, record: Record<'_>, names: &Names) {
        self.recorder.record(record, names);
    }
    const WATCHES_PROGRESS: bool = true;
    fn progress(&mut self, progress: &Progress, _: &Names) {
        *self.open_from.grow_to(progress.thread) = progress.open_from;
        if progress.open_from.is_none() {
            self.roots.grow_to(progress.thread).clear();
            self.settled = self.recorder.spans.len();
        }
    }
}

/// Compares what both kinds of sinks get of an input, and says how many calls were final before its
/// end.
fn compare(
    name: &str,
    input: &dyn Files,
    options: &ReadOptions,
    watching: Watching,
) -> Option<usize> {
    let usual = stream(input, options, Recorder::default(), &|_| ()).ok()?;
    let watching = stream(input, options, watching, &|_| ()).ok()?;
    assert!(watching.sink.recorder == usual.sink, "{name}");
    assert_eq!(watching.meta.diags.sorted(), usual.meta.diags.sorted(), "{name}");
    assert_eq!(watching.bounds, usual.bounds, "{name}");
    assert_eq!(watching.names.funcs.as_slice(), usual.names.funcs.as_slice(), "{name}");
    Some(watching.sink.settled)
}

#[test]
fn whoever_watches_gets_the_same_calls() {
    let options = ReadOptions::default();
    let mut settled = 0;
    for format in profctl_import::FORMATS {
        for path in fixtures::of_format(format.descriptor().name) {
            let name = path.display().to_string();
            if path.is_dir() {
                compare(
                    &name,
                    &Memory::new(&*name, fixtures::parts(&path)),
                    &options,
                    Watching::default(),
                );
                continue;
            }
            let bytes = fixtures::read(&path);
            // Cut anywhere, it begins and ends within calls.
            for part in [&bytes[..], &bytes[bytes.len() / 3..], &bytes[..bytes.len() / 7 * 5]] {
                let input = Single::new(&*name, Box::new(part));
                settled += compare(&name, &input, &options, Watching::default()).unwrap_or(0);
            }
        }
    }
    assert!(settled > 10_000, "{settled} calls were final before the end");
}

/// The call beside late ones is no interrupt, so none of them is late, however it is paired.
#[test]
fn late_calls_are_the_last_ones() {
    let text = "# profctl plain 1 timeline=synthetic\n\
                - > a depth=0\n- > b depth=1\n- > irq^ depth=2\n- . c 5 depth=3\n\
                - < irq^ depth=2 wall=40\n- > rearm depth=2\n- . c 7 depth=3\n\
                - < rearm depth=2 wall=30\n- < b depth=1 wall=10\n- < a depth=0 wall=100\n";
    let input = Single::new("text", Box::new(text.as_bytes()));
    assert!(compare("text", &input, &ReadOptions::default(), Watching::default()).is_some());
    let outcome = read(text.as_bytes(), &ReadOptions::default()).unwrap();
    let spans = &outcome.recorded.spans;
    let net =
        |name: &str| spans.iter().find(|span| outcome.func(span.func).name == name).unwrap().net.0;
    assert_eq!([net("a"), net("b"), net("irq"), net("rearm")], [90, 0, 35, 23]);
}

#[derive(Clone, Copy, Debug)]
enum What {
    Enter,
    Exit,
    Leaf,
    /// A line as it stands in [`RARE`].
    Rare(&'static str),
}

/// What nearly no line says. Most of it leaves something pending, so that calls behind it are not
/// usual. Where lines name no threads, there are switch tags instead of `runs`.
const RARE: [&str; 16] = [
    "= f 0",
    "= irq^ 0",
    "irq>",
    "irq>",
    "irq<",
    "lost 3",
    "incomplete seen=exit",
    "incomplete seen=entry gap=1",
    "~ f",
    "~ g seen=entry",
    "in g",
    "! mark",
    "advance 9",
    "switch a-1 b-2",
    "switch b-2 a-1",
    "runs",
];
const HEADERS: [&str; 6] =
    ["", "leaf-ends=rough", "exits=late", "entries=tied", "timeline=synthetic", "counter-bits=8"];
const NAMES: [&str; 5] = ["f", "f", "g[m]", "h[m]", "irq^"];

/// How the lines of a trace tell what happened.
#[derive(Clone, Copy, Debug)]
struct Style {
    header: &'static str,
    /// Whether lines name their thread.
    has_threads: bool,
    /// Of 16 lines, how many show a depth; and how many exits state a length.
    depths: u8,
    walls: u8,
    /// How many calls were open when it began.
    open: u16,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    what: What,
    name: usize,
    pause: u64,
    length: u64,
    /// On which of two threads, and on which CPU.
    other: bool,
    cpu: bool,
    /// Chance: 16 values of the first two, 64 of the last.
    depth: u8,
    wall: u8,
    odd: u8,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::sample::select(&[0.01, 0.08, 0.3][..]).prop_flat_map(|rare| {
        let what = (prop::bool::weighted(rare), 0..RARE.len(), 0..9_usize);
        let what = what.prop_map(|(is_rare, row, usual)| match usual {
            _ if is_rare => What::Rare(RARE[row]),
            0..3 => What::Enter,
            3..6 => What::Exit,
            _ => What::Leaf,
        });
        let time = prop_oneof![Just(0), 0..12_u64];
        let place = (prop::bool::weighted(0.08), prop::bool::weighted(0.04));
        let chance = (0..16_u8, 0..16_u8, 0..64_u8);
        let step = (what, 0..NAMES.len(), time.clone(), time, place, chance);
        let step =
            step.prop_map(|(what, name, pause, length, (other, cpu), (depth, wall, odd))| Step {
                what,
                name,
                pause,
                length,
                other,
                cpu,
                depth,
                wall,
                odd,
            });
        prop::collection::vec(step, 1..80)
    })
}

fn style() -> impl Strategy<Value = Style> {
    let share = || prop::sample::select(&[0, 0, 8, 15, 16, 16][..]);
    let style =
        (prop::sample::select(&HEADERS[..]), prop::bool::weighted(0.8), share(), share(), 0..4_u16);
    style.prop_map(|(header, has_threads, depths, walls, open)| Style {
        header,
        has_threads,
        depths,
        walls,
        open,
    })
}

/// A walk over the calls of two threads, most lines of which say what really happened.
fn text(style: Style, steps: &[Step]) -> String {
    let mut text = format!("# profctl plain 1 unit=us {}\n", style.header);
    let mut stacks = [0, 1].map(|_| (0..style.open).map(|depth| ("h[m]", 0, depth)).collect());
    let mut now = 0;
    for step in steps {
        let &Step { length, odd, .. } = step;
        now += step.pause;
        let time = match style.header {
            "timeline=synthetic" => "-".to_owned(),
            "counter-bits=8" => (now % 256).to_string(),
            // The clock steps back; or the time is missing.
            _ if odd == 0 => now.saturating_sub(5).to_string(),
            _ if odd == 1 => "-".to_owned(),
            _ => now.to_string(),
        };
        let cpu = u8::from(step.cpu);
        let lane = match (style.has_threads, step.other) {
            (false, _) => String::new(),
            (true, true) => format!("cpu{cpu} b-2 "),
            (true, false) => format!("cpu{cpu} a-1 "),
        };
        let stack: &mut Vec<(&str, u64, u16)> = &mut stacks[usize::from(step.other)];
        let below = stack.last().map_or(0, |(_, _, depth)| depth + 1);
        let shown = |depth: u16| {
            let depth = match odd {
                2 => depth.saturating_sub(1),
                3 => depth + 1,
                4 => depth + 3,
                _ => depth,
            };
            let hint =
                if step.depth < style.depths { format!(" depth={depth}") } else { String::new() };
            (depth, hint)
        };
        let name = NAMES[step.name];
        match step.what {
            What::Enter => {
                let (depth, hint) = shown(below);
                let stated = match odd {
                    5 => format!(" wall={length}"),
                    6 => format!(" net={length}"),
                    _ => String::new(),
                };
                writeln!(text, "{time} {lane}> {name}{stated}{hint}").unwrap();
                stack.push((name, now, depth));
            }
            What::Exit => {
                let Some((entered, start, depth)) = stack.pop() else { continue };
                let (_, hint) = shown(depth);
                let name = match odd {
                    7 => name,
                    8..16 => "",
                    _ => entered,
                };
                let wall = if odd % 4 == 0 { length } else { now - start };
                let wall =
                    if step.wall < style.walls { format!(" wall={wall}") } else { String::new() };
                writeln!(text, "{time} {lane}< {name}{wall}{hint}").unwrap();
            }
            What::Leaf => {
                let (_, hint) = shown(below);
                writeln!(text, "{time} {lane}. {name} {length}{hint}").unwrap();
                now += if odd < 56 { length } else { 0 };
            }
            What::Rare("runs") if style.has_threads => writeln!(text, "{time} {lane}runs").unwrap(),
            What::Rare("runs") if step.other => writeln!(text, "{time} switch> s").unwrap(),
            What::Rare("runs") => writeln!(text, "{time} switch< s").unwrap(),
            What::Rare(line) if line.starts_with("switch") => {
                writeln!(text, "{time} cpu{cpu} {line}").unwrap();
            }
            What::Rare(line) => writeln!(text, "{time} {lane}{line}").unwrap(),
        }
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn whoever_watches_gets_the_same_calls_of_whatever_happens(
        style in style(),
        steps in steps(),
        block_size in prop::sample::select(&[0, 0, 150][..]),
        grouping in prop::sample::select(
            &[Grouping::Function, Grouping::Function, Grouping::Module, Grouping::Kind][..]
        ),
    ) {
        let text = text(style, &steps);
        let options = ReadOptions { block_size, grouping, ..ReadOptions::default() };
        let input = Single::new("text", Box::new(text.as_bytes()));
        let watching = Watching { takes_all: true, ..Watching::default() };
        prop_assert!(compare(&text, &input, &options, watching).is_some());
    }

    #[test]
    fn what_is_final_is_final_where_records_were_lost(text in properties::texts()) {
        let input = Single::new("text", Box::new(text.as_bytes()));
        let options = ReadOptions::default();
        prop_assert!(compare(&text, &input, &options, Watching::default()).is_some());
    }
}
