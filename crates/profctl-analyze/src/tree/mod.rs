//! x
use profctl_model::{CallTree, Names, Table, Trace, TraceMeta};
/// What of a tree to show.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Options {
    /// How many levels at most.
    pub depth: Option<u32>,
    /// Rows below this share of the total are left out, in percent.
    pub min_share: f64,
    /// Show who calls this function instead.
    pub callers: Option<String>,
    /// Show only what is below this function.
    pub callees: Option<String>,
}
/// Build.
pub fn build(_trace: &Trace) -> CallTree {
    todo!()
}
/// Table.
pub fn table(
    _tree: &CallTree,
    _names: &Names,
    _meta: &TraceMeta,
    _options: &Options,
) -> Result<Table, String> {
    todo!()
}
