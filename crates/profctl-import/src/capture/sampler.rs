//! Changes of levels to events.

use std::sync::Arc;

use super::select::{Edge, Plan, SampledSignal};
use super::{INFERRED_CALLS, NO_STROBE, UNKNOWN_LEVEL, counter};
use crate::bytes::low_bits;
use crate::emit::{At, Emitter, LaneKey, LaneRef, NameRef, Stated, ThreadKey};
use crate::tags::Tags;

/// The level of every bit of a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Word {
    value: u64,
    /// Bits that are neither 0 nor 1.
    unknown: u64,
}

impl Word {
    const UNKNOWN: Self = Self { value: 0, unknown: u64::MAX };

    /// Puts `width` bits at `to`.
    fn put(&mut self, bits: Word, width: u32, to: u32) {
        let mask = low_bits(width) << to;
        self.value = (self.value & !mask) | ((bits.value << to) & mask);
        self.unknown = (self.unknown & !mask) | ((bits.unknown << to) & mask);
    }
}

/// What the wires say at one point of a capture: all that a reader must remember of what came
/// before.
#[derive(Debug)]
pub(crate) struct Levels {
    /// Including the changes of the present timestamp.
    now: Vec<Word>,
    /// What each word was before the present timestamp, if it is among `changed`.
    before: Vec<Option<Word>>,
    /// The words that changed at the present timestamp.
    changed: Vec<usize>,
    /// What each wire that is a function was when it was last known.
    inside: Vec<Option<bool>>,
    /// When each wire that is high was seen to rise: a number that grows.
    rose: Vec<Option<u64>>,
    n_rises: u64,
    /// Where the functions begin that the program counter says are open.
    open: Vec<u64>,
    /// Whether a timestamp has passed, so that there is a "before" to compare with.
    started: bool,
    /// Whether anything was said at the present timestamp.
    touched: bool,
    /// Whether the strobe had its edge at the present timestamp.
    edge: bool,
    /// Whether the facts about the capture were emitted.
    announced: bool,
}

impl Levels {
    /// What a word was before the present timestamp.
    fn before(&self, word: usize) -> Word {
        self.before[word].unwrap_or(self.now[word])
    }

    /// Whether all that was said belongs to a timestamp that was settled.
    pub(crate) fn is_settled(&self) -> bool {
        !self.touched
    }
}

/// Applies a plan. Every reader has its own, because names are known by what they are written to.
pub(crate) struct Sampler {
    plan: Arc<Plan>,
    tags: Option<Tags>,
    wires: Vec<Option<NameRef>>,
}

impl Sampler {
    /// A sampler without names.
    pub(crate) fn new(plan: &Arc<Plan>) -> Self {
        Self {
            tags: plan.tags.as_ref().map(Tags::fork),
            wires: vec![None; plan.wires.len()],
            plan: Arc::clone(plan),
        }
    }

    /// Another one, for another reader.
    pub(crate) fn fork(&self) -> Self {
        Self::new(&self.plan)
    }

    /// The levels before a capture: nothing is known.
    pub(crate) fn levels(&self) -> Levels {
        let n_words = self.plan.n_words;
        let mut unknown = vec![Word { unknown: 0, ..Word::UNKNOWN }; n_words];
        for SampledSignal { feeds, .. } in &self.plan.sources {
            for feed in feeds {
                unknown[feed.word].put(Word::UNKNOWN, feed.width, feed.to);
            }
        }
        Levels {
            now: unknown,
            before: vec![None; n_words],
            changed: Vec::new(),
            inside: vec![None; self.plan.wires.len()],
            rose: vec![None; self.plan.wires.len()],
            n_rises: 0,
            open: Vec::new(),
            started: false,
            touched: false,
            edge: false,
            announced: false,
        }
    }

    /// A signal changed: its bits, and which of them are neither 0 nor 1.
    #[inline]
    pub(crate) fn change(&self, levels: &mut Levels, source: usize, value: u64, unknown: u64) {
        let strobe = self.plan.strobe.map(|(word, edge)| (word, edge, levels.now[word]));
        for feed in &self.plan.sources[source].feeds {
            let bits = Word { value: value >> feed.from, unknown: unknown >> feed.from };
            if levels.before[feed.word].is_none() {
                levels.before[feed.word] = Some(levels.now[feed.word]);
                levels.changed.push(feed.word);
            }
            levels.now[feed.word].put(bits, feed.width, feed.to);
        }
        levels.touched = true;
        if let Some((word, edge, before)) = strobe {
            let now = levels.now[word];
            if before.unknown == 0 && now.unknown == 0 && before.value != now.value {
                levels.edge |= match edge {
                    Edge::Rise => now.value == 1,
                    Edge::Fall => now.value == 0,
                    Edge::Both => true,
                };
            }
        }
    }

    /// All changes of the timestamp `time` were applied: says what they mean. `offset` is where in
    /// the block they stood.
    pub(crate) fn settle(
        &mut self,
        levels: &mut Levels,
        time: u64,
        offset: usize,
        out: &mut Emitter,
    ) {
        if !levels.touched {
            return;
        }
        levels.touched = false;
        if !levels.announced {
            levels.announced = true;
            self.announce(offset, out);
        }
        let lane = self.lane(levels, out);
        let at = At { time: Some(time), lane, offset };
        self.settle_wires(levels, at, out);
        let edge = std::mem::take(&mut levels.edge);
        if let Some(word) = self.plan.tag.or(self.plan.pc) {
            self.settle_bus(levels, word, edge, at, out);
        }
        for word in levels.changed.drain(..) {
            levels.before[word] = None;
        }
        levels.started = true;
    }

