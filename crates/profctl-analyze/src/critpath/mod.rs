//! x
use profctl_model::{Table, Trace};
/// Which complete call of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Which {
    /// The one of the greatest elapsed time.
    #[default]
    Slowest,
    /// The one in the middle.
    Median,
}
/// Where to look.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// The function; the longest outermost call of any function if not given.
    pub of: Option<String>,
    /// Which of its calls.
    pub which: Which,
    /// Only calls of this thread: its name, its id, or both as `name-id`.
    pub thread: Option<String>,
}
/// The segments of the path, in order.
pub fn table(_trace: &Trace, _options: &Options) -> Result<Table, String> {
    todo!()
}
/// The segments summed by function and state.
pub fn by_function(_trace: &Trace, _options: &Options) -> Result<Table, String> {
    todo!()
}
