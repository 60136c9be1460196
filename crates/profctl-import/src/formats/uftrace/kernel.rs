//! `kernel_header`, `kallsyms` and `kernel-cpuN.dat`: what the recorded threads called in the kernel,
//! as pages of ftrace's ring buffer.
//!
//! ```text
//! PAGE_SIZE: 4096
//! LONG_SIZE: 8
//! ENDIAN: LE
//! TRACEFS: events/header_page: 206
//! (so many bytes)
//! TRACEFS: events/ftrace/funcgraph_entry/format: 439
//! (so many bytes)
//! ```

use profctl_model::Func;
use profctl_model::hash::FastMap;

use crate::bytes::Endian;
use crate::formats::function_graph::classify;
use crate::kernel_events::format::{Common, EventFormat};
use crate::kernel_events::kallsyms::{Kallsyms, spelling};
use crate::kernel_events::record::{Decoder, Meaning};
use crate::ring_buffer::PageLayout;

/// The file that calls count as their module, unless they are in one of the kernel's own.
const KERNEL: &str = "kernel";

/// What explains the pages.
#[derive(Debug)]
pub(super) struct Kernel {
    pub(super) layout: PageLayout,
    decoders: FastMap<u64, Decoder>,
    common: Common,
    kallsyms: Kallsyms,
}

/// What a record of a page says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Said<'k> {
    Entry {
        address: u64,
    },
    Exit {
        address: u64,
    },
    /// An event of that name, which may be shown with its arguments.
    Event(&'k Decoder),
    /// No description fits.
    Unknown,
}

impl Kernel {
    /// Reads the description. Nothing if it has none of the pages.
    pub(super) fn parse(header: &[u8], kallsyms: Vec<u8>) -> Option<Self> {
        let (mut endian, mut layout) = (Endian::Little, None);
        let mut decoders = FastMap::default();
        let mut common = None;
        let mut rest = header;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let line = String::from_utf8_lossy(&rest[..end]);
            rest = &rest[end + 1..];
            let Some((key, value)) = line.split_once(": ") else { continue };
            match key {
                "ENDIAN" if value.trim() == "BE" => endian = Endian::Big,
                "TRACEFS" => {
                    let (name, length) = value.rsplit_once(": ")?;
                    let length = length.trim().parse::<usize>().ok()?.min(rest.len());
                    let text = String::from_utf8_lossy(&rest[..length]);
                    rest = &rest[length..];
                    if name == "events/header_page" {
                        layout = PageLayout::parse(&text, endian);
                        continue;
                    }
                    let system =
                        name.strip_prefix("events/").and_then(|name| name.split('/').next());
                    if let Some(format) = EventFormat::parse(system.unwrap_or_default(), &text) {
                        common.get_or_insert(format.common);
                        decoders.insert(u64::from(format.id), Decoder::new(format));
                    }
                }
                _ => {}
            }
        }
        Some(Self {
            layout: layout?,
            decoders,
            common: common.unwrap_or_default(),
            kallsyms: Kallsyms::new(kallsyms),
        })
    }

    /// The thread of a record, and what it says.
    pub(super) fn record(&self, record: &[u8]) -> Option<(u64, Said<'_>)> {
        let endian = self.layout.endian;
        let tid = self.common.pid.get(record, endian)?;
        let Some(decoder) = self.decoders.get(&self.common.kind.get(record, endian)?) else {
            return Some((tid, Said::Unknown));
        };
        let said = match &decoder.meaning {
            Meaning::GraphEntry { func, .. } => Said::Entry { address: func.get(record, endian)? },
            Meaning::GraphExit { func, .. } => Said::Exit { address: func.get(record, endian)? },
            _ => Said::Event(decoder),
        };
        Some((tid, said))
    }

    /// The function at an address.
    pub(super) fn function(&self, address: u64) -> Func {
        let Some(known) = self.kallsyms.name(address) else {
            let (name, module) = (format!("{address:#x}"), Some(KERNEL.into()));
            return Func { name, module, ..Func::default() };
        };
        let (name, module) = spelling(known);
        let func = classify::func(name);
        let module = module.map(String::from_utf8_lossy);
        Func { module: Some(module.unwrap_or(KERNEL.into()).into_owned()), ..func }
    }

    /// The name of a function for the arguments of an event.
    pub(super) fn symbol(&self, address: u64) -> Option<&str> {
        self.kallsyms.name(address).and_then(|name| std::str::from_utf8(spelling(name).0).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;
";
    const ENTRY: &str = "name: funcgraph_entry
ID: 11
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;
\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;
";

    fn header() -> Vec<u8> {
        let part = |(name, text): (&str, &str)| {
            format!("TRACEFS: {name}: {}\n{text}", text.len()).into_bytes()
        };
        let head = b"PAGE_SIZE: 4096\nLONG_SIZE: 8\nENDIAN: LE\n".to_vec();
        let parts = [("events/header_page", PAGE), ("events/ftrace/funcgraph_entry/format", ENTRY)];
        [head].into_iter().chain(parts.map(part)).flatten().collect()
    }

    #[test]
    fn records_are_read_by_the_description() {
        let kallsyms = b"ffff0000 T vfs_read\nffff0100 t ext4_read\t[ext4]\nffff0200 T end\n";
        let kernel = Kernel::parse(&header(), kallsyms.to_vec()).unwrap();
        assert_eq!(kernel.layout, PageLayout::usual(Endian::Little, 4096));
        let mut record = vec![11, 0, 0, 0, 7, 0, 0, 0];
        record.extend(0xffff_0010_u64.to_le_bytes());
        record.extend([3, 0, 0, 0]);
        assert_eq!(kernel.record(&record), Some((7, Said::Entry { address: 0xffff_0010 })));
        assert_eq!(kernel.record(&record[..12]), None);
        record[0] = 12;
        assert_eq!(kernel.record(&record), Some((7, Said::Unknown)));
        let name = |address| {
            let func = kernel.function(address);
            (func.name, func.module.unwrap())
        };
        assert_eq!(name(0xffff_0010), ("vfs_read".into(), "kernel".into()));
        assert_eq!(name(0xffff_0110), ("ext4_read".into(), "ext4".into()));
        assert_eq!(name(0x10), ("0x10".into(), "kernel".into()));
    }

    #[test]
    fn a_cut_description_is_read_up_to_the_cut() {
        let header = header();
        for cut in 0..header.len() {
            Kernel::parse(&header[..cut], Vec::new());
        }
        assert!(Kernel::parse(b"PAGE_SIZE: 4096\n", Vec::new()).is_none());
    }
}
