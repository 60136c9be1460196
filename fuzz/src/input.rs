//! An input of the targets that are for every reader: the content of a file, or the files of a
//! directory, then one byte that chooses names, wires, symbols and rules, and one that chooses a
//! window. Seeds, which `scripts/fuzz` makes, are fixtures with two bytes of 0 after them.

use profctl_import::capture::CaptureOptions;
use profctl_import::formats::rule::RuleText;
use profctl_import::{Bound, Files, ImportOptions, Memory, ReadOptions, Single};

/// What a directory begins with; its files follow, each after [`FILE`], with their name on a line of
/// its own.
pub const DIRECTORY: &[u8] = b"\xff\xfeDIRECTORY";
/// What is before each file of a directory.
pub const FILE: &[u8] = b"\xff\xfe|";

/// Tags that the records of the fixtures use, and some others.
const NAMES: &[u8] = include_bytes!("../../fixtures/probe/tcp_rx.names");
const FEW_NAMES: &[u8] = b"f/2\ng/4^\nh/6!\ni/8~\nj/10!~\nk/13=\n";
const SYMBOLS: &[u8] = b"0000000000001000 T main\n0000000000001040 t f\n0000000000001176 T g\n\
                         0000000000401176 T h\nffffffff81000000 T _stext\n";
const DIALECTS: [&str; 6] = ["unsorted", "ns", "cycles", "linux", "xnu", "1MHz"];

/// The reader that is tried: `PROFCTL_FUZZ_FORMAT`, else whichever recognizes the input.
pub fn format() -> Option<String> {
    std::env::var("PROFCTL_FUZZ_FORMAT").ok()
}

/// The files and the options of an input.
pub fn parse(bytes: &[u8]) -> Option<(Vec<(String, Vec<u8>)>, ReadOptions)> {
    let (bytes, &[choice, window]) = bytes.split_last_chunk::<2>()?;
    let format = format();
    let mut import = ImportOptions {
        names: Some(if choice & 0x80 == 0 { NAMES } else { FEW_NAMES }.to_vec()),
        symbols: (choice & 0x40 != 0).then(|| SYMBOLS.to_vec()),
        no_demangle: choice & 0x20 != 0,
        dialect: (choice & 0x10 != 0)
            .then(|| DIALECTS[usize::from(choice & 7) % DIALECTS.len()].to_owned()),
        capture: capture(choice),
        ..ImportOptions::default()
    };
    let mut bytes = bytes;
    if format.as_deref() == Some("rule") {
        let (rule, log) = split_at(bytes, b"\0");
        if let (Ok(text), Some(log)) = (std::str::from_utf8(rule), log) {
            let name = "fuzz.toml".to_owned();
            let text = text.to_owned();
            import.rule = Some(RuleText { name, text });
            bytes = log;
        }
    }
    let from = (window & 1 != 0).then(|| Bound::After(u64::from(window >> 4) * 997));
    let until = (window & 2 != 0).then(|| Bound::After((1 << (window >> 2 & 31)) * 1_009));
    let options = ReadOptions { format, import, from, until, ..ReadOptions::default() };
    Some((files(bytes), options))
}

fn capture(choice: u8) -> CaptureOptions {
    let some = |text: &str| Some(text.to_owned());
    match choice & 7 {
        1 | 5 => CaptureOptions { gpio: some("*"), ..CaptureOptions::default() },
        2 => CaptureOptions { pc: some("pc"), thread: some("thread"), ..CaptureOptions::default() },
        3 => CaptureOptions {
            tag: some("T15..T0"),
            strobe: some("stb@both"),
            valid: vec!["en=1".into()],
            ..CaptureOptions::default()
        },
        4 => CaptureOptions { tag: some("0"), ..CaptureOptions::default() },
        6 => CaptureOptions { gpio: some("D0=f,D1=g^,D2~"), ..CaptureOptions::default() },
        7 => CaptureOptions {
            tag: some("tag[3:0]"),
            strobe: some("stb"),
            ..CaptureOptions::default()
        },
        _ => CaptureOptions::default(),
    }
}

fn files(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let Some(mut rest) = bytes.strip_prefix(DIRECTORY) else {
        return vec![("fuzz".to_owned(), bytes.to_vec())];
    };
    let mut files = Vec::new();
    while let (_, Some(file)) = split_at(rest, FILE) {
        let (name, content) = split_at(file, b"\n");
        let content = split_at(content.unwrap_or_default(), FILE).0;
        files.push((String::from_utf8_lossy(name).into_owned(), content.to_vec()));
        rest = file;
    }
    files.sort();
    files.dedup_by(|one, other| one.0 == other.0);
    files
}

/// What is before and after the first `mark`.
fn split_at<'a>(bytes: &'a [u8], mark: &[u8]) -> (&'a [u8], Option<&'a [u8]>) {
    match bytes.windows(mark.len()).position(|window| window == mark) {
        Some(at) => (&bytes[..at], Some(&bytes[at + mark.len()..])),
        None => (bytes, None),
    }
}

/// The files as a reader opens them.
pub fn opened(files: &[(String, Vec<u8>)]) -> Box<dyn Files + '_> {
    match files {
        [(_, bytes)] => Box::new(Single::new("fuzz", Box::new(&bytes[..]))),
        _ => Box::new(Memory::new("fuzz", files.to_vec())),
    }
}
