//! x
use profctl_model::{Table, Ticks, Trace};
/// What of a trace to show.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Only the calls of this function and what is below them.
    pub around: Option<String>,
    /// Only the slowest call of this function and what is below it.
    pub slowest: Option<String>,
    /// How many levels at most.
    pub depth: Option<u32>,
    /// Calls whose net exceeds this are marked.
    pub highlight: Option<Ticks>,
}
/// Table.
pub fn table(_trace: &Trace, _options: &Options) -> Result<Table, String> {
    todo!()
}
