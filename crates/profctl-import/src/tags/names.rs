//! The name file: which function an entry tag belongs to.
//!
//! ```text
//! # name/tag, decimal or 0x; the exit of a function has the tag after its entry
//! tcp_input/530
//! ISAINTR/500^      an interrupt handler
//! swtch/600!        switches threads
//! idle_loop/602~    nothing to do
//! MGET/1002=        an instant: one tag, odd or even
//! ```

use profctl_model::FuncKind;
use profctl_model::hash::FastMap;

use crate::bytes::low_bits;
use crate::importer::ImportError;
use crate::text;

/// What one line of a name file says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Named {
    /// The function.
    pub(crate) name: String,
    /// The tag of its entry, or of the instant.
    pub(crate) tag: u32,
    /// What it is; an instant is a mark.
    pub(crate) kind: FuncKind,
    /// Whether it switches threads.
    pub(crate) switches: bool,
}

/// Reads a name file for tags of `tag_bits` bits.
pub(crate) fn parse(file: &[u8], tag_bits: u32) -> Result<Vec<Named>, ImportError> {
    let mut names = Vec::new();
    // Taken tags and names, with the line that took them.
    let mut tags: FastMap<u32, u64> = FastMap::default();
    let mut kinds: FastMap<String, (FuncKind, bool, u64)> = FastMap::default();
    for (line, number) in text::lines(file).zip(1_u64..) {
        let error = |message: String| ImportError {
            offset: None,
            line: Some(number),
            message: format!("name file: {message}"),
        };
        let entry = without_comment(line.text).trim_ascii();
        if entry.is_empty() {
            continue;
        }
        let named = parse_entry(entry, tag_bits).map_err(error)?;
        let exit = (named.kind != FuncKind::Mark).then(|| named.tag + 1);
        for tag in [Some(named.tag), exit].into_iter().flatten() {
            if let Some(first) = tags.insert(tag, number) {
                return Err(error(format!("tag {tag} is taken since line {first}")));
            }
        }
        // Two functions of one name become one, so they must be of one kind.
        let (kind, switches, first) =
            *kinds.entry(named.name.clone()).or_insert((named.kind, named.switches, number));
        if (kind, switches) != (named.kind, named.switches) {
            return Err(error(format!("`{}` has other marks on line {first}", named.name)));
        }
        names.push(named);
    }
    if names.is_empty() {
        return Err(ImportError::whole("name file: no names, expected lines `name/tag`"));
    }
    Ok(names)
}

/// A comment starts the line, or follows a space: a name may hold a `#`.
fn without_comment(line: &[u8]) -> &[u8] {
    let starts = |at: &usize| *at == 0 || line[at - 1].is_ascii_whitespace();
    let comment = memchr::memchr_iter(b'#', line).find(starts);
    &line[..comment.unwrap_or(line.len())]
}

fn parse_entry(entry: &[u8], tag_bits: u32) -> Result<Named, String> {
    let found = || text::excerpt(entry);
    let Ok(readable) = std::str::from_utf8(entry) else {
        return Err(format!("found `{}`, expected UTF-8", found()));
    };
    let Some((name, value)) = readable.rsplit_once('/') else {
        return Err(format!("found `{}`, expected `name/tag`", found()));
    };
    let (name, value) = (name.trim(), value.trim());
    if name.is_empty() {
        return Err(format!("found `{}`, expected a name before `/`", found()));
    }
    let digits = value.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(value.len());
    let (digits, marks) = value.split_at(digits);
    let Some(tag) = text::integer(digits.as_bytes()) else {
        return Err(format!("found tag `{digits}`, expected a decimal or 0x number"));
    };
    let tag_max = low_bits(tag_bits);
    let Some(tag) = u32::try_from(tag).ok().filter(|&tag| u64::from(tag) <= tag_max) else {
        return Err(format!("found tag {tag}, expected at most {tag_max} ({tag_bits} bits)"));
    };
    let (kind, switches) = kind_of(marks.trim())?;
    if kind != FuncKind::Mark && tag % 2 == 1 {
        return Err(format!(
            "found odd tag {tag}, expected an even one (its exit is the next) or the mark `=`"
        ));
    }
    Ok(Named { name: name.into(), tag, kind, switches })
}

/// The kind that `marks` give, and whether they include `!`.
pub(crate) fn kind_of(marks: &str) -> Result<(FuncKind, bool), String> {
    let [mut switch, mut instant, mut interrupt, mut idle] = [false; 4];
    for mark in marks.chars() {
        match mark {
            '!' => switch = true,
            '=' => instant = true,
            '^' => interrupt = true,
            '~' => idle = true,
            ' ' | '\t' => {}
            other => {
                return Err(format!("found mark `{other}`, expected `!`, `=`, `^` or `~`"));
            }
        }
    }
    match (switch, instant, interrupt, idle) {
        (false, false, false, false) => Ok((FuncKind::Function, false)),
        (false, true, false, false) => Ok((FuncKind::Mark, false)),
        (false, false, true, false) => Ok((FuncKind::Interrupt, false)),
        (switches, false, false, true) => Ok((FuncKind::Idle, switches)),
        (true, false, false, false) => Ok((FuncKind::Switch, true)),
        _ => Err(format!("found marks `{marks}`, expected one of them, or `!~`")),
    }
}
