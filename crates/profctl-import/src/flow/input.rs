//! The reader of every log of instructions, line by line.

use std::sync::Arc;

use profctl_model::TickUnit;

use super::{FOREIGN_LINE, Flow};
use crate::emit::Emitter;
use crate::importer::{ImportError, Opened, recorded};
use crate::in_turn::{InTurn, Input};
use crate::options::ImportOptions;
use crate::symbols::Symbols;
use crate::text;

/// What a line was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Said {
    /// An executed interval.
    Step,
    /// Something that belongs to the log.
    Other,
    /// Nothing of this log.
    Foreign,
    /// An attempt at a record; what was expected.
    Bad(&'static str),
}

/// How the lines of one log look, with what it must remember of them.
pub(crate) trait InstructionLog: Clone + Send + Sync + 'static {
    /// Takes one whole line, which begins at `offset` of its block.
    fn line(&mut self, line: &[u8], offset: usize, flow: &mut Flow, out: &mut Emitter) -> Said;
}

/// A log of which every line is read by `source`.
pub(crate) fn opened(
    unit: TickUnit,
    source: impl InstructionLog,
    facts: Vec<(&'static str, String)>,
) -> Opened {
    Opened::in_turn(recorded(unit), Box::new(Lines(source))).with_lines().with_facts(facts)
}

/// The functions of a `--symbols` file, if one was given.
pub(crate) fn symbols(options: &ImportOptions) -> Result<Option<Arc<Symbols>>, ImportError> {
    let Some(bytes) = &options.symbols else { return Ok(None) };
    let wrong = |message| ImportError::whole(format!("the symbol file holds {message}"));
    let symbols = Symbols::read(bytes, options.no_demangle).map_err(wrong)?;
    Ok(Some(Arc::new(symbols)))
}

struct Lines<S>(S);

impl<S: InstructionLog> InTurn for Lines<S> {
    fn fork(&self) -> Box<dyn InTurn> {
        Box::new(Self(self.0.clone()))
    }

    fn read(&mut self, input: &mut Input<'_>, out: &mut Emitter) {
        let mut flow = Flow::default();
        while let Some(line) = input.line() {
            out.lines += 1;
            if !line.ended {
                // A name that was cut short would be another function.
                out.records += 1;
                out.cut(&line);
                continue;
            }
            match self.0.line(line.text, line.offset, &mut flow, out) {
                Said::Step => out.records += 1,
                Said::Other => {}
                Said::Foreign if line.text.trim_ascii().is_empty() => {}
                Said::Foreign => {
                    out.diag(&FOREIGN_LINE, line.offset, || {
                        format!("skipped `{}`", text::excerpt(line.text))
                    });
                }
                Said::Bad(expected) => {
                    out.records += 1;
                    out.refuse(&line, expected);
                }
            }
            input.hand_on(out);
        }
        flow.finish(input.offset(), out);
    }
}
