//! The events of a recording, from its first pages: whether functions are the calls, or system
//! calls and interrupts are.

use super::data::Data;
use super::input::{Chunks, Compression};
use super::read::{CHUNK_HEADER, chunk_sizes};
use crate::kernel_events::Scope;
use crate::kernel_events::record::{Decoder, Meaning};
use crate::ring_buffer::{self, PageLayout};

/// Pages of each CPU that are looked at. Not more, because it is done before anything is read.
const PAGES: usize = 64;

pub(super) fn survey(
    data: &[Data],
    layout: &PageLayout,
    compression: Compression,
    decoders: &[Option<Decoder>],
) -> Scope {
    let mut scope = Scope::default();
    let mut chunks = Chunks::new(compression);
    let mut pages = Vec::new();
    for data in data {
        let size = usize::try_from(data.range.end - data.range.start).unwrap_or(usize::MAX);
        let Ok(bytes) = data.source.bytes_at(data.range.start, size.min(PAGES * layout.size))
        else {
            continue;
        };
        if compression == Compression::None {
            look(&bytes, layout, decoders, &mut scope);
            continue;
        }
        let mut at = 0;
        let mut seen = 0;
        while let Some((size, length)) = chunk_sizes(&bytes[at..], layout.endian)
            && seen < PAGES * layout.size
            && at + size <= bytes.len()
            && chunks.decompress(&bytes[at + CHUNK_HEADER..at + size], length, &mut pages).is_ok()
        {
            look(&pages, layout, decoders, &mut scope);
            at += size;
            seen += length.max(1);
        }
    }
    scope
}

fn look(bytes: &[u8], layout: &PageLayout, decoders: &[Option<Decoder>], scope: &mut Scope) {
    for bytes in bytes.chunks_exact(layout.size).take(PAGES) {
        let Some(mut page) = ring_buffer::page(bytes, layout) else { continue };
        while let Ok(Some(record)) = page.records.next_record() {
            let kind = crate::bytes::integer(record.data, 0, 2, layout.endian).unwrap_or(0);
            let Some(Some(decoder)) = decoders.get(kind as usize) else { continue };
            match decoder.meaning {
                Meaning::GraphEntry { .. } | Meaning::GraphExit { .. } => scope.has_graph = true,
                Meaning::RawSyscall(..) => scope.has_raw_syscalls = true,
                _ => {}
            }
        }
    }
}
