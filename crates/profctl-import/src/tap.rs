//! The records of readers, before they are stitched.

use profctl_model::Func;

use crate::emit::{BlockEvents, LaneKey};
use crate::stitch::Setup;

/// Is stated what readers say, in order, before it is stitched.
pub(crate) trait Tap: Send {
    /// What is to be known of the input before its first record.
    fn start(&mut self, setup: &Setup);
    /// The next records; what they refer to is in `names` and `lanes`.
    fn take(&mut self, block: &BlockEvents, names: &[Func], lanes: &[LaneKey]);
}
