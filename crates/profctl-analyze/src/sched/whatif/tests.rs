//! The figures of 1990 from one set of parameters, and what must hold of any simulation.

use profctl_model::Timebase;
use proptest::prelude::*;

use super::*;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

fn program(name: &str, steps: Vec<Step>) -> Program {
    Program { name: name.into(), steps, ..Program::default() }
}

fn hog() -> Program {
    program("hog", vec![Step::ComputeForever])
}

fn workload(programs: Vec<Program>) -> Workload {
    Workload { programs, cpus: 1, timebase: Timebase::NANOSECONDS }
}

fn policy(quantum: u64, wake: WakeTo) -> Policy {
    Policy { quantum: Some(Ticks(quantum)), wake, cost: Ticks(0), cpus: 1, pinned: true }
}

/// `ls -l /bin`: so many system calls, each with so much CPU, after each of which the shell's
/// child is ready again.
fn ls() -> Program {
    // Fitted to 53 s at 100 ms and 9 s at 17 ms: n (q + c) seconds each.
    const CALLS: usize = 520;
    const PER_CALL: u64 = 1_920 * US;
    program("ls", [Step::Compute(Ticks(PER_CALL)), Step::BlockFor(Ticks(0))].repeat(CALLS))
}

/// 800 operations on files, of which 589 wait for the disk, and 5 s of CPU among them.
fn bunnell() -> Program {
    // Fitted to 85 s at 100 ms and 30 s at 18 ms beside a hog, and to 15 to 16 s alone.
    const DISK: u64 = 18_200 * US;
    let compute = Step::Compute(Ticks(5 * S / 800));
    let mut steps = Vec::new();
    for n in 0..800_usize {
        // 589 of 800, evenly.
        let needs_disk = (n + 1) * 589 / 800 > n * 589 / 800;
        let wait = if needs_disk { DISK } else { 0 };
        steps.extend([compute, Step::BlockFor(Ticks(wait))]);
    }
    program("io", steps)
}

fn finish(programs: Vec<Program>, policy: &Policy) -> u64 {
    run(&workload(programs), policy).unwrap().threads[0].finish.0
}

#[test]
fn the_figures_of_1990() {
    let tail = |ms: u64| policy(ms * MS, WakeTo::Tail);
    let head = policy(17 * MS, WakeTo::Head);
    // What, the figure as a range in seconds, the model in nanoseconds.
    let rows: [(&str, (f64, f64), u64); 10] = [
        ("ls beside a hog, quantum 100 ms", (53.0, 53.0), finish(vec![ls(), hog()], &tail(100))),
        ("ls beside a hog, quantum 17 ms", (9.0, 9.0), finish(vec![ls(), hog()], &tail(17))),
        ("the same, ready threads to the head", (2.0, 3.0), finish(vec![ls(), hog()], &head)),
        ("ls alone", (1.0, 2.0), finish(vec![ls()], &tail(100))),
        (
            "I/O beside a hog, quantum 100 ms",
            (85.0, 85.0),
            finish(vec![bunnell(), hog()], &tail(100)),
        ),
        (
            "I/O beside a hog, quantum 50 ms",
            (45.0, 45.0),
            finish(vec![bunnell(), hog()], &tail(50)),
        ),
        (
            "I/O beside a hog, quantum 36 ms",
            (33.0, 33.0),
            finish(vec![bunnell(), hog()], &tail(36)),
        ),
        (
            "I/O beside a hog, quantum 18 ms",
            (30.0, 30.0),
            finish(vec![bunnell(), hog()], &tail(18)),
        ),
        ("I/O alone, quantum 100 ms", (15.0, 15.0), finish(vec![bunnell()], &tail(100))),
        ("I/O alone, quantum 18 ms", (16.0, 16.0), finish(vec![bunnell()], &tail(18))),
    ];
    println!("{:38} {:>9} {:>8} {:>8}", "", "1990", "model", "error");
    for (what, (low, high), nanos) in rows {
        let model = nanos as f64 / 1e9;
        let nearest = model.clamp(low, high);
        let error = (model - nearest) / nearest * 100.0;
        let figure = if low < high { format!("{low} to {high}") } else { low.to_string() };
        println!("{what:38} {figure:>7} s {model:>6.1} s {error:>+7.1}%");
        assert!(error.abs() <= 10.0, "{what}: {model} s, {figure} s in 1990");
    }
    // By how much the I/O job takes longer beside the hog.
    let alone = finish(vec![bunnell()], &tail(100)) as f64;
    for (quantum, figure) in [(100, 5.67), (18, 1.875)] {
        let model = finish(vec![bunnell(), hog()], &tail(quantum)) as f64 / alone;
        let error = (model / figure - 1.0) * 100.0;
        let what = format!("the factor at {quantum} ms");
        println!("{what:38} {figure:>9} {model:>8.2} {error:>+7.1}%");
        assert!(error.abs() <= 10.0, "{what}: {model}, {figure} in 1990");
    }
}

