//! Numbers of seven bits a byte, the lowest first: LEB128, as protobuf, SystemView and others have
//! them.

/// Appends `value`.
pub(crate) fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value > 0x7f {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
