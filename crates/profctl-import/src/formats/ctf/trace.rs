//! What all packets of a trace are read with.

use super::calls::Calls;
use super::layout::Layouts;
use super::types::Metadata;
use crate::lttng::meaning::Meaning;

/// A trace: one metadata file and the streams that it describes.
#[derive(Debug)]
pub(super) struct Trace {
    pub(super) metadata: Metadata,
    /// By row of the metadata's events.
    pub(super) meanings: Vec<Meaning>,
    pub(super) layouts: Layouts,
    /// By row of its classes of streams.
    pub(super) calls: Vec<Option<Calls>>,
    /// Ticks of this trace's clock a second, and those of the whole.
    pub(super) frequency: (u64, u64),
    /// Ticks of the whole from the epoch to the 0 of its clock.
    pub(super) offset: i128,
}

impl Trace {
    /// A raw time in ticks of the whole.
    #[inline]
    pub(super) fn ticks(&self, raw: u64) -> u64 {
        let (own, whole) = self.frequency;
        if own == whole
            && let Ok(offset) = i64::try_from(self.offset)
        {
            return raw.checked_add_signed(offset).unwrap_or(0);
        }
        self.scaled(raw)
    }

    #[inline(never)]
    fn scaled(&self, raw: u64) -> u64 {
        let (own, whole) = self.frequency;
        let scaled = if own == whole {
            i128::from(raw)
        } else {
            i128::from(raw) * i128::from(whole) / i128::from(own)
        };
        u64::try_from(scaled + self.offset).unwrap_or(0)
    }
}