    /// The recorder was off from `time` on: whatever was open is not known to have gone on.
    pub(crate) fn blackout(
        &mut self,
        levels: &mut Levels,
        time: u64,
        offset: usize,
        out: &mut Emitter,
    ) {
        self.settle(levels, time, offset, out);
        let lane = out.lane(LaneKey { cpu: None, thread: ThreadKey::Unstated });
        let announced = levels.announced;
        out.lost(At { time: Some(time), lane, offset }, None);
        *levels = Levels { announced, ..self.levels() };
    }

    /// The same, for a recorder that says so again and again while it is off.
    pub(crate) fn blackout_once(
        &mut self,
        levels: &mut Levels,
        time: u64,
        offset: usize,
        out: &mut Emitter,
    ) {
        if levels.started {
            self.blackout(levels, time, offset, out);
        }
    }

    fn announce(&self, offset: usize, out: &mut Emitter) {
        if self.plan.tag.is_some() && self.plan.strobe.is_none() {
            out.diag(&NO_STROBE, offset, || "a bus of tags without a strobe".into());
        }
        if self.plan.pc.is_some() {
            out.diag(&INFERRED_CALLS, offset, || "a bus with the program counter".into());
        }
    }

    fn lane(&self, levels: &Levels, out: &mut Emitter) -> LaneRef {
        let thread = match self.plan.thread.map(|word| levels.now[word]) {
            Some(Word { value, unknown: 0 }) => ThreadKey::Tid(value, String::new()),
            Some(_) | None => ThreadKey::Unstated,
        };
        out.lane(LaneKey { cpu: None, thread })
    }

    /// Wires that fell are left: those entered last first. Then wires that rose are entered, in the
    /// order of the plan.
    fn settle_wires(&mut self, levels: &mut Levels, at: At, out: &mut Emitter) {
        let plan = Arc::clone(&self.plan);
        let (mut fell, mut rose) = (Vec::new(), Vec::new());
        let mut changed: Vec<usize> = if levels.started {
            levels.changed.iter().filter_map(|word| plan.wire_of(*word)).collect()
        } else {
            (0..plan.wires.len()).collect()
        };
        changed.sort_unstable();
        for row in changed {
            let word = plan.wires[row].word;
            let (now, before) = (levels.now[word], levels.before(word));
            let was = levels.inside[row];
            if now == before && levels.started {
                continue;
            }
            if now.unknown != 0 {
                if before.unknown == 0 {
                    let name = &plan.wires[row].name;
                    out.diag(&UNKNOWN_LEVEL, at.offset, || format!("wire of `{name}` is unknown"));
                }
                continue;
            }
            levels.inside[row] = Some(now.value == 1);
            // A wire that is high from the start was entered before it.
            if now.value == 1 && was != Some(true) && (was.is_some() || levels.started) {
                rose.push(row);
            } else if now.value == 0 && was == Some(true) {
                fell.push(row);
            }
        }
        // Those that were high before the capture began are the outermost.
        fell.sort_by_key(|&row| std::cmp::Reverse((levels.rose[row], row)));
        for row in fell {
            levels.rose[row] = None;
            levels.inside[row] = Some(false);
            let name = self.wire_name(row, out);
            out.exit(at, Some(name), Stated::NOTHING);
        }
        for row in rose {
            levels.n_rises += 1;
            levels.rose[row] = Some(levels.n_rises);
            let name = self.wire_name(row, out);
            out.enter(at, name, Stated::NOTHING);
        }
    }

    fn wire_name(&mut self, row: usize, out: &mut Emitter) -> NameRef {
        let wire = &self.plan.wires[row];
        *self.wires[row].get_or_insert_with(|| out.func(&wire.name, wire.kind))
    }

    fn settle_bus(
        &mut self,
        levels: &mut Levels,
        word: usize,
        edge: bool,
        at: At,
        out: &mut Emitter,
    ) {
        let (now, before) = (levels.now[word], levels.before(word));
        match self.plan.strobe {
            None if !levels.started || now == before || now.unknown != 0 => return,
            None => {}
            Some((strobe, _)) => {
                if levels.now[strobe].unknown != 0 && levels.before(strobe).unknown == 0 {
                    out.diag(&UNKNOWN_LEVEL, at.offset, || "the strobe is unknown".into());
                }
                if !edge {
                    return;
                }
            }
        }
        for &(condition, expected) in &self.plan.valid {
            let found = levels.now[condition];
            if found.unknown == 0 && found.value != expected {
                return;
            }
            if found.unknown != 0 {
                let message = || "the condition at the strobe is unknown".into();
                out.diag(&UNKNOWN_LEVEL, at.offset, message);
                return;
            }
        }
        if now.unknown != 0 {
            let unknown = now.unknown;
            out.diag(&UNKNOWN_LEVEL, at.offset, || {
                format!("bits {unknown:#x} of the bus are unknown")
            });
            return;
        }
        if let Some(tags) = &mut self.tags {
            let (kind, name) = tags.meaning(now.value as u32, at.offset, out);
            out.tag(at, name, kind);
        }
        if let Some(symbols) = &self.plan.symbols {
            counter::step(symbols, now.value, at, &mut levels.open, out);
        }
    }
}
