//! Fields and packed intervals of a file. Whatever says how long it will be when unpacked must not
//! say more than its packing can reach, nor all together more than is allowed, so that memory stays
//! bounded.

use std::borrow::Cow;
use std::io::Read;

use crate::decompress::expansion_limit;

/// What a file that cannot be read on is missing, or what is wrong with it.
pub(super) type Wrong = &'static str;

/// What is wrong with intervals that grow too much.
pub(super) const TOO_LARGE: Wrong = "packed stretches grow to more than is allowed";

/// By how much an interval may grow when unpacked: deflate reaches 1,032.
const GROWTH_MAX: u64 = 1_100;
/// What even nothing may grow to.
const GROWTH_BASE: u64 = 1 << 10;

/// Takes fields off the front of an interval.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    pub(super) rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn bytes(&mut self, n: u64) -> Result<&'a [u8], Wrong> {
        let n = usize::try_from(n).ok().filter(|&n| n <= self.rest.len());
        let (taken, rest) = self.rest.split_at(n.ok_or("a block ends early")?);
        self.rest = rest;
        Ok(taken)
    }

    pub(super) fn byte(&mut self) -> Result<u8, Wrong> {
        Ok(self.bytes(1)?[0])
    }

    /// Eight bytes, the most significant first.
    pub(super) fn long(&mut self) -> Result<u64, Wrong> {
        Ok(crate::bytes::big(self.bytes(8)?))
    }

    /// Seven bits per byte, the least significant first.
    pub(super) fn varint(&mut self) -> Result<u64, Wrong> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err("a number of more than 64 bits")
    }

    /// The same with a sign, which is the last bit there is.
    pub(super) fn signed(&mut self) -> Result<i64, Wrong> {
        let before = self.rest;
        let value = self.varint()?;
        let bits = 7 * (before.len() - self.rest.len()) as u32;
        let unused = 64_u32.saturating_sub(bits);
        Ok((value << unused) as i64 >> unused)
    }

    /// A string and the NUL after it.
    pub(super) fn string(&mut self) -> Result<&'a [u8], Wrong> {
        let end = memchr::memchr(0, self.rest).ok_or("an unterminated name")?;
        let text = self.bytes(end as u64)?;
        self.byte()?;
        Ok(text)
    }
}

/// How many bytes intervals may become when unpacked, all together.
pub(super) struct Allowance {
    left: u64,
}

impl Allowance {
    /// For intervals of `packed` bytes.
    pub(super) fn new(packed: u64, max_expansion: u64) -> Self {
        Self { left: expansion_limit(packed, max_expansion) }
    }

    fn check(&mut self, packed: &[u8], length: u64) -> Result<usize, Wrong> {
        let reach = (packed.len() as u64).saturating_mul(GROWTH_MAX).saturating_add(GROWTH_BASE);
        let Some(n) = usize::try_from(length).ok().filter(|_| length <= reach) else {
            return Err("a compressed section with an impossible length");
        };
        self.left = self.left.checked_sub(length).ok_or(TOO_LARGE)?;
        Ok(n)
    }

    /// An interval packed by zlib, unless it is as long as unpacked.
    pub(super) fn zlib_or_plain<'a>(
        &mut self,
        packed: &'a [u8],
        length: u64,
    ) -> Result<Cow<'a, [u8]>, Wrong> {
        if packed.len() as u64 == length {
            return Ok(packed.into());
        }
        self.zlib(packed, length).map(Into::into)
    }

    /// An interval packed by zlib.
    pub(super) fn zlib(&mut self, packed: &[u8], length: u64) -> Result<Vec<u8>, Wrong> {
        let length = self.check(packed, length)?;
        unpack(flate2::bufread::ZlibDecoder::new(packed), length)
    }

    /// An interval packed by gzip.
    pub(super) fn gzip(&mut self, packed: &[u8], length: u64) -> Result<Vec<u8>, Wrong> {
        let length = self.check(packed, length)?;
        unpack(flate2::bufread::GzDecoder::new(packed), length)
    }

    /// An interval packed by LZ4, without frames.
    pub(super) fn lz4(&mut self, packed: &[u8], length: u64) -> Result<Vec<u8>, Wrong> {
        let length = self.check(packed, length)?;
        match lz4_flex::block::decompress(packed, length) {
            Ok(bytes) if bytes.len() == length => Ok(bytes),
            Ok(_) | Err(_) => Err("a compressed section that cannot be decompressed"),
        }
    }

    /// An interval packed by `FastLZ`, which writers used before they had LZ4.
    pub(super) fn fastlz(&mut self, packed: &[u8], length: u64) -> Result<Vec<u8>, Wrong> {
        let length = self.check(packed, length)?;
        fastlz(packed, length)
    }
}

fn unpack(reader: impl Read, length: usize) -> Result<Vec<u8>, Wrong> {
    let mut bytes = Vec::new();
    let read = reader.take(length as u64).read_to_end(&mut bytes);
    match read {
        Ok(n) if n == length => Ok(bytes),
        Ok(_) | Err(_) => Err("a compressed section that cannot be decompressed"),
    }
}

fn fastlz(packed: &[u8], length: usize) -> Result<Vec<u8>, Wrong> {
    let mut from = Fields { rest: packed };
    let mut out: Vec<u8> = Vec::with_capacity(length);
    let mut token = from.byte()?;
    let is_second_level = token >> 5 == 1;
    token &= 0x1f;
    while out.len() < length {
        if token < 0x20 {
            out.extend_from_slice(from.bytes(u64::from(token) + 1)?);
        } else {
            let mut n = usize::from(token >> 5) + 2;
            let mut back = usize::from(token & 0x1f) << 8;
            if n == 9 {
                loop {
                    let more = from.byte()?;
                    n += usize::from(more);
                    if !is_second_level || more != 0xff {
                        break;
                    }
                }
            }
            let low = usize::from(from.byte()?);
            back += low;
            if is_second_level && back == 0x1fff {
                back += usize::from(from.byte()?) << 8;
                back += usize::from(from.byte()?);
            }
            let start = out.len().checked_sub(back + 1).ok_or("a copy from before the start")?;
            for at in start..start + n {
                out.push(out[at]);
            }
        }
        if out.len() < length {
            token = from.byte()?;
        }
    }
    if out.len() == length {
        Ok(out)
    } else {
        Err("a compressed section that is longer than \
                                                   stated")
    }
}
