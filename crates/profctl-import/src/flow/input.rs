//! The reader of every log of instructions: lines in order, with what is open carried from block to
//! block.

use std::marker::PhantomData;
use std::sync::Arc;

use profctl_model::diag::codes::{CUT_RECORD, SKIPPED_RECORD};

use super::{FOREIGN_LINE, Flow};
use crate::emit::Emitter;
use crate::importer::{Block, ImportError, Reader, State};
use crate::options::ImportOptions;
use crate::symbols::Symbols;
use crate::text;

/// What a line was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Said {
    /// An executed stretch.
    Step,
    /// Something that belongs to the log.
    Other,
    /// Nothing of this log.
    Foreign,
    /// An attempt at a record; what was expected.
    Bad(&'static str),
}

/// How the lines of one log look, with what it must remember of them.
pub(crate) trait Source: Clone + Send + Sync + 'static {
    /// Takes one whole line, which begins at `offset` of its block.
    fn line(&mut self, line: &[u8], offset: usize, flow: &mut Flow, out: &mut Emitter) -> Said;
}

/// The state between two blocks.
pub(crate) struct Carried<S> {
    pub(crate) source: S,
    pub(crate) flow: Flow,
}

impl<S: Source> Carried<S> {
    /// The state before the first line.
    pub(crate) fn start(source: S) -> State {
        Arc::new(Self { source, flow: Flow::default() })
    }
}

/// The functions of a `--symbols` file, if one was given.
pub(crate) fn symbols(options: &ImportOptions) -> Result<Option<Arc<Symbols>>, ImportError> {
    let Some(bytes) = &options.symbols else { return Ok(None) };
    let wrong = |message| ImportError::whole(format!("the symbol file holds {message}"));
    let symbols = Symbols::read(bytes, options.no_demangle).map_err(wrong)?;
    Ok(Some(Arc::new(symbols)))
}

/// See the module.
pub(crate) struct Lines<S>(PhantomData<fn() -> S>);

impl<S> Default for Lines<S> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<S: Source> Reader for Lines<S> {
    fn fork(&self) -> Box<dyn Reader> {
        Box::new(Self::default())
    }

    fn boundary(&self, bytes: &[u8]) -> usize {
        text::last_line_boundary(bytes)
    }

    fn read(&mut self, block: &Block<'_>, state: &State, out: &mut Emitter) -> Option<State> {
        let &Block { bytes: block, at_end, .. } = block;
        let carried = state.downcast_ref::<Carried<S>>();
        let carried = carried.expect("the state of a reader is what it returned");
        let (mut source, mut flow) = (carried.source.clone(), carried.flow.clone());
        for line in text::lines(block) {
            out.lines += 1;
            let show = || text::excerpt(line.text);
            if !line.ended {
                // A name that was cut short would be another function.
                out.records += 1;
                out.diag(&CUT_RECORD, line.offset, || {
                    format!("the last line stops at `{}`", show())
                });
                continue;
            }
            match source.line(line.text, line.offset, &mut flow, out) {
                Said::Step => out.records += 1,
                Said::Other => {}
                Said::Foreign if line.text.trim_ascii().is_empty() => {}
                Said::Foreign => {
                    out.diag(&FOREIGN_LINE, line.offset, || format!("passed over `{}`", show()));
                }
                Said::Bad(expected) => {
                    out.records += 1;
                    out.diag(&SKIPPED_RECORD, line.offset, || {
                        format!("found `{}`, expected {expected}", show())
                    });
                }
            }
        }
        if at_end {
            flow.finish(block.len(), out);
        }
        Some(Arc::new(Carried { source, flow }))
    }
}
