//! A whole file as tables.

use crate::json::{Scanner, Stop, Text};
use crate::text::{self, decimal};

/// A table: columns by name, of numbers or null, as they are spelled.
#[derive(Clone, Debug, Default)]
pub(super) struct Table<'a>(Vec<(&'a [u8], Vec<&'a [u8]>)>);

impl<'a> Table<'a> {
    fn new(scanner: &mut Scanner<'a>) -> Result<Self, Stop> {
        let mut table = Self::default();
        scanner.object(|scanner, key| {
            if scanner.peek()? != b'[' {
                return scanner.skip();
            }
            let mut column = Vec::new();
            scanner.array(|scanner| {
                match scanner.peek()? {
                    // Texts and objects keep their row and say nothing.
                    b'"' | b'{' | b'[' => {
                        scanner.skip()?;
                        column.push(&b""[..]);
                    }
                    _ => column.push(scanner.scalar()?),
                }
                Ok(())
            })?;
            table.0.push((key.raw, column));
            Ok(())
        })?;
        Ok(table)
    }

    /// A column; empty if there is none.
    pub(super) fn column(&self, name: &str) -> &[&'a [u8]] {
        let found = self.0.iter().find(|(key, _)| *key == name.as_bytes());
        found.map_or(&[][..], |(_, column)| column)
    }

    /// The number in a row of a column, as an index of another table; nothing for null and -1.
    pub(super) fn index(&self, name: &str, row: usize) -> Option<usize> {
        usize::try_from(decimal(self.column(name).get(row)?, 0)?).ok()
    }
}

/// The tables that stacks are made of.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables<'a> {
    pub(super) stacks: Table<'a>,
    pub(super) frames: Table<'a>,
    pub(super) funcs: Table<'a>,
    pub(super) resources: Table<'a>,
    pub(super) strings: Vec<Text<'a>>,
}

impl<'a> Tables<'a> {
    /// Takes the member if it is one of the tables.
    fn member(&mut self, scanner: &mut Scanner<'a>, key: &[u8]) -> Result<bool, Stop> {
        match key {
            b"stackTable" => self.stacks = Table::new(scanner)?,
            b"frameTable" => self.frames = Table::new(scanner)?,
            b"funcTable" => self.funcs = Table::new(scanner)?,
            b"resourceTable" => self.resources = Table::new(scanner)?,
            b"stringArray" => strings(scanner, &mut self.strings)?,
            // Between profiles that were serialized in another way.
            b"stringTable" if scanner.peek()? == b'{' => scanner.object(|scanner, key| {
                if key.raw == b"_array" {
                    return strings(scanner, &mut self.strings);
                }
                scanner.skip()
            })?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The string of that number; empty if there is none.
    pub(super) fn string(&self, row: Option<usize>) -> String {
        let text = row.and_then(|row| self.strings.get(row));
        text.map_or_else(String::new, |text| text.to_string_lossy())
    }
}

fn strings<'a>(scanner: &mut Scanner<'a>, strings: &mut Vec<Text<'a>>) -> Result<(), Stop> {
    scanner.array(|scanner| {
        strings.push(scanner.string()?);
        Ok(())
    })
}

/// A thread.
#[derive(Clone, Debug, Default)]
pub(super) struct Thread<'a> {
    pub(super) name: String,
    pub(super) process: String,
    pub(super) pid: Option<u64>,
    pub(super) tid: Option<u64>,
    pub(super) sampled: Table<'a>,
    pub(super) marked: Table<'a>,
    pub(super) own: Tables<'a>,
}

impl Thread<'_> {
    /// How many samples there are.
    pub(super) fn samples(&self) -> usize {
        self.sampled.column("stack").len()
    }

    /// How many markers there are.
    pub(super) fn markers(&self) -> usize {
        self.marked.column("name").len()
    }
}

/// What a file holds.
#[derive(Clone, Debug, Default)]
pub(super) struct Profile<'a> {
    pub(super) product: String,
    pub(super) version: u64,
    /// Nanoseconds that a sample stands for.
    pub(super) interval: Option<u64>,
    pub(super) threads: Vec<Thread<'a>>,
    /// Those of all threads.
    pub(super) shared: Tables<'a>,
    /// Where the file could not be followed any more.
    pub(super) stopped: Option<(usize, Stop)>,
}

/// A number of milliseconds as nanoseconds.
pub(super) fn nanos(text: &[u8]) -> Option<u64> {
    crate::json::scaled(text, 6)
}

/// Process ids are numbers, or texts such as `"1234"` and `"1234.1"`.
fn id(scanner: &mut Scanner<'_>) -> Result<Option<u64>, Stop> {
    let text = if scanner.peek()? == b'"' { scanner.string()?.raw } else { scanner.scalar()? };
    let digits = text.split(|byte| *byte == b'.').next().unwrap_or_default();
    Ok(decimal(digits, 0))
}

impl<'a> Profile<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let mut profile = Self::default();
        let mut scanner = Scanner::new(bytes, text::after_byte_order_mark(bytes));
        let read = scanner.object(|scanner, key| match key.raw {
            b"meta" => profile.meta(scanner),
            b"shared" => scanner.object(|scanner, key| {
                if profile.shared.member(scanner, key.raw)? {
                    return Ok(());
                }
                scanner.skip()
            }),
            b"threads" => scanner.array(|scanner| {
                // Of a thread that is cut, what was read counts.
                profile.threads.push(Thread::default());
                match profile.threads.last_mut() {
                    Some(thread) => thread.read(scanner),
                    None => Ok(()),
                }
            }),
            _ => scanner.skip(),
        });
        profile.stopped = read.err().map(|stop| (scanner.at, stop));
        profile
    }

    fn meta(&mut self, scanner: &mut Scanner<'a>) -> Result<(), Stop> {
        scanner.object(|scanner, key| {
            match key.raw {
                b"product" if scanner.peek()? == b'"' => {
                    self.product = scanner.string()?.to_string_lossy();
                }
                b"interval" => self.interval = nanos(scanner.scalar()?).filter(|&it| it > 0),
                b"preprocessedProfileVersion" => {
                    self.version = decimal(scanner.scalar()?, 0).unwrap_or(0);
                }
                _ => scanner.skip()?,
            }
            Ok(())
        })
    }
}

impl<'a> Thread<'a> {
    fn read(&mut self, scanner: &mut Scanner<'a>) -> Result<(), Stop> {
        scanner.object(|scanner, key| {
            match key.raw {
                b"name" => self.name = scanner.string()?.to_string_lossy(),
                b"processName" if scanner.peek()? == b'"' => {
                    self.process = scanner.string()?.to_string_lossy();
                }
                b"pid" => self.pid = id(scanner)?,
                b"tid" => self.tid = id(scanner)?,
                b"samples" => self.sampled = Table::new(scanner)?,
                b"markers" => self.marked = Table::new(scanner)?,
                key => {
                    if !self.own.member(scanner, key)? {
                        scanner.skip()?;
                    }
                }
            }
            Ok(())
        })
    }
}
