//! Where the records of a recording are.

use std::ops::Range;
use std::sync::Arc;

use crate::files::{FileId, ReadAt};

/// The records of one CPU in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct CpuData {
    pub(super) cpu: u32,
    /// Pages, or chunks of compressed pages.
    pub(super) range: Range<u64>,
    pub(super) compressed: bool,
}

/// The records of one CPU.
pub(super) struct Data {
    /// The file that they are in.
    pub(super) file: FileId,
    pub(super) source: Arc<dyn ReadAt>,
    pub(super) cpu: u32,
    /// Pages, or chunks of compressed pages.
    pub(super) range: Range<u64>,
    pub(super) compressed: bool,
}
