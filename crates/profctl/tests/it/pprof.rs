//! What is written for pprof, decoded by a few lines that follow pprof's `profile.proto`, adds up to
//! the flat profile.

use std::collections::BTreeMap;
use std::io::Read as _;

use profctl_import::{ReadOptions, Single, load};
use profctl_model::Trace;
use profctl_testkit::generate::{self, Recording, Shape};

use crate::exports::written;

/// A field of a message: its number, and a number or bytes.
type Field<'a> = (u64, u64, &'a [u8]);

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let (byte, rest) = bytes.split_first().expect("a number is whole");
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    value
}

fn fields(mut message: &[u8]) -> Vec<Field<'_>> {
    let mut fields = Vec::new();
    while !message.is_empty() {
        let tag = varint(&mut message);
        let number = varint(&mut message);
        let bytes = match tag & 7 {
            0 => &[][..],
            2 => message.split_off(..number as usize).expect("bytes are whole"),
            other => panic!("wire type {other}"),
        };
        fields.push((tag >> 3, number, bytes));
    }
    fields
}

fn numbers(mut packed: &[u8]) -> Vec<u64> {
    let mut numbers = Vec::new();
    while !packed.is_empty() {
        numbers.push(varint(&mut packed));
    }
    numbers
}

fn number(message: &[u8], wanted: u64) -> u64 {
    fields(message).iter().find(|field| field.0 == wanted).map_or(0, |field| field.1)
}

/// Calls and net time, by the function at the end of the stack, its module and the thread.
type Sums = BTreeMap<(String, Option<String>, String), (u64, u64)>;

fn decoded(bytes: &[u8]) -> Sums {
    let mut profile = Vec::new();
    flate2::read::GzDecoder::new(bytes).read_to_end(&mut profile).expect("it is gzip");
    let profile = fields(&profile);
    let all = |wanted: u64| profile.iter().filter(move |field| field.0 == wanted);
    let texts: Vec<&str> =
        all(6).map(|field| std::str::from_utf8(field.2).expect("texts are UTF-8")).collect();
    assert_eq!(texts[0], "", "the first text is empty");
    let kinds: Vec<_> = all(1).map(|field| (number(field.2, 1), number(field.2, 2))).collect();
    let kinds = kinds.into_iter().map(|(kind, unit)| (texts[kind as usize], texts[unit as usize]));
    assert!(kinds.eq([("calls", "count"), ("net", "nanoseconds")]));
    let by_id = |wanted: u64| -> BTreeMap<u64, &[u8]> {
        let found: BTreeMap<_, _> =
            all(wanted).map(|field| (number(field.2, 1), field.2)).collect();
        assert_eq!(found.len(), all(wanted).count(), "ids of field {wanted} are used once");
        found
    };
    let (mappings, locations, functions) = (by_id(3), by_id(4), by_id(5));
    let mut sums = Sums::new();
    for sample in all(2) {
        let of_sample = fields(sample.2);
        let one = |wanted| of_sample.iter().find(|field| field.0 == wanted).expect("it is there").2;
        let (stack, values) = (numbers(one(1)), numbers(one(2)));
        assert!(stack.iter().all(|id| locations.contains_key(id)));
        let leaf = locations[&stack[0]];
        let line = fields(leaf).iter().find(|field| field.0 == 4).expect("a line").2;
        let name = texts[number(functions[&number(line, 1)], 2) as usize];
        let module =
            mappings.get(&number(leaf, 2)).map(|mapping| texts[number(mapping, 5) as usize]);
        let labels = of_sample.iter().filter(|field| field.0 == 3);
        let thread = labels.map(|field| (texts[number(field.2, 1) as usize], number(field.2, 2)));
        let thread =
            thread.filter(|(key, _)| *key == "thread").map(|(_, text)| texts[text as usize]);
        let thread = thread.collect::<Vec<_>>().join(" and ");
        let key = (name.to_owned(), module.map(str::to_owned), thread);
        let sum = sums.entry(key).or_default();
        *sum = (sum.0 + values[0], sum.1 + values[1]);
    }
    sums
}

fn expected(trace: &Trace) -> Sums {
    let mut sums = Sums::new();
    for id in trace.spans.ids() {
        let row = id.index();
        let func = &trace.names.funcs[trace.spans.func[id]];
        let thread = trace.names.threads[trace.spans.thread[row]].label();
        let sum = sums.entry((func.name.clone(), func.module.clone(), thread)).or_default();
        sum.0 += u64::from(!trace.spans.fidelity[row].is_partial());
        sum.1 += trace.meta.timebase.reported(trace.spans.net[row]);
    }
    sums
}

#[test]
fn samples_add_up_to_the_flat_profile() {
    let with_modules = "# profctl plain 1 unit=us\n0 a-1 > f[m]\n2 a-1 . g[n] 3\n5 a-1 . g 1\n\
                        6 a-1 . f[m] 2\n9 a-1 < f[m]\n9 b-2 > open$\n12 b-2 . i^ 1\n"
        .to_owned();
    let made = (0..4).map(|seed| generate::plain(&Recording::new(seed, Shape::BUSY)));
    for text in made.chain([with_modules]) {
        let input = Single::new("test", Box::new(text.as_bytes()));
        let (trace, _) = load(&input, &ReadOptions::default(), &|_| ()).unwrap();
        assert!(trace.spans.len() > 4);
        let bytes = written(&trace, "pprof");
        assert_eq!(decoded(&bytes), expected(&trace));
    }
}
