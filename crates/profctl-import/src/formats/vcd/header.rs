//! The declarations at the head of a dump: timescale and signals.

use profctl_model::TickUnit;
use profctl_model::hash::FastMap;

use crate::capture::Signal;
use crate::text;

/// What the declarations say.
#[derive(Debug)]
pub(super) struct Header {
    /// What a step of the time is.
    pub(super) tick: TickUnit,
    /// The signals that have levels, in order.
    pub(super) signals: Vec<Signal>,
    /// The identifier codes; a key of a signal is a row.
    pub(super) codes: Vec<Box<[u8]>>,
    /// What wrote it, if it says.
    pub(super) producer: Option<String>,
}

/// The words of a dump: whatever is between spaces and line ends, with its place.
pub(super) fn words(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text[at..].iter().position(|byte| !byte.is_ascii_whitespace())?;
        let rest = &text[start..];
        let length = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        at = start + length;
        Some((start, &text[start..at]))
    })
}

/// Reads the declarations in `head`, up to `$enddefinitions`.
pub(super) fn read(head: &[u8]) -> Result<Header, String> {
    let mut header = Header {
        tick: TickUnit::Seconds { numerator: 1, denominator: 1_000_000_000 },
        signals: Vec::new(),
        codes: Vec::new(),
        producer: None,
    };
    let mut keys: FastMap<Box<[u8]>, u32> = FastMap::default();
    let mut scopes: Vec<String> = Vec::new();
    let mut words = words(head).map(|(_, word)| word);
    while let Some(keyword) = words.next() {
        if keyword == b"$enddefinitions" {
            return Ok(header);
        }
        let mut body: Vec<&[u8]> = Vec::new();
        let ended = words.by_ref().any(|word| {
            body.push(word);
            word == b"$end"
        });
        if !ended {
            break;
        }
        body.pop();
        match keyword {
            b"$timescale" => header.tick = timescale(&body)?,
            b"$scope" => scopes.push(body.get(1).map_or("", |name| readable(name)).into()),
            b"$upscope" => {
                scopes.pop();
            }
            b"$version" => {
                let said: Vec<&str> = body.iter().map(|word| readable(word)).collect();
                header.producer = Some(text::excerpt(said.join(" ").as_bytes()));
            }
            b"$var" => header.signal(&body, &scopes, &mut keys)?,
            _ => {}
        }
    }
    Err(format!(
        "no `$enddefinitions` in the first {} bytes, expected it within the first {}: dump fewer \
         signals",
        head.len(),
        crate::files::HEAD,
    ))
}

/// UTF-8, or what stands for it: names are compared with what is typed.
fn readable(word: &[u8]) -> &str {
    std::str::from_utf8(word).unwrap_or("\u{fffd}")
}

/// `10 ns`, `10ns`.
fn timescale(body: &[&[u8]]) -> Result<TickUnit, String> {
    let typed = body.concat();
    let wrong = || {
        let found = text::excerpt(&typed);
        format!("found timescale `{found}`, expected 1, 10 or 100 of s, ms, us, ns, ps or fs")
    };
    let digits = typed.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, unit) = typed.split_at(digits);
    let number = text::integer(number).filter(|number| [1, 10, 100].contains(number));
    let per_second = match unit {
        b"s" => 1,
        b"ms" => 1_000,
        b"us" => 1_000_000,
        b"ns" => 1_000_000_000,
        b"ps" => 1_000_000_000_000,
        b"fs" => 1_000_000_000_000_000,
        _ => return Err(wrong()),
    };
    let numerator = number.ok_or_else(wrong)?;
    Ok(TickUnit::Seconds { numerator, denominator: per_second })
}

impl Header {
    /// `TYPE WIDTH CODE NAME [RANGE]`; the range may touch the name.
    fn signal(
        &mut self,
        body: &[&[u8]],
        scopes: &[String],
        keys: &mut FastMap<Box<[u8]>, u32>,
    ) -> Result<(), String> {
        let [kind, width, code, name, range @ ..] = body else {
            let found = text::excerpt(&body.join(&b' '));
            return Err(format!("found `$var {found}`, expected type, width, code and name"));
        };
        // What is not a level cannot be watched, and is not in the list of signals.
        if matches!(*kind, b"real" | b"realtime" | b"string" | b"event") {
            return Ok(());
        }
        let width = text::integer(width).and_then(|width| u32::try_from(width).ok());
        let width = width.unwrap_or(1).max(1);
        let next = self.codes.len() as u32;
        let key = *keys.entry((*code).into()).or_insert(next);
        if key == next {
            self.codes.push((*code).into());
        }
        let path = scopes.iter().map(String::as_str).filter(|scope| !scope.is_empty());
        let full: Vec<&str> = path.chain([readable(name)]).collect();
        let name = with_bit(&full.join("."), &range.concat(), width);
        self.signals.push(Signal { name, width, key });
        Ok(())
    }
}

/// The name of a signal: a range that says only how wide it is is left off, a bit of a bus keeps
/// its number.
fn with_bit(name: &str, range: &[u8], width: u32) -> String {
    let written = format!("{name}{}", readable(range));
    match written.rsplit_once('[') {
        Some((stem, bits)) if width > 1 || bits.contains(':') => stem.trim_end().into(),
        _ => written,
    }
}
