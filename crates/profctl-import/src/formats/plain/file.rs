//! A trace of any format as a file of the plain one, while it is read.

use std::io::{self, Write};

use profctl_model::Func;
use profctl_model::hash::FastMap;

use super::write::{self, Said};
use crate::emit::{BlockEvents, LaneKey};
use crate::stitch::Setup;
use crate::tap::Tap;

pub(crate) struct PlainFile<'o> {
    out: &'o mut (dyn Write + Send),
    text: String,
    diags: FastMap<&'static str, u64>,
    result: io::Result<()>,
}

impl<'o> PlainFile<'o> {
    pub(crate) fn new(out: &'o mut (dyn Write + Send)) -> Self {
        Self { out, text: String::new(), diags: FastMap::default(), result: Ok(()) }
    }

    fn flush(&mut self) {
        if self.result.is_ok() {
            self.result = self.out.write_all(self.text.as_bytes());
        }
        self.text.clear();
    }

    /// Writes what is left; the first error of writing.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        write::diags(&self.diags, &mut self.text);
        self.flush();
        self.result
    }
}

impl Tap for PlainFile<'_> {
    fn start(&mut self, setup: &Setup) {
        self.text = write::header(&setup.timebase, setup.counter_bits, &setup.quirks);
    }

    fn take(&mut self, block: &BlockEvents, names: &[Func], lanes: &[LaneKey]) {
        write::count(block, &mut self.diags);
        Said { names, lanes }.write(block.said(), &block.totals, &mut self.text);
        self.flush();
    }
}