/// The CPU job took 30 s alone, 37 s beside the I/O job at 100 ms and 50 s at 18 ms. The I/O job of
/// the other figures has 5 s of CPU, so the model cannot come to that; but it says which quantum is
/// worse for the CPU job while the I/O job goes on.
#[test]
fn the_cpu_job_of_1990_is_beyond_the_model() {
    let cpu_job = || program("cpu", vec![Step::Compute(Ticks(30 * S))]);
    let endless = || {
        let steps = bunnell().steps;
        program("io", steps.repeat(8))
    };
    let mut models = Vec::new();
    for (quantum, figure) in [(100, 37.0), (18, 50.0)] {
        let policy = policy(quantum * MS, WakeTo::Tail);
        let model = finish(vec![cpu_job(), endless()], &policy) as f64 / 1e9;
        let error = (model / figure - 1.0) * 100.0;
        println!("CPU job, quantum {quantum} ms: {figure} s in 1990, {model:.1} s, {error:+.1}%");
        models.push(model);
    }
    assert!(30.0 < models[0] && models[0] < models[1] && models[1] < 50.0, "{models:?}");
}

#[test]
fn at_the_head_among_16_hogs_a_thread_gets_slightly_more_than_its_part() {
    let mut programs = vec![ls()];
    programs.resize(17, hog());
    let outcome = run(&workload(programs), &policy(17 * MS, WakeTo::Head)).unwrap();
    let part = outcome.threads[0].run.0 as f64 / outcome.makespan.0 as f64;
    println!("1/17 is {:.5}, the model gives {part:.5}", 1.0 / 17.0);
    assert!(part > 1.0 / 17.0 && part < 1.05 / 17.0, "{part}");
}

#[test]
fn a_quantum_of_a_millisecond_costs_2_to_5_percent() {
    let job = || program("job", vec![Step::Compute(Ticks(S))]);
    for cost in [20, 30, 50] {
        let policy = Policy { cost: Ticks(cost * US), ..policy(MS, WakeTo::Tail) };
        let outcome = run(&workload(vec![job(), job()]), &policy).unwrap();
        let lost = outcome.lost.0 as f64 / outcome.makespan.0 as f64 * 100.0;
        println!("a switch of {cost} us costs {lost:.2} %");
        assert!((1.9..5.0).contains(&lost), "{lost}");
        assert_eq!(outcome.makespan.0, 2 * S + outcome.lost.0);
    }
}

#[test]
fn who_is_preferred_when_both_are_ready() {
    // A server answers a client; a hog runs beside them.
    let client = vec![
        Step::Compute(Ticks(MS)),
        Step::Wake(1),
        Step::BlockUntilWoken,
        Step::Compute(Ticks(MS)),
    ];
    let server = vec![Step::BlockUntilWoken, Step::Compute(Ticks(2 * MS)), Step::Wake(0)];
    let programs =
        || vec![program("client", client.clone()), program("server", server.clone()), hog()];
    let at = |wake| finish(programs(), &policy(10 * MS, wake));
    assert_eq!(at(WakeTo::Tail), (1 + 10 + 2 + 10 + 1) * MS, "the hog has its turn before each");
    assert_eq!(at(WakeTo::Head), 4 * MS);
    assert_eq!(at(WakeTo::Preempt), 4 * MS);
}

#[test]
fn a_timer_takes_the_cpu_only_where_it_may() {
    let sleeper =
        vec![Step::Compute(Ticks(MS)), Step::BlockFor(Ticks(5 * MS)), Step::Compute(Ticks(MS))];
    let at =
        |wake| finish(vec![program("sleeper", sleeper.clone()), hog()], &policy(100 * MS, wake));
    assert_eq!(at(WakeTo::Head), 102 * MS, "the hog's turn ends first");
    assert_eq!(at(WakeTo::Preempt), 7 * MS);
}

#[test]
fn two_cpus_and_a_thread_that_must_share_one() {
    let job = |cpus: &[usize]| Program {
        cpus: cpus.to_vec(),
        ..program("job", vec![Step::Compute(Ticks(10 * MS))])
    };
    let policy = Policy { cpus: 2, ..policy(MS, WakeTo::Tail) };
    let both = |a: &[usize], b: &[usize]| {
        run(&workload(vec![job(a), job(b)]), &policy).unwrap().makespan.0
    };
    assert_eq!(both(&[], &[]), 10 * MS);
    assert_eq!(both(&[1], &[1]), 20 * MS);
}

