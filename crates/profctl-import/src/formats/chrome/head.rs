//! Properties of a file, from its head: the order of its events, the step of its clock.

use super::read::{Events, Position};
use crate::emit::Emitter;
use crate::formats::{Block, Reader};
use crate::json::Scanner;
use crate::sort::Order;

pub(super) struct Head {
    pub(super) order: Order,
    /// The step in which times are stated, nanoseconds.
    pub(super) step: u64,
}

/// Bytes in which the order is looked for.
const LOOKED_AT: usize = 256 << 10;

impl Head {
    pub(super) fn new(head: &[u8]) -> Self {
        let looked_at = &head[..head.len().min(LOOKED_AT)];
        // The kernel's events are behind the others.
        let has_kernel_events = memchr::memmem::find(head, b"\"systemTraceEvents\"").is_some();
        let order = if has_kernel_events { Order::Any } else { order(looked_at) };
        Self { order, step: step(looked_at) }
    }
}

/// Whether events come by time, thread by thread. An event before its predecessor is put right
/// among those that are buffered; a call that was written when it ended may be as long as the file.
fn order(head: &[u8]) -> Order {
    let mut events = Events::new(Order::Nearly);
    let mut said = Emitter::default();
    let cut = events.boundary(head);
    let cut = if cut == 0 { head.len() } else { cut };
    let state: crate::formats::State = std::sync::Arc::new(Position::default());
    let block = Block { bytes: &head[..cut], at_end: true, stream: 0, offset: 0 };
    events.read(&block, &state, &mut said);
    if said.is_in_order() { Order::Nearly } else { Order::Any }
}

/// The step of the clock: by the number of decimals after `"ts":`.
fn step(head: &[u8]) -> u64 {
    let key = b"\"ts\"";
    let decimals = memchr::memmem::find_iter(head, key).take(1_000).filter_map(|at| {
        let mut scanner = Scanner::new(head, at + key.len());
        scanner.expect(b':', "a colon").ok()?;
        let number = scanner.spelled().ok()?;
        let point = memchr::memchr(b'.', number)?;
        Some(number.len() - point - 1)
    });
    match decimals.max().unwrap_or(0) {
        0 => 1_000,
        1 => 100,
        2 => 10,
        _ => 1,
    }
}
