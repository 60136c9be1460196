use super::*;
use crate::formats::plain::show::{check_cuts, example, read};
use crate::testing::ImporterOfBytes;
use crate::testing::{spans, told};

const OPTIONS: fn() -> ImportOptions = ImportOptions::default;

#[test]
fn the_page_shows_a_profile_that_is_read() {
    let page = include_str!("../../../../../docs/formats/folded.md");
    let said = spans("folded", example(page), OPTIONS());
    assert_eq!(
        said,
        "all 0 main 0+300 net 300 unseen both\n\
         all 0 main 300+1200 net 0 unseen both\n\
         all 1 read 300+1200 net 1200 unseen both\n\
         all 0 main 1500+2500 net 0 unseen both\n\
         all 1 read 1500+2500 net 0 unseen both\n\
         all 2 copy 1500+2500 net 2500 unseen both\n"
    );
}

#[test]
fn misfits_are_counted() {
    let text = "# a comment\n\na;b 3\nno number\na;; 2\nspaces in (a name);b 1\n 7\na;b 2.5\na;b -1\n\
                a;b 99999999999999999999999\na;b 1";
    let (shown, codes) = told("folded", text, OPTIONS());
    assert_eq!(codes, ["input/skipped-record 4", "input/cut-record 1"]);
    assert!(shown.contains("1 (unnamed) "), "{shown}");
    assert!(shown.contains("0 spaces in (a name) 5+1"), "{shown}");
    assert!(shown.ends_with("1 b 6+3 net 3 unseen both\n"), "{shown}");
}

#[test]
fn a_recursive_stack_counts_its_time_once() {
    let outcome = spans("folded", "a;b;a 10\n", OPTIONS());
    assert_eq!(
        outcome,
        "all 0 a 0+10 net 0 unseen both\nall 1 b 0+10 net 0 unseen both\n\
         all 2 a 0+10 net 10 unseen both\n"
    );
}

#[test]
fn the_unit_is_what_the_dialect_says() {
    let unit = |dialect: &str| {
        let options = ImportOptions { dialect: Some(dialect.into()), ..OPTIONS() };
        FoldedStacks.open_bytes(b"a;b 1\n", &options).map(|opened| opened.timebase.unit)
    };
    assert_eq!(unit("us"), Ok(Timebase::MICROSECONDS.unit));
    assert!(unit("bananas").unwrap_err().message.contains("`bananas`"));
}

#[test]
fn only_folded_stacks_are_taken_for_some() {
    let is_some =
        |text: &str| FoldedStacks.recognize_bytes(text.as_bytes(), true) != Recognition::No;
    assert!(is_some("a;b 1\nc 2\n"));
    for other in ["", "a 1\nb 2\n", "a;b 1\nsome text\n", "  a;b 1\n", "{\"a\":1}", "a;b\n"] {
        assert!(!is_some(other), "{other}");
    }
}

#[test]
fn a_cut_changes_nothing_before_it() {
    // Every line makes several events: the cut is checked by lines.
    let text = b"main 3\nmain;read 4\nmain;read;copy 5\n";
    let lines: Vec<usize> = memchr::memchr_iter(b'\n', text).map(|at| at + 1).collect();
    let whole = read(&FoldedStacks, text, &OPTIONS());
    for cut in 0..text.len() {
        let said = read(&FoldedStacks, &text[..cut], &OPTIONS());
        let end = lines.iter().rfind(|&&end| end <= cut).copied().unwrap_or(0);
        assert!(said.said().eq(whole.said().filter(|(at, _)| at.offset < end)), "cut at {cut}");
    }
    check_cuts(&FoldedStacks, b"# nothing\n\n", &OPTIONS());
}