#[test]
fn a_wait_that_nobody_ends_is_ended() {
    let waits = program("waits", vec![Step::BlockUntilWoken, Step::Compute(Ticks(MS))]);
    let outcome = run(&workload(vec![waits, hog()]), &policy(MS, WakeTo::Head)).unwrap();
    assert_eq!(outcome.released, 1);
    assert!(run(&workload(vec![hog()]), &policy(MS, WakeTo::Head)).is_err());
}

fn random_step(n: usize) -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..2_000_u64).prop_map(|length| Step::Compute(Ticks(length))),
        2 => (0..n).prop_map(Step::Wake),
        2 => (0..3_000_u64).prop_map(|length| Step::BlockFor(Ticks(length))),
        1 => Just(Step::BlockUntilWoken),
    ]
}

proptest! {
    #[test]
    fn every_thread_does_all_of_its_steps(
        steps in prop::collection::vec(prop::collection::vec(random_step(4), 0..12), 4),
        quantum in 1..3_000_u64,
        cost in 0..50_u64,
        cpus in 1..4_usize,
        wake in 0..3_usize,
    ) {
        let programs: Vec<Program> =
            steps.iter().map(|steps| program("p", steps.clone())).collect();
        let policy = Policy {
            cost: Ticks(cost),
            cpus,
            ..policy(quantum, WakeTo::ALL[wake])
        };
        let outcome = run(&workload(programs), &policy).unwrap();
        for (steps, thread) in steps.iter().zip(&outcome.threads) {
            let computes = steps.iter().map(|step| match step {
                Step::Compute(length) => length.0,
                _ => 0,
            });
            prop_assert_eq!(computes.sum::<u64>(), thread.run.0);
            let sum = thread.run.0 + thread.runnable.0 + thread.blocked.0;
            prop_assert_eq!(sum, thread.finish.0, "from the beginning to its end");
            prop_assert!(thread.finish <= outcome.makespan);
        }
        let all: u64 = outcome.threads.iter().map(|thread| thread.run.0).sum();
        prop_assert!(all + outcome.lost.0 <= outcome.makespan.0 * cpus as u64);
    }
}

#[test]
fn the_document_is_as_described() {
    let page = include_str!("../../../../../docs/schemas/whatif-1.md");
    let trace = crate::sched::tests::trace(
        "main 0 run 0 50
         main 0 sleep 50 80
         main 0 woken 80 90 by=helper
         main 0 run 90 100
         helper 0 run 50 85",
    );
    let whatif = of_recording(&trace, &[Wanted::default()]).unwrap();
    let json = serde_json::from_str(&document(&whatif)).unwrap();
    crate::schemas::check_document(&json, page, &[("scenarios", "## `scenarios[]`")]);
    let threads = serde_json::json!({"threads": json["scenarios"][0]["threads"]});
    let described = |heading: &str| {
        let (_, section) = page.split_once(heading).unwrap();
        section.split("\n#").next().unwrap().to_owned()
    };
    let rows = described("## `scenarios[].threads[]`");
    for field in threads["threads"][0].as_object().unwrap().keys() {
        assert!(rows.contains(&format!("`{field}`")), "{field}");
    }
    let calibration = described("## `calibration`");
    for field in json["calibration"].as_object().unwrap().keys() {
        assert!(calibration.contains(&format!("`{field}`")), "{field}");
    }
}

#[test]
fn a_recording_becomes_programs() {
    let trace = crate::sched::tests::trace(
        "main 0 run 0 50
         main 0 sleep 50 80
         main 0 woken 80 90 by=helper
         main 0 run 90 100
         helper 0 preempted 0 50
         helper 0 run 50 90
         helper 0 sleep 90 95
         helper 0 woken 95 100 irq=irq:disk",
    );
    let workload = Workload::of(&trace);
    let steps: Vec<&[Step]> = workload.programs.iter().map(|p| p.steps.as_slice()).collect();
    let compute = |length| Step::Compute(Ticks(length));
    assert_eq!(
        steps,
        [
            &[compute(50), Step::BlockUntilWoken, compute(10)][..],
            &[compute(30), Step::Wake(0), compute(10), Step::BlockFor(Ticks(5))],
        ]
    );
    // Nothing but the CPU kept them apart: the model is the recording.
    let whatif = of_recording(&trace, &[]).unwrap();
    assert_eq!(whatif.recorded, Ticks(100));
    assert_eq!(whatif.model.unwrap().outcome.makespan, Ticks(100));
}
