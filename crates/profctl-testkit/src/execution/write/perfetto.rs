//! Perfetto's packets: slices of threads, and the kernel's scheduler.

use super::tid;
use crate::execution::{Execution, Leaves, Record, What};
use crate::varint::varint;

/// A message in the making.
#[derive(Default)]
struct Message {
    bytes: Vec<u8>,
}

impl Message {
    fn number(mut self, field: u64, value: u64) -> Self {
        varint(field << 3, &mut self.bytes);
        varint(value, &mut self.bytes);
        self
    }

    fn with(mut self, field: u64, bytes: &[u8]) -> Self {
        varint(field << 3 | 2, &mut self.bytes);
        varint(bytes.len() as u64, &mut self.bytes);
        self.bytes.extend(bytes);
        self
    }
}

fn message() -> Message {
    Message::default()
}

/// Slices in packets, in the order of `order` (places in the records), and the scheduler's events
/// in a bundle for each CPU. Both a waking and the wakeup after it are there.
pub fn perfetto(execution: &Execution) -> Vec<u8> {
    let mut packets: Vec<Message> = Vec::new();
    for thread in 0..execution.n_threads {
        let descriptor = message().number(1, 100).number(2, tid(thread) as u64);
        let descriptor = descriptor.with(5, format!("t{thread}").as_bytes());
        let track = message().number(1, 1_000 + thread as u64).with(4, &descriptor.bytes);
        packets.push(message().number(10, 1).with(60, &track.bytes));
    }
    for record in &execution.records {
        let (kind, call) = match record.what {
            What::Enter(call) => (1, call),
            What::Exit(call) => (2, call),
            _ => continue,
        };
        let track = 1_000 + execution.calls[call].thread as u64;
        let mut event = message().number(9, kind).number(11, track);
        if kind == 1 {
            event = event.with(23, execution.name(call).as_bytes());
        }
        packets.push(message().number(8, record.time).number(10, 1).with(11, &event.bytes));
    }
    for cpu in 0..execution.n_cpus {
        let mut bundle = message().number(1, cpu as u64);
        for record in execution.records.iter().filter(|record| record.cpu == cpu) {
            for event in sched(record) {
                bundle = bundle.with(2, &event.bytes);
            }
        }
        packets.push(message().number(10, 1).with(1, &bundle.bytes));
    }
    let mut bytes = Vec::new();
    for packet in packets {
        let whole = message().with(1, &packet.bytes);
        bytes.extend(whole.bytes);
    }
    bytes
}

/// The events of the kernel that a record is.
fn sched(record: &Record) -> Vec<Message> {
    let pid = |thread: Option<usize>| thread.map_or(0, |thread| tid(thread) as u64);
    let name = |thread: Option<usize>| thread.map_or("swapper".to_owned(), |t| format!("t{t}"));
    let of = |field: u64, what: &Message, time: u64| {
        message().number(1, time).number(2, pid(record.thread)).with(field, &what.bytes)
    };
    match record.what {
        What::Switch { prev, leaves, next } => {
            let state = match (prev, leaves) {
                (None, _) | (_, Leaves::Runnable) => 0,
                (_, Leaves::Sleeping) => 1,
                (_, Leaves::Uninterruptible) => 2,
            };
            let switch = message()
                .with(1, name(prev).as_bytes())
                .number(2, pid(prev))
                .number(3, 120)
                .number(4, state)
                .with(5, name(next).as_bytes())
                .number(6, pid(next))
                .number(7, 120);
            vec![of(4, &switch, record.time)]
        }
        What::Wake(woken) => {
            let wake = message()
                .with(1, name(Some(woken)).as_bytes())
                .number(2, pid(Some(woken)))
                .number(3, 120)
                .number(4, 1)
                .number(5, record.cpu as u64);
            vec![of(20, &wake, record.time), of(17, &wake, record.time)]
        }
        _ => Vec::new(),
    }
}
