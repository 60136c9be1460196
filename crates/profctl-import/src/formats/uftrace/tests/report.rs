//! A recording and what `uftrace report` says of it.

use std::collections::BTreeMap;
use std::path::Path;

use super::*;

/// What `uftrace report` shows of a function, ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Row {
    pub(super) calls: u64,
    pub(super) total: u64,
    pub(super) own: u64,
    pub(super) min: u64,
    pub(super) max: u64,
    pub(super) own_min: u64,
    pub(super) own_max: u64,
    /// Recursive calls included, rounded down.
    pub(super) avg: u64,
    pub(super) own_avg: u64,
}

/// The calls of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Calls {
    /// Only complete calls are counted; sums are of all.
    pub(super) row: Row,
    /// Incomplete calls are counted like others, as in uftrace.
    pub(super) all: Row,
    pub(super) partial: u64,
}

impl Row {
    fn count(&mut self, wall: u64, own: u64) {
        let first = self.calls == 0;
        let least = |known: u64, found: u64| if first { found } else { known.min(found) };
        (self.min, self.own_min) = (least(self.min, wall), least(self.own_min, own));
        (self.max, self.own_max) = (self.max.max(wall), self.own_max.max(own));
        // Sums, until all calls are known.
        (self.avg, self.own_avg) = (self.avg + wall, self.own_avg + own);
        self.calls += 1;
    }

    fn finish(&mut self) {
        let calls = self.calls.max(1);
        (self.avg, self.own_avg) = (self.avg / calls, self.own_avg / calls);
    }
}

/// The same of a trace, by name. Like uftrace's, times of a call are wall times, and functions of
/// one name are one.
pub(super) fn rows(trace: &Trace) -> BTreeMap<String, Calls> {
    rows_of(trace, |_| true)
}

/// Those of the calls that `counts` takes.
pub(super) fn rows_of(trace: &Trace, counts: impl Fn(usize) -> bool) -> BTreeMap<String, Calls> {
    let mut rows: BTreeMap<String, Calls> = BTreeMap::new();
    let spans = &trace.spans;
    let name = |id| &trace.names.funcs[spans.func[id]].name;
    for id in spans.ids() {
        let index = id.index();
        if !counts(index) {
            continue;
        }
        let (wall, own) = (spans.wall[index].0, spans.net[index].0);
        let mut above = std::iter::successors(spans.parent[index], |up| spans.parent[up.index()]);
        let is_outermost = !above.any(|up| name(up) == name(id));
        let calls = rows.entry(name(id).clone()).or_default();
        for row in [&mut calls.row, &mut calls.all] {
            row.total += if is_outermost { wall } else { 0 };
            row.own += own;
        }
        calls.all.count(wall, own);
        if spans.fidelity[index].is_partial() {
            calls.partial += 1;
        } else {
            calls.row.count(wall, own);
        }
    }
    for calls in rows.values_mut() {
        calls.row.finish();
        calls.all.finish();
    }
    rows
}

/// `uftrace report --format csv` with the fields total, avg, min, max, self …, calls, maybe others,
/// and the function.
pub(super) fn oracle(text: &str) -> BTreeMap<String, Row> {
    let (header, lines) = text.split_once('\n').unwrap();
    assert!(header.starts_with("#Total time,") && header.ends_with(",Function"), "{header}");
    let columns = header.split(',').count();
    let row = |line: &str| {
        let fields: Vec<&str> = line.splitn(columns, ',').collect();
        let number = |n: usize| fields[n].parse::<u64>().unwrap();
        let row = Row {
            total: number(0),
            min: number(2),
            max: number(3),
            own: number(4),
            own_min: number(6),
            own_max: number(7),
            avg: number(1),
            own_avg: number(5),
            calls: number(8),
        };
        (fields[columns - 1].to_owned(), row)
    };
    lines.lines().map(row).collect()
}

/// Which functions differ from uftrace's report, each with the rule that it differs by.
pub(super) fn differences(trace: &Trace, oracle: &BTreeMap<String, Row>) -> Vec<String> {
    let ours = rows(trace);
    let mut found = Vec::new();
    for (name, expected) in oracle {
        let why = match ours.get(name) {
            None if name.starts_with("linux:schedule") => "time off CPU",
            None => panic!("{name} is missing"),
            Some(Calls { row, partial: 0, .. }) => {
                assert_eq!(row, expected, "{name}");
                continue;
            }
            Some(Calls { all, .. }) if all == expected => "incomplete calls are in sums only",
            Some(Calls { all, .. }) => {
                assert_eq!(all.calls, expected.calls, "{name}");
                assert!(all.total <= expected.total && all.own <= expected.own, "{name}");
                "shorter incomplete calls"
            }
        };
        found.push(format!("{name}: {why}"));
    }
    for (name, Calls { row, partial, .. }) in &ours {
        if !oracle.contains_key(name) {
            found.push(format!("{name}: only here, {} complete, {partial} not", row.calls));
        }
    }
    found
}

pub(super) fn compare(name: &str) -> String {
    let golden = fixtures::root().join("fixtures/uftrace").join(format!("{name}.csv.golden"));
    compare_with(name, &parts(name), &golden)
}

/// The differences between a recording and uftrace's report of it.
pub(super) fn compare_with(name: &str, parts: &Parts, report: &Path) -> String {
    let trace = read(parts);
    invariants::check(&trace, name);
    let oracle = oracle(&String::from_utf8(fixtures::read(report)).unwrap());
    assert!(oracle.len() > 5);
    let mut told = differences(&trace, &oracle);
    told.extend(codes(&trace));
    told.join("\n")
}

/// A row of `uftrace report`: its eight times as they are printed, rounded down to three decimals of
/// their unit, in ns, each with that unit's thousandth; and the calls.
pub(super) fn printed(line: &str) -> (String, [(u64, u64); 8], u64) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let time = |n: usize| {
        let (value, unit) = (words[2 * n], words[2 * n + 1]);
        let step = match unit {
            "us" => 1,
            "ms" => 1_000,
            "s" => 1_000_000,
            other => panic!("{other}"),
        };
        (value.replace('.', "").parse::<u64>().unwrap() * step, step)
    };
    (words[17..].join(" "), std::array::from_fn(time), words[16].parse().unwrap())
}
