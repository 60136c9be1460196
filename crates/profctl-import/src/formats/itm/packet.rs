//! Packets of ITM and DWT.

use crate::bytes::little;

/// Bytes of zero bits in a synchronization packet before the byte with its one.
const ZEROS: usize = 5;

/// A packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Packet {
    /// At least 47 zero bits and a one.
    Synchronized,
    /// Packets were dropped.
    Overflow,
    /// A local timestamp: what passed since the last one. Whether it, or what it is for, waited.
    Time { delta: u32, waited: bool },
    /// A write to a stimulus port.
    Write { port: u32, value: u32 },
    /// An exception: its number and what became of it.
    Exception { number: u32, action: Action },
    /// Anything else that is well formed.
    Other,
    /// A byte that begins no packet.
    Reserved(u8),
    /// The stream ends within a packet.
    Cut,
}

/// What became of an exception.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Action {
    Entered,
    Exited,
    /// Execution is back in it, or in the thread if its number is 0.
    Returned,
}

/// Tells packets apart.
#[derive(Default)]
pub(super) struct Packets {
    /// What the page register adds to the number of a port.
    page: u32,
}

/// Whether a stream begins with a synchronization packet and goes on after it.
pub(super) fn is_synchronized(bytes: &[u8]) -> bool {
    let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
    zeros >= ZEROS && bytes.get(zeros) == Some(&0x80) && bytes.len() > zeros + 1
}

impl Packets {
    /// The packet at the start of `rest`, which is not empty, and how long it is.
    pub(super) fn packet(&mut self, rest: &[u8]) -> (Packet, usize) {
        let head = rest[0];
        let cut = (Packet::Cut, rest.len());
        match head {
            0 => {
                let zeros = rest.iter().take_while(|&&byte| byte == 0).count();
                match rest.get(zeros) {
                    None => cut,
                    Some(0x80) if zeros >= ZEROS => (Packet::Synchronized, zeros + 1),
                    Some(_) => (Packet::Reserved(0), zeros),
                }
            }
            0x70 => (Packet::Overflow, 1),
            // Short timestamps, which carry their value in the header.
            0x10 | 0x20 | 0x30 | 0x40 | 0x50 | 0x60 => {
                (Packet::Time { delta: u32::from(head >> 4), waited: false }, 1)
            }
            0xc0 | 0xd0 | 0xe0 | 0xf0 => match continued(&rest[1..], 4) {
                Some((delta, length)) => {
                    (Packet::Time { delta, waited: head & 0x30 != 0 }, 1 + length)
                }
                None => cut,
            },
            // Global timestamps: low bits, then high bits.
            0x94 => continued(&rest[1..], 4).map_or(cut, |(_, length)| (Packet::Other, 1 + length)),
            0xb4 => continued(&rest[1..], 6).map_or(cut, |(_, length)| (Packet::Other, 1 + length)),
            _ if head & 3 != 0 => self.source(head, &rest[1..]).unwrap_or(cut),
            // Extensions. The one that is known sets the page of the stimulus ports.
            _ if head & 0x0b == 0x08 => {
                if head & 0x04 == 0 && head & 0x80 == 0 {
                    self.page = u32::from(head >> 4 & 7) * 32;
                }
                let length = if head & 0x80 == 0 { Some((0, 0)) } else { continued(&rest[1..], 4) };
                length.map_or(cut, |(_, length)| (Packet::Other, 1 + length))
            }
            other => (Packet::Reserved(other), 1),
        }
    }

    /// A packet of one, two or four bytes of payload.
    fn source(&self, head: u8, rest: &[u8]) -> Option<(Packet, usize)> {
        let width = 1 << ((head & 3) - 1);
        let value = little(rest.get(..width)?) as u32;
        let number = u32::from(head >> 3);
        let packet = match (head & 4 == 0, number, width) {
            (true, ..) => Packet::Write { port: self.page + number, value },
            (false, 1, 2) => {
                let action = match value >> 12 & 3 {
                    1 => Action::Entered,
                    2 => Action::Exited,
                    3 => Action::Returned,
                    _ => return Some((Packet::Reserved(head), 1 + width)),
                };
                Packet::Exception { number: value & 0x1ff, action }
            }
            (false, ..) => Packet::Other,
        };
        Some((packet, 1 + width))
    }
}

/// A number of seven bits per byte, the least significant first, in at most `bytes_max` bytes; the
/// highest bit of a byte says that another follows.
fn continued(rest: &[u8], bytes_max: usize) -> Option<(u32, usize)> {
    let mut value = 0_u64;
    for (at, &byte) in rest.iter().enumerate().take(bytes_max) {
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 || at + 1 == bytes_max {
            return Some((value as u32, at + 1));
        }
    }
    None
}
