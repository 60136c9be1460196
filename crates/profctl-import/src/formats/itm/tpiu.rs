//! Frames of a trace port: 16 bytes that interleave several streams. Only that of the ITM is kept.

/// Bytes of a frame.
const FRAME: usize = 16;
/// Between frames, so that a receiver finds where they begin.
const FULL_SYNC: [u8; 4] = [0xff, 0xff, 0xff, 0x7f];
/// Within a frame, when there is nothing to send.
const HALF_SYNC: [u8; 2] = [0xff, 0x7f];
/// The id that everybody gives the ITM.
const ITM: u8 = 1;

/// Whether a capture begins with the synchronisation of a trace port.
pub(super) fn is_framed(head: &[u8]) -> bool {
    head.starts_with(&FULL_SYNC)
}

/// The bytes of the ITM in `capture`. Half a frame at the end is left out.
pub(super) fn unframe(capture: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(capture.len());
    let mut frame = [0; FRAME];
    let (mut filled, mut id, mut at) = (0, 0, 0);
    while let Some(pair) = capture.get(at..at + 2) {
        if capture[at..].starts_with(&FULL_SYNC) {
            // What was begun is not the beginning of this frame.
            (filled, at) = (0, at + FULL_SYNC.len());
            continue;
        }
        at += 2;
        if pair == HALF_SYNC {
            continue;
        }
        frame[filled..filled + 2].copy_from_slice(pair);
        filled += 2;
        if filled == FRAME {
            filled = 0;
            take(&frame, &mut id, &mut bytes);
        }
    }
    bytes
}

/// Takes the bytes of one frame. Every even byte is either a new id or data whose lowest bit stands
/// in the last byte; for an id, that bit says whether it holds only after the byte that follows.
fn take(frame: &[u8; FRAME], id: &mut u8, bytes: &mut Vec<u8>) {
    let last = frame[FRAME - 1];
    for pair in 0..FRAME / 2 {
        let (even, odd) = (frame[2 * pair], frame[2 * pair + 1]);
        let bit = last >> pair & 1;
        let mut next = *id;
        if even & 1 == 1 {
            next = even >> 1;
            if bit == 0 {
                *id = next;
            }
        } else if *id == ITM {
            bytes.push(even | bit);
        }
        if 2 * pair + 1 < FRAME - 1 && *id == ITM {
            bytes.push(odd);
        }
        *id = next;
    }
}
