//! Bytes by the word: what [`super::fast`] and [`super::columns`] ask of many bytes at once.
//!
//! Loops over single bytes end unpredictably, and the misprediction costs more than everything else
//! on a line. A bit for each byte, and a count of the zeros below it, need no loop.

use wide::u8x16;

/// The `N` bytes at `at`, if there are as many.
#[inline]
pub(in crate::formats) fn chunk<const N: usize>(bytes: &[u8], at: usize) -> Option<&[u8; N]> {
    bytes.get(at..)?.first_chunk()
}

/// The eight bytes at `at`, the first one lowest.
#[inline]
pub(in crate::formats) fn word<const N: usize>(bytes: &[u8; N], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// A bit for each of up to 64 bytes that is `wanted`; the first byte's is the lowest.
#[inline]
pub(super) fn equal<const N: usize>(bytes: &[u8; N], wanted: u8) -> u64 {
    let (parts, _) = bytes.as_chunks::<16>();
    parts.iter().enumerate().fold(0, |bits, (n, part)| {
        let are_same = u8x16::new(*part).simd_eq(u8x16::splat(wanted));
        bits | u64::from(are_same.to_bitmask()) << (16 * n)
    })
}

/// Where `wanted` is first among `bytes`; the last place if it is not among them.
#[inline]
pub(super) fn first_of(bytes: &[u8; 16], wanted: u8) -> usize {
    let bits = u8x16::new(*bytes).simd_eq(u8x16::splat(wanted)).to_bitmask();
    (bits | 1 << 15).trailing_zeros() as usize
}

/// A bit for each byte that is what it should be: a digit where `digits` has a bit, else the same
/// as in `fixed`.
#[inline]
pub(super) fn fitting(bytes: &[u8; 16], fixed: &[u8; 16], digits: u32) -> u32 {
    let bytes = u8x16::new(*bytes);
    let are_same = bytes.simd_eq(u8x16::new(*fixed)).to_bitmask();
    let value = bytes - u8x16::splat(b'0');
    let are_digits = value.min(u8x16::splat(9)).simd_eq(value).to_bitmask();
    are_same & !digits | are_digits & digits
}

/// Whether two are the same. Said word by word: as arrays they would be stored, and loaded again
/// sixteen bytes at a time before the stores are through.
#[inline]
pub(in crate::formats) fn same<const N: usize>(one: &[u64; N], other: &[u64; N]) -> bool {
    (0..N).fold(0, |bits, n| bits | (one[n] ^ other[n])) == 0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn there_is_a_bit_for_each_byte(
            bytes in prop::collection::vec(prop_oneof![Just(b'('), any::<u8>()], 64),
            other in any::<u8>(),
        ) {
            let of = |wanted: u8| -> u64 {
                (0..64).map(|at: usize| u64::from(bytes[at] == wanted) << at).sum()
            };
            let all: &[u8; 64] = bytes[..].try_into().unwrap();
            prop_assert_eq!(equal(all, b'('), of(b'('));
            prop_assert_eq!(equal(all, other), of(other));
            let half = all.first_chunk::<32>().unwrap();
            prop_assert_eq!(equal(half, b'('), of(b'(') & u64::from(u32::MAX));
        }

        #[test]
        fn bytes_fit_by_their_value_or_by_being_digits(
            bytes in prop::array::uniform16(prop_oneof![Just(b'.'), b'/'..=b':', any::<u8>()]),
            fixed in prop::array::uniform16(prop_oneof![Just(b'.'), any::<u8>()]),
            digits in 0..=u32::from(u16::MAX),
        ) {
            let fits = |at: usize| match digits >> at & 1 {
                1 => bytes[at].is_ascii_digit(),
                _ => bytes[at] == fixed[at],
            };
            let expected: u32 = (0..16).map(|at| u32::from(fits(at)) << at).sum();
            prop_assert_eq!(fitting(&bytes, &fixed, digits), expected);
            let point = bytes.iter().position(|&byte| byte == b'.').unwrap_or(15);
            prop_assert_eq!(first_of(&bytes, b'.'), point);
        }
    }
}
