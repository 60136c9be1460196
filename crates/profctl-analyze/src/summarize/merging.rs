//! Saved profiles of shards are merged in any order: every order and grouping must give the same
//! bytes, with a file between any two steps.

use profctl_model::diag::{Sample, codes};
use profctl_model::{Place, TickUnit, Timeline};
use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::testing::{Calls, random_calls};

/// Nanoseconds are sums of these in any mixture; the last is not an integer number of them.
const TICKS: [(u64, u64); 4] =
    [(1, 1_000_000_000), (1, 1_000_000), (2, 1_000_000), (1, 24_000_000)];

#[derive(Clone, Debug)]
struct Shard {
    calls: Calls,
    path: u8,
    tick: Index,
    percentiles: bool,
    synthetic: bool,
    /// Offsets of records that were skipped, and of losses.
    skipped: Vec<u64>,
    lost: Option<u64>,
}

fn shard() -> impl Strategy<Value = Shard> {
    let quality = (prop::collection::vec(0..50_u64, 0..12), any::<Option<u64>>());
    (random_calls(), 0..3_u8, any::<Index>(), any::<[bool; 2]>(), quality).prop_map(
        |(calls, path, tick, [without, synthetic], (skipped, lost))| Shard {
            calls,
            path,
            tick,
            percentiles: !without,
            synthetic,
            skipped,
            lost,
        },
    )
}

/// The saved profile of a shard.
fn saved(shard: &Shard) -> String {
    measured(shard).to_json()
}

fn measured(shard: &Shard) -> Profile {
    let mut meta = shard.calls.meta.clone();
    let (numerator, denominator) = *shard.tick.get(&TICKS);
    meta.timebase.unit = TickUnit::Seconds { numerator, denominator };
    if shard.synthetic {
        meta.timebase.timeline = Timeline::Synthetic;
    }
    let path = format!("shard{}", shard.path);
    for &offset in &shard.skipped {
        let place = Place { source: path.clone(), offset, line: None };
        meta.diags.add(&codes::SKIPPED_RECORD, 1, || Sample { place, message: "odd".into() });
    }
    match shard.lost {
        Some(lost) => meta.diags.count(&codes::LOST_EVENTS, lost),
        None => meta.diags.count(&codes::LOST_UNKNOWN, 1),
    }
    let mut summary =
        Summary::new(Options { percentiles: shard.percentiles, ..Options::default() });
    for span in &shard.calls.spans {
        summary.span(span, &shard.calls.names);
    }
    let source = Source { path, format: "plain".into(), bytes: 1 };
    summary.finish(&shard.calls.names, &meta, source)
}

fn merged(a: &str, b: &str) -> String {
    let mut sum = Profile::from_json(a.as_bytes()).unwrap();
    sum.merge(Profile::from_json(b.as_bytes()).unwrap()).unwrap();
    sum.to_json()
}

/// The saved profile of these runs, and the same read back.
fn of_runs(runs: Vec<SavedRun>) -> (String, Profile) {
    let file = Profile::of_runs(runs).unwrap().to_json();
    let back = Profile::from_json(file.as_bytes()).unwrap();
    (file, back)
}

/// What is measured of a shard, without a file in between.
fn run(shard: &Shard) -> SavedRun {
    let name = ["boot/a", "boot.txt", "boot/b"][usize::from(shard.path)];
    let facts = vec![("clock".into(), "local".into())];
    SavedRun { name: name.into(), block: None, facts, profile: measured(shard) }
}

proptest! {
    #[test]
    fn any_fold_of_runs_gives_the_bytes_of_all_at_once(
        shards in prop::collection::vec(shard(), 2..6),
        picks in prop::collection::vec(any::<[Index; 2]>(), 5),
    ) {
        let runs: Vec<SavedRun> = shards.iter().map(run).collect();
        let (expected, _) = of_runs(runs.clone());
        let mut left: Vec<Profile> = runs.into_iter().map(|run| of_runs(vec![run]).1).collect();
        let mut last = String::new();
        for [first, second] in picks {
            if left.len() > 1 {
                let a = left.swap_remove(first.index(left.len()));
                let b = left.swap_remove(second.index(left.len()));
                let (file, sum) = of_runs([a, b].into_iter().flat_map(|one| one.into_runs("?")).collect());
                (last, left) = (file, left.into_iter().chain([sum]).collect());
            }
        }
        prop_assert_eq!(left.len(), 1);
        let names: Vec<&str> = left[0].runs.iter().flatten().map(|run| run.name.as_str()).collect();
        // As a directory lists them: `boot` before `boot.txt`.
        let order = |name: &str| ["boot/a", "boot/b", "boot.txt"].iter().position(|&n| n == name);
        prop_assert!(names.is_sorted_by_key(|name| order(name)), "{:?}", names);
        prop_assert_eq!(&last, &expected);
    }

    #[test]
    fn any_fold_over_files_gives_the_same_bytes(
        shards in prop::collection::vec(shard(), 2..6),
        picks in prop::collection::vec(any::<[Index; 2]>(), 5),
    ) {
        let files: Vec<String> = shards.iter().map(saved).collect();
        let in_order = files[1..].iter().fold(files[0].clone(), |sum, next| merged(&sum, next));
        // Any two of those that are left become one, until one is left.
        let mut left = files;
        for [first, second] in picks {
            if left.len() > 1 {
                let a = left.swap_remove(first.index(left.len()));
                let b = left.swap_remove(second.index(left.len()));
                left.push(merged(&a, &b));
            }
        }
        prop_assert_eq!(left.len(), 1);
        prop_assert_eq!(&left[0], &in_order);
    }
}
