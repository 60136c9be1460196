//! What holds for every trace, on every fixture and on generated recordings of every format.

use std::collections::BTreeMap;
use std::path::PathBuf;

use profctl_import::{ImportOptions, ReadOptions, Single, load};
use profctl_model::Trace;
use profctl_testkit::generate::{self, Recording, Shape, Sums, truth};
use profctl_testkit::{fixtures, invariants};

use crate::recorder::{Outcome, read};

fn whole(name: &str, bytes: &[u8], options: &ReadOptions) -> Trace {
    let input = Single::new(name.to_owned(), Box::new(bytes));
    load(&input, options, &|_| ()).unwrap_or_else(|error| panic!("{name}: {error}")).0
}

#[test]
fn fixtures_keep_the_invariants() {
    for format in ["function_graph", "mcrae", "plain"] {
        let is_trace = |path: &&PathBuf| {
            path.file_name().is_some_and(|name| !name.to_string_lossy().starts_with("summary"))
        };
        for path in fixtures::of_format(format).iter().filter(is_trace) {
            let name = path.display().to_string();
            invariants::check(&whole(&name, &fixtures::read(path), &ReadOptions::default()), &name);
        }
    }
}

#[test]
fn generated_traces_keep_the_invariants() {
    for seed in 0..10 {
        for closes in [true, false] {
            let recording = Recording::new(seed, Shape { closes, ..Shape::BUSY });
            for (name, layout) in generate::Layout::ALL {
                let text = generate::function_graph(&recording, layout);
                let name = format!("{name}, seed {seed}");
                invariants::check(&whole(&name, text.as_bytes(), &ReadOptions::default()), &name);
            }
            let text = generate::plain(&recording);
            let name = format!("plain, seed {seed}");
            invariants::check(&whole(&name, text.as_bytes(), &ReadOptions::default()), &name);
        }
    }
}

/// The sums of complete calls by name, and how many were not complete.
fn sums(outcome: &Outcome) -> BTreeMap<String, Sums> {
    let mut sums: BTreeMap<String, Sums> = BTreeMap::new();
    for span in &outcome.recorded.spans {
        let sum = sums.entry(outcome.func(span.func).name.clone()).or_default();
        if span.fidelity.is_partial() {
            sum.partial += 1;
            continue;
        }
        sum.calls += 1;
        sum.net += outcome.nanos(span.net);
        if span.outermost {
            sum.wall += outcome.nanos(span.wall);
            sum.off_cpu += outcome.nanos(span.off_cpu);
            sum.elapsed += outcome.nanos(span.elapsed());
        }
    }
    sums
}

#[test]
fn plain_traces_give_back_what_was_recorded() {
    for seed in 0..20 {
        let recording = Recording::new(seed, Shape::BUSY);
        let outcome =
            read(generate::plain(&recording).as_bytes(), &ReadOptions::default()).unwrap();
        assert_eq!(sums(&outcome), truth(&recording), "seed {seed}");
        assert!(outcome.diags.is_empty(), "seed {seed}: {:?}", outcome.diags);
    }
}

#[test]
fn code_traces_give_back_what_was_recorded() {
    for seed in 0..20 {
        let recording = Recording::new(seed, Shape::PROBE);
        let text = generate::code_trace(&recording);
        let outcome = read(text.as_bytes(), &ReadOptions::default()).unwrap();
        assert_eq!(sums(&outcome), truth(&recording), "seed {seed}");
    }
}

#[test]
fn probe_records_give_back_what_was_recorded() {
    for seed in 0..20 {
        let recording = Recording::new(seed, Shape::PROBE);
        let names = Some(generate::probe_names(&recording).into_bytes());
        let import = ImportOptions { names, ..ImportOptions::default() };
        let options =
            ReadOptions { format: Some("probe".to_owned()), import, ..ReadOptions::default() };
        let outcome = read(&generate::probe_records(&recording), &options).unwrap();
        assert_eq!(sums(&outcome), truth(&recording), "seed {seed}");
    }
}
