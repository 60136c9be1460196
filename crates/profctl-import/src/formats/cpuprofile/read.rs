//! A whole file as samples.

use profctl_model::diag::codes::SKIPPED_RECORD;
use profctl_model::hash::FastMap;
use profctl_model::{Func, FuncKind};

use crate::emit::{Emitter, LaneKey, NameRef, ThreadKey};
use crate::formats::{Block, Reader, State};
use crate::json::{Scanner, Stop, Text};
use crate::samples::Samples;
use crate::text::{self, decimal};

/// A node of the tree of calls.
#[derive(Clone, Debug, Default)]
pub(super) struct Node<'a> {
    id: u64,
    name: Option<Text<'a>>,
    url: Option<Text<'a>>,
    /// From 0; nothing for what is not a script.
    line: Option<u64>,
    parent: Option<usize>,
    parent_id: Option<u64>,
    children: Vec<u64>,
}

/// A tree of calls and the samples of one thread.
#[derive(Clone, Debug, Default)]
pub(super) struct Profile<'a> {
    pub(super) nodes: Vec<Node<'a>>,
    pub(super) samples: Vec<u64>,
    /// Microseconds since the sample before; some versions of V8 print negative ones.
    pub(super) deltas: Vec<i64>,
    pub(super) start: u64,
    pub(super) end: Option<u64>,
}

/// Where a file could not be followed any more.
pub(super) type Stopped = Option<(usize, Stop)>;

pub(super) fn signed(text: &[u8]) -> i64 {
    // Rounded towards 0: they are whole but for files that other programs made.
    let whole = text.split(|byte| *byte == b'.').next().unwrap_or_default();
    std::str::from_utf8(whole).ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}

impl<'a> Profile<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> (Self, Stopped) {
        let mut profile = Self::default();
        let mut scanner = Scanner::new(bytes, text::after_byte_order_mark(bytes));
        let read = scanner.object(|scanner, key| profile.member(scanner, key.raw));
        profile.link();
        (profile, read.err().map(|stop| (scanner.at, stop)))
    }

    /// Takes the value of a key of a profile, or of a part of one.
    pub(super) fn member(&mut self, scanner: &mut Scanner<'a>, key: &[u8]) -> Result<(), Stop> {
        match key {
            b"nodes" => scanner.array(|scanner| {
                self.nodes.push(node(scanner)?);
                Ok(())
            })?,
            b"samples" => scanner.array(|scanner| {
                self.samples.push(decimal(scanner.scalar()?, 0).unwrap_or(u64::MAX));
                Ok(())
            })?,
            b"timeDeltas" => scanner.array(|scanner| {
                self.deltas.push(signed(scanner.scalar()?));
                Ok(())
            })?,
            b"startTime" => self.start = signed(scanner.scalar()?).max(0) as u64,
            b"endTime" => self.end = u64::try_from(signed(scanner.scalar()?)).ok(),
            _ => scanner.skip()?,
        }
        Ok(())
    }

    /// Finds the parent of every node; older files name children, newer ones parents.
    pub(super) fn link(&mut self) {
        let rows: FastMap<u64, usize> =
            self.nodes.iter().enumerate().map(|(row, node)| (node.id, row)).collect();
        for row in 0..self.nodes.len() {
            if let Some(parent) = self.nodes[row].parent_id {
                self.nodes[row].parent = rows.get(&parent).copied();
            }
            for child in std::mem::take(&mut self.nodes[row].children) {
                if let Some(&child) = rows.get(&child) {
                    self.nodes[child].parent = Some(row);
                }
            }
        }
    }

    /// The rows of the nodes from the root to `row`, but for the root. A file that is damaged may
    /// have a ring: it is cut after as many steps as there are nodes.
    fn stack(&self, row: usize) -> Vec<usize> {
        let mut stack = Vec::new();
        let mut next = Some(row);
        while let Some(row) = next {
            if stack.len() > self.nodes.len() {
                return Vec::new();
            }
            stack.push(row);
            next = self.nodes[row].parent;
        }
        stack.reverse();
        if stack.len() > 1 && self.nodes[stack[0]].is_root() {
            stack.remove(0);
        }
        stack
    }

    /// Says the samples as those of a thread.
    fn say(&self, thread: ThreadKey, offset: usize, out: &mut Emitter) {
        let names: Vec<NameRef> = self.nodes.iter().map(|node| node.name(out)).collect();
        let rows: FastMap<u64, usize> =
            self.nodes.iter().enumerate().map(|(row, node)| (node.id, row)).collect();
        let mut samples = Samples::new(out.lane(LaneKey { cpu: None, thread }));
        let mut time = self.start;
        for (sample, delta) in self.samples.iter().zip(&self.deltas) {
            out.records += 1;
            // A step back is one of V8's clock: samples are in the order in which they were taken.
            time = time.saturating_add(u64::try_from(*delta).unwrap_or(0));
            let Some(&row) = rows.get(sample) else {
                out.diag(&SKIPPED_RECORD, offset, || {
                    format!("a sample of node {sample}, which is not defined")
                });
                samples.are(&[], Some(time), offset, out);
                continue;
            };
            let stack: Vec<NameRef> = self.stack(row).iter().map(|&row| names[row]).collect();
            samples.are(&stack, Some(time), offset, out);
        }
        samples.are(&[], Some(self.end.unwrap_or(time).max(time)), offset, out);
    }
}

