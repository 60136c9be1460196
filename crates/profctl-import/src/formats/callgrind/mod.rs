//! The profile that Valgrind's callgrind writes, and those that other tools write in its format:
//! sums for each function and for each pair of caller and callee, no single call.

use profctl_model::diag::{Code, Severity};
use profctl_model::{Func, TickUnit};

use super::{
    Descriptor, ImportError, ImportOptions, Importer, InTurn, Input, Opened, Probe, Recognition,
};
use crate::emit::{Emitter, LaneKey, ThreadKey, Total};
use crate::files::Files;
use crate::text;

mod lines;
mod sums;
#[cfg(test)]
mod tests;

use sums::Sums;

/// The importer of `callgrind`.
pub struct Profile;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "callgrind",
    about: "profile of Valgrind's callgrind: sums per function, no single calls",
    recognized: "`# callgrind format`, or a line `events: …` before the first `fn=`",
    codes: &[&TOTAL_MISMATCH],
    ..Descriptor::PLAIN
};

/// The file's own total is not the sum of its lines.
pub static TOTAL_MISMATCH: Code = Code {
    name: "callgrind/total-mismatch",
    severity: Severity::Warning,
    help: "the costs of all functions do not sum to the stated total: the file may be truncated \
           or concatenated; its lines were used",
};

impl Importer for Profile {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        let Some(head) = probe.text() else { return Recognition::No };
        let mut lines = text::lines(head).map(|line| line.text).filter(|line| !line.is_empty());
        let Some(first) = lines.next() else { return Recognition::No };
        if first.starts_with(b"# callgrind format") {
            return Recognition::Yes("first line `# callgrind format`".into());
        }
        // Before version 3.13 there was no such line, nor is there where other tools write it.
        let mut head = std::iter::once(first).chain(lines);
        let has_events = head
            .by_ref()
            .take_while(|line| !line.starts_with(b"fn="))
            .any(|line| line.starts_with(b"events: "));
        if has_events && head.any(|line| line.starts_with(b"fn=")) {
            return Recognition::Yes("`events: …`, then `fn=`".into());
        }
        Recognition::No
    }

    fn open(&self, files: &dyn Files, _options: &ImportOptions) -> Result<Opened, ImportError> {
        let head = &*super::head(files)?.bytes;
        let events = text::lines(head).find_map(|line| line.text.strip_prefix(b"events:"));
        let events = String::from_utf8_lossy(events.unwrap_or(b"Ir")).into_owned();
        let events: Vec<&str> = events.split_ascii_whitespace().collect();
        let column = events.iter().position(|&event| event == "Ir").unwrap_or(0);
        let event = events.get(column).copied().unwrap_or("Ir");
        let others: Vec<&str> = events.iter().copied().filter(|&other| other != event).collect();
        let mut facts = vec![
            ("event", event.to_owned()),
            ("calls", "sums per function; no single calls, no minimum or maximum".into()),
        ];
        if !others.is_empty() {
            facts.push(("other events", format!("{} (not read)", others.join(" "))));
        }
        Ok(Opened::in_turn(super::recorded(unit(event)), Box::new(Whole { column }))
            .with_lines()
            .with_facts(facts))
    }
}

/// What an event counts. Whatever is neither instructions nor time is shown as cycles are.
fn unit(event: &str) -> TickUnit {
    let seconds = |denominator| TickUnit::Seconds { numerator: 1, denominator };
    match event {
        "Ir" | "Instr" | "instructions" => TickUnit::Instructions,
        "Time_(10ns)" => seconds(100_000_000),
        "Time_(µs)" | "Time" | "us" => seconds(1_000_000),
        "ns" | "Time_(ns)" => seconds(1_000_000_000),
        "ms" => seconds(1_000),
        _ => TickUnit::Cycles,
    }
}

/// Reads a whole file, of which it keeps the sums.
struct Whole {
    /// Which of the events is the clock.
    column: usize,
}

impl InTurn for Whole {
    fn fork(&self) -> Box<dyn InTurn> {
        Box::new(Self { ..*self })
    }

    fn read(&mut self, input: &mut Input<'_>, out: &mut Emitter) {
        let mut sums = Sums::new(self.column);
        while let Some(line) = input.line() {
            out.lines += 1;
            sums.line(&line, out);
            input.hand_on(out);
        }
        let lane = out.lane(LaneKey { cpu: None, thread: ThreadKey::Unstated });
        let stated = sums.stated;
        let mut total = 0_u64;
        for function in sums.finish() {
            total = total.saturating_add(function.own);
            let spelling = [function.object.as_bytes(), b"\0", function.name.as_bytes()].concat();
            let name = out.name(&spelling, |_| Func {
                name: function.name.clone(),
                module: module(&function.object),
                ..Func::default()
            });
            out.totals.push(Total {
                name,
                lane,
                calls: function.calls,
                elapsed: function.inclusive,
                net: function.own,
            });
        }
        if let Some(stated) = stated.filter(|&stated| stated != total) {
            let message = || format!("a total of {stated}, found {total}");
            out.diag(&TOTAL_MISMATCH, input.offset(), message);
        }
    }
}

/// The file name at the end of a path, if there is one: `???` is code of unknown origin.
fn module(path: &str) -> Option<String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    (!name.is_empty() && name != "???").then(|| name.to_owned())
}
