use profctl_model::Timebase;

use super::*;
use crate::formats::plain::show::{example, read};
use crate::testing::ImporterOfBytes;
use crate::testing::{spans, told};

fn options() -> ImportOptions {
    ImportOptions::default()
}

const EVENTED: &str = include_str!("../../../../../fixtures/speedscope/evented.speedscope.json");
const SAMPLED: &str = include_str!("../../../../../fixtures/speedscope/sampled.speedscope.json");

#[test]
fn the_page_shows_a_profile_that_is_read() {
    let page = include_str!("../../../../../docs/formats/speedscope.md");
    assert_eq!(
        spans("speedscope", example(page), options()),
        "worker 0 main 1000+18000 net 15750\nworker 1 read 2500+2250 net 2250\n"
    );
}

#[test]
fn misfits_are_counted() {
    let (calls, codes) = told("speedscope", EVENTED, options());
    assert_eq!(
        codes,
        [
            "input/skipped-record 1",
            "speedscope/other-unit 1",
            "speedscope/unknown-frame 2",
            "stitch/forced-exit 1",
            "stitch/unclosed-entry 1",
            "stitch/unmatched-exit 1",
        ]
    );
    assert_eq!(
        calls,
        "worker 0 main 1000+18000 net 15750\n\
         worker 1 read \"it\" 2500+2250 net 2250\n\
         worker 1 copy 5000+0 net 0\n\
         worker (2) 0 read \"it\" 1000+0 net 0 unseen entry\n\
         worker (2) 0 main 2000+4000 net 1000\n\
         worker (2) 1 read \"it\" 3000+3000 net 3000 unseen exit\n\
         worker (2) 0 frame 9 8000+1000 net 1000\n\
         worker (2) 0 copy 10000+0 net 0 unseen exit\n"
    );
}

#[test]
fn samples_are_laid_end_to_end_and_what_goes_on_is_one_call() {
    let (calls, codes) = told("speedscope", SAMPLED, options());
    assert!(codes.is_empty(), "{codes:?}");
    assert_eq!(
        calls,
        "profile 1 0 main 0+3500000 net 0 unseen both\n\
         profile 1 1 work 0+1500000 net 1000000 unseen both\n\
         profile 1 2 work 1000000+500000 net 500000 unseen both\n\
         profile 1 1 rest 1500000+2000000 net 2000000 unseen both\n\
         profile 1 0 main 5000000+1000000 net 1000000 unseen both\n"
    );
}

#[test]
fn units_are_exact() {
    let of = |unit: &str, at: &str| {
        let text = format!(
            "{{\"profiles\":[{{\"unit\":\"{unit}\",\"type\":\"evented\",\"events\":[\
             {{\"type\":\"O\",\"frame\":0,\"at\":0}},{{\"type\":\"C\",\"frame\":0,\"at\":{at}}}]}}],\
             \"shared\":{{\"frames\":[{{\"name\":\"f\"}}]}}}}"
        );
        let unit = Profiles.open_bytes(text.as_bytes(), &options()).unwrap().timebase.unit;
        let said = read(&Profiles, text.as_bytes(), &options());
        (unit, said.said().last().unwrap().0.time.unwrap())
    };
    let nanoseconds = Timebase::NANOSECONDS.unit;
    assert_eq!(of("nanoseconds", "17"), (nanoseconds, 17));
    assert_eq!(of("microseconds", "1.25"), (nanoseconds, 1_250));
    assert_eq!(of("milliseconds", "1e-3"), (nanoseconds, 1_000));
    assert_eq!(of("seconds", "1700000000.000000001"), (nanoseconds, 1_700_000_000_000_000_001));
    assert_eq!(of("bytes", "4096"), (TickUnit::Cycles, 4_096));
    assert_eq!(of("none", "3.5"), (TickUnit::Cycles, 4));
}

#[test]
fn a_file_cut_anywhere_says_what_it_still_holds() {
    for text in [EVENTED, SAMPLED] {
        let whole = read(&Profiles, text.as_bytes(), &options());
        let end = text.trim_end().len();
        for cut in 0..end {
            let said = read(&Profiles, &text.as_bytes()[..cut], &options());
            assert!(said.said().len() <= whole.said().len(), "cut at {cut}");
            let codes: Vec<_> = said.diags.iter().map(|diag| diag.code.name).collect();
            assert!(codes.contains(&"input/cut-record"), "cut at {cut}: {codes:?}");
        }
        let said = read(&Profiles, &text.as_bytes()[..end], &options());
        assert!(said.diags.iter().all(|diag| diag.code.name != "input/cut-record"));
    }
}
