//! Traces for viewers, written as their calls come.

use profctl_render::export::Writer;

use crate::args::Global;
use crate::exit::Failure;
use crate::output;
use crate::spooled::{Ordered, Spooled, call_end};

/// Writes a trace to where the user wants the output.
pub(crate) fn write(spooled: Spooled<'_>, writer: &Writer, global: &Global) -> Result<(), Failure> {
    match *writer {
        Writer::ByThread(write) => {
            let Ordered { rows, about } = spooled.entries()?;
            let mut calls = rows.map(|entry| entry.map(|entry| entry.call));
            output::write_streamed(global, |out| write(&about.header(), &mut calls, out))
        }
        Writer::ByTime(write) => {
            let Ordered { rows, about } = spooled.ends()?;
            let mut ends = rows.map(|line| line.map(|line| call_end(&line)));
            output::write_streamed(global, |out| write(&about.header(), &mut ends, out))
        }
        Writer::ByPath { order, keeps_threads, write } => {
            let Ordered { mut rows, about } = spooled.paths(order, keeps_threads)?;
            output::write_streamed(global, |out| write(&about.header(), &mut rows, out))
        }
    }
}
