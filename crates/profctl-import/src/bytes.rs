//! Integers of one to eight bytes in either byte order, read without a cast: records of real
//! recorders are packed, so nothing in them is aligned.

/// Which byte of an integer comes first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Endian {
    /// The least significant one.
    #[default]
    Little,
    /// The most significant one.
    Big,
}

/// The integer that `bytes` spell, least significant byte first. Bytes past the eighth do not
/// count.
#[inline]
pub fn little(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    let n = bytes.len().min(8);
    word[..n].copy_from_slice(&bytes[..n]);
    u64::from_le_bytes(word)
}

/// The integer that `bytes` spell, most significant byte first. Bytes past the eighth do not
/// count.
#[inline]
pub fn big(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    let n = bytes.len().min(8);
    word[8 - n..].copy_from_slice(&bytes[..n]);
    u64::from_be_bytes(word)
}

/// The integer of `width` bytes at `offset`, or nothing if `bytes` end before it does.
#[inline]
pub fn integer(bytes: &[u8], offset: usize, width: usize, endian: Endian) -> Option<u64> {
    let field = bytes.get(offset..offset.checked_add(width)?)?;
    Some(match endian {
        Endian::Little => little(field),
        Endian::Big => big(field),
    })
}

/// A number whose lowest `bits` bits are set; all of them for 64 and above.
#[inline]
pub fn low_bits(bits: u32) -> u64 {
    1_u64.checked_shl(bits).map_or(u64::MAX, |next| next - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_in_both_orders() {
        let bytes = [0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88];
        assert_eq!(little(&bytes[..1]), 0x11);
        assert_eq!(little(&bytes[..3]), 0x33_2211);
        assert_eq!(little(&bytes), 0x8877_6655_4433_2211);
        assert_eq!(big(&bytes[..1]), 0x11);
        assert_eq!(big(&bytes[..3]), 0x11_2233);
        assert_eq!(big(&bytes), 0x1122_3344_5566_7788);
        assert_eq!((little(&[]), big(&[])), (0, 0));
    }

    #[test]
    fn an_integer_past_the_end_is_none() {
        let bytes = [1, 2, 3];
        assert_eq!(integer(&bytes, 1, 2, Endian::Little), Some(0x0302));
        assert_eq!(integer(&bytes, 1, 2, Endian::Big), Some(0x0203));
        assert_eq!(integer(&bytes, 2, 2, Endian::Big), None);
        assert_eq!(integer(&bytes, usize::MAX, 2, Endian::Big), None);
    }

    #[test]
    fn masks() {
        assert_eq!(low_bits(1), 1);
        assert_eq!(low_bits(24), 0xff_ffff);
        assert_eq!(low_bits(64), u64::MAX);
    }
}
