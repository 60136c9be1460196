//! What the benchmarks feed and measure: generated traces of a given size, and sinks that keep
//! nothing or everything.
//!
//! Rates mean little across machines. `scripts/compare/` measures against other programs in the
//! same run; these benchmarks are for comparing one commit with the next.

pub mod made;
pub mod page;

use profctl_import::{ImportOptions, ReadOptions, Single, Streamed, stream};
use profctl_model::{Names, Record, Span, SpanSink};
use profctl_testkit::generate;

/// A trace held in memory.
pub struct Sample {
    /// The name of the benchmark.
    pub name: &'static str,
    /// What is read.
    pub bytes: Vec<u8>,
    /// How it is read.
    pub options: ReadOptions,
    /// Events in it.
    pub events: u64,
}

/// Formats that need flags for the meaning of their wires, or in which the walk's leaves end calls by
/// force: they are read by the program's own tests.
const NOT_MEASURED: [&str; 4] = ["vcd", "saleae", "sigrok", "gem5"];

/// One trace of about `bytes` bytes for every format that is read without flags.
pub fn samples(bytes: u64) -> Vec<Sample> {
    let measured = generate::LARGE_FORMATS.into_iter().filter(|name| !NOT_MEASURED.contains(name));
    measured.map(|name| sample(name, bytes)).collect()
}

/// The trace of that name.
///
/// # Panics
/// If `name` is none of [`generate::LARGE_FORMATS`].
pub fn sample(name: &'static str, bytes: u64) -> Sample {
    let mut held = Vec::with_capacity(bytes as usize + (4 << 20));
    let events = generate::write_large(name, bytes, SEED, &mut held).expect("a known format");
    let mut options = ReadOptions::default();
    if name == "probe" {
        options.format = Some(name.to_owned());
        let names = Some(generate::large_names(SEED).into_bytes());
        options.import = ImportOptions { names, ..ImportOptions::default() };
    }
    Sample { name, bytes: held, options, events }
}

const SEED: u64 = 1;

impl Sample {
    /// Reads all of it on `workers` threads.
    ///
    /// # Panics
    /// If it is not read: then there is nothing to measure.
    pub fn read<S: SpanSink + Send>(&self, workers: usize, sink: S) -> Streamed<S> {
        let input = Single::new(self.name, Box::new(self.bytes.as_slice()));
        let options = ReadOptions { workers, ..self.options.clone() };
        match stream(&input, &options, sink, &|_| ()) {
            Ok(read) => read,
            Err(error) => panic!("{}: {error}", self.name),
        }
    }
}

/// Counts calls, so that nothing but reading is measured.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    /// Calls.
    pub calls: u64,
}

impl SpanSink for Count {
    fn span(&mut self, _span: &Span, _names: &Names) {
        self.calls += 1;
    }
    fn record(&mut self, _record: Record<'_>, _names: &Names) {}
}

/// Keeps calls, to hand them on again.
#[derive(Clone, Debug, Default)]
pub struct Keep {
    /// Calls, in the order of their ends.
    pub spans: Vec<Span>,
}

impl SpanSink for Keep {
    fn span(&mut self, span: &Span, _names: &Names) {
        self.spans.push(*span);
    }
    fn record(&mut self, _record: Record<'_>, _names: &Names) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The calls that are open when the walk stops are incomplete, and their callees' stated times
    /// may exceed what microseconds show of them.
    const AT_THE_END: [&str; 2] = ["stitch/unclosed-entry", "stitch/clamped"];

    #[test]
    fn every_sample_is_read_without_complaint_but_its_end() {
        for sample in samples(300_000) {
            let read = sample.read(1, Count::default());
            assert!(read.sink.calls > 500, "{}: {} calls", sample.name, read.sink.calls);
            let complaints = read.meta.diags.sorted();
            let others: Vec<_> = complaints
                .iter()
                .filter(|entry| !AT_THE_END.contains(&entry.code.name))
                .map(|entry| (entry.code.name, entry.count, entry.samples.first()))
                .collect();
            assert!(others.is_empty(), "{}: {others:?}", sample.name);
        }
    }
}
