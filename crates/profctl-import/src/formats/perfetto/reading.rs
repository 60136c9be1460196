//! How far reading a block of packets came: what all kinds of packets need.

use std::sync::Arc;

use profctl_model::Func;
use profctl_model::hash::FastMap;

use super::NOT_READ;
use super::memory::{Kernel, Memory, Sequence};
use crate::emit::{At, Emitter, LaneRef, NameRef};

/// How far reading a block came.
pub(super) struct Reading<'o> {
    pub(super) memory: Memory,
    /// Whether `memory` is another than before the block.
    pub(super) changed: bool,
    pub(super) out: &'o mut Emitter,
    /// Lanes of tracks, while no descriptor changes one.
    pub(super) lanes: FastMap<u64, LaneRef>,
    /// The packet, as an offset in the block.
    pub(super) offset: usize,
    /// Whether this only looks for descriptors that come after the first events.
    pub(super) looks_ahead: bool,
}

impl<'o> Reading<'o> {
    pub(super) fn new(memory: Memory, out: &'o mut Emitter) -> Self {
        let lanes = FastMap::default();
        Self { memory, changed: false, out, lanes, offset: 0, looks_ahead: false }
    }

    #[cold]
    pub(super) fn not_read(&mut self, why: &str) {
        self.out.diag(&NOT_READ, self.offset, || why.into());
    }

    pub(super) fn sequence(&self, id: u32) -> Option<&Sequence> {
        self.memory.sequences.get(&id).map(|sequence| &**sequence)
    }

    pub(super) fn sequence_mut(&mut self, id: u32) -> &mut Sequence {
        self.changed = true;
        Arc::make_mut(self.memory.sequences.edit(id))
    }

    /// What events of the kernel refer back to, to be changed.
    pub(super) fn kernel_mut(&mut self) -> &mut Kernel {
        self.changed = true;
        Arc::make_mut(&mut self.memory.kernel)
    }

    /// A plain function.
    pub(super) fn func(&mut self, name: &[u8]) -> NameRef {
        self.out.name(name, |name| Func {
            name: String::from_utf8_lossy(name).into_owned(),
            ..Func::default()
        })
    }

    /// When and on whom something happened that the present packet tells.
    pub(super) fn at(&self, lane: LaneRef, time: u64) -> At {
        At { time: Some(time), lane, offset: self.offset }
    }
}