fn node<'a>(scanner: &mut Scanner<'a>) -> Result<Node<'a>, Stop> {
    let mut node = Node::default();
    scanner.object(|scanner, key| {
        match key.raw {
            b"id" => node.id = decimal(scanner.scalar()?, 0).unwrap_or(u64::MAX),
            b"parent" => node.parent_id = decimal(scanner.scalar()?, 0),
            b"children" => scanner.array(|scanner| {
                node.children.extend(decimal(scanner.scalar()?, 0));
                Ok(())
            })?,
            b"callFrame" => scanner.object(|scanner, key| {
                match key.raw {
                    b"functionName" => node.name = Some(scanner.string()?),
                    b"url" => node.url = Some(scanner.string()?),
                    b"lineNumber" => node.line = decimal(scanner.scalar()?, 0),
                    _ => scanner.skip()?,
                }
                Ok(())
            })?,
            _ => scanner.skip()?,
        }
        Ok(())
    })?;
    Ok(node)
}

impl<'a> Node<'a> {
    /// A frame of a stack that has names only.
    pub(super) fn frame(id: u64, parent: Option<u64>, name: Text<'a>, module: Text<'a>) -> Self {
        Self { id, parent_id: parent, name: Some(name), url: Some(module), ..Self::default() }
    }

    fn is_root(&self) -> bool {
        self.name.is_some_and(|name| name.raw == b"(root)")
    }

    fn name(&self, out: &mut Emitter) -> NameRef {
        let name = self.name.map_or(String::new(), Text::to_string_lossy);
        let url = self.url.map_or(String::new(), Text::to_string_lossy);
        let file = url.rsplit('/').next().filter(|file| !file.is_empty()).map(str::to_owned);
        let name = match (name.as_str(), self.line) {
            ("", Some(line)) => format!("(anonymous):{}", line.saturating_add(1)),
            ("", None) => "(anonymous)".to_owned(),
            _ => name,
        };
        let kind = if name == "(idle)" { FuncKind::Idle } else { FuncKind::Function };
        let spelling =
            [name.as_bytes(), b"\0", file.as_deref().unwrap_or("\0").as_bytes()].concat();
        out.name(&spelling, |_| Func { name, module: file, kind, ..Func::default() })
    }
}

/// Reads a whole file.
pub(super) struct Whole;

impl Reader for Whole {
    fn fork(&self) -> Box<dyn Reader> {
        Box::new(Self)
    }

    fn boundary(&self, _bytes: &[u8]) -> usize {
        // Only the end of the file is one.
        0
    }

    fn read(&mut self, block: &Block<'_>, _state: &State, out: &mut Emitter) -> Option<State> {
        out.lines += memchr::memchr_iter(b'\n', block.bytes).count() as u64;
        let (profiles, stopped) = super::profiles(block.bytes);
        for (thread, profile) in profiles {
            profile.say(thread, 0, out);
        }
        if let Some((at, stop)) = stopped {
            stop.report(block.bytes, at, out);
        }
        None
    }
}
