//! Where things are in a file, found in one pass.

use profctl_model::TickUnit;

use crate::json::{Scanner, Stop, Text};
use crate::text;

/// A function, as the file describes it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Frame<'a> {
    pub(super) name: Option<Text<'a>>,
    pub(super) file: Option<Text<'a>>,
}

/// A profile.
#[derive(Clone, Debug, Default)]
pub(super) struct Profile<'a> {
    pub(super) name: Option<Text<'a>>,
    pub(super) is_sampled: bool,
    pub(super) unit: &'a [u8],
    pub(super) start: &'a [u8],
    pub(super) end: &'a [u8],
    /// Where the lists begin.
    pub(super) events: Option<usize>,
    pub(super) samples: Option<usize>,
    pub(super) weights: Option<usize>,
    pub(super) at: usize,
}

#[derive(Clone, Debug, Default)]
pub(super) struct File<'a> {
    pub(super) frames: Vec<Frame<'a>>,
    pub(super) profiles: Vec<Profile<'a>>,
    /// Where the file could not be followed any more.
    pub(super) stopped: Option<(usize, Stop)>,
}

/// How the values of a profile become ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Unit {
    pub(super) unit: TickUnit,
    /// Decimal digits of a tick.
    pub(super) digits: u32,
}

/// The unit of that name.
pub(super) fn unit(name: &[u8]) -> Unit {
    let nanoseconds = TickUnit::Seconds { numerator: 1, denominator: 1_000_000_000 };
    let digits = match name {
        b"nanoseconds" => 0,
        b"microseconds" => 3,
        b"milliseconds" => 6,
        b"seconds" => 9,
        _ => return Unit { unit: TickUnit::Cycles, digits: 0 },
    };
    Unit { unit: nanoseconds, digits }
}

impl<'a> File<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let mut file = Self::default();
        let mut scanner = Scanner::new(bytes, text::after_byte_order_mark(bytes));
        let read = scanner.object(|scanner, key| match key.raw {
            b"shared" => scanner.object(|scanner, key| match key.raw {
                b"frames" => scanner.array(|scanner| {
                    let frame = frame(scanner)?;
                    file.frames.push(frame);
                    Ok(())
                }),
                _ => scanner.skip(),
            }),
            b"profiles" => scanner.array(|scanner| {
                // What a cut file begins to say counts.
                scanner.peek()?;
                file.profiles.push(Profile { at: scanner.at, ..Profile::default() });
                let last = file.profiles.len() - 1;
                profile(scanner, &mut file.profiles[last])
            }),
            _ => scanner.skip(),
        });
        file.stopped = read.err().map(|stop| (scanner.at, stop));
        file
    }

    pub(super) fn first_unit(&self) -> &'a [u8] {
        self.profiles.first().map_or(b"none", |profile| profile.unit)
    }

    /// The unit that the first profile decides.
    pub(super) fn unit(&self) -> Unit {
        unit(self.first_unit())
    }
}

fn frame<'a>(scanner: &mut Scanner<'a>) -> Result<Frame<'a>, Stop> {
    let mut frame = Frame::default();
    scanner.object(|scanner, key| {
        let is_string = scanner.peek()? == b'"';
        match key.raw {
            b"name" if is_string => frame.name = Some(scanner.string()?),
            b"file" if is_string => frame.file = Some(scanner.string()?),
            _ => scanner.skip()?,
        }
        Ok(())
    })?;
    Ok(frame)
}

fn profile<'a>(scanner: &mut Scanner<'a>, profile: &mut Profile<'a>) -> Result<(), Stop> {
    scanner.object(|scanner, key| {
        let first = scanner.peek()?;
        match key.raw {
            b"name" if first == b'"' => profile.name = Some(scanner.string()?),
            b"type" => profile.is_sampled = scanner.spelled()? == b"sampled",
            b"unit" => profile.unit = scanner.spelled()?,
            b"startValue" => profile.start = scanner.spelled()?,
            b"endValue" => profile.end = scanner.spelled()?,
            b"events" | b"samples" | b"weights" => {
                let list = match key.raw {
                    b"events" => &mut profile.events,
                    b"samples" => &mut profile.samples,
                    _ => &mut profile.weights,
                };
                *list = Some(scanner.at);
                scanner.skip()?;
            }
            _ => scanner.skip()?,
        }
        Ok(())
    })
}
