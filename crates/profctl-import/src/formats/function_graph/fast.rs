//! The usual lines of the usual layouts.

use super::layout::Layout;
use super::read::GraphReader;
use crate::emit::Emitter;

/// Reads lines from `offset` on for as long as they are usual; says where it stopped.
pub(super) fn read(
    _block: &[u8],
    offset: usize,
    _layout: Layout,
    _reader: &mut GraphReader,
    _out: &mut Emitter,
) -> usize {
    offset
}
