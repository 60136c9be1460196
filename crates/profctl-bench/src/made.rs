//! Profiles of runs that were never recorded: for simulations of comparisons.

use profctl_analyze::summarize::{self, FuncStats, Lengths, Profile, Row, Source, Summary};
use profctl_model::{DiagLog, FuncKind, Names, Tick, Timebase, TraceMeta};

/// The function of a number.
pub fn row(at: usize, calls: u64, net: u64, elapsed: u64) -> Row {
    let lengths = |sum: u64| Lengths {
        sum,
        squares: u128::from(sum) * u128::from(sum) / u128::from(calls),
        min: sum / calls,
        max: sum / calls + 1,
        ..Lengths::default()
    };
    let stats = FuncStats {
        calls,
        net,
        elapsed,
        wall: elapsed,
        outermost: calls,
        net_of_calls: lengths(net),
        elapsed_of_calls: lengths(elapsed),
        ..FuncStats::default()
    };
    Row { name: format!("f{at}"), module: None, kind: Some(FuncKind::Function), stats }
}

/// The number of the function of a name.
pub fn number(name: &str) -> Option<usize> {
    name.strip_prefix('f')?.parse().ok()
}

/// A profile without functions.
pub fn empty() -> Profile {
    let meta = TraceMeta {
        timebase: Timebase::NANOSECONDS,
        first: Tick(0),
        last: Tick(0),
        events: 0,
        knows_off_cpu: false,
        diags: DiagLog::default(),
    };
    let source = Source { path: "-".into(), format: "generated".into(), bytes: 0 };
    Summary::new(summarize::Options::default()).finish(&Names::default(), &meta, source)
}
