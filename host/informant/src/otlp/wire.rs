//! Protobuf's wire format, as far as spans need it: fields of bytes with their length in front. A span is
//! encoded once and copied as bytes from then on, because a busy host makes thousands of spans in a second.

/// The type of a field with its length in front.
const BYTES: u32 = 2;

/// Appends a number in seven bits a byte.
pub(super) fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// The bytes of such a number.
pub(super) fn varint_len(number: u64) -> usize {
    (u64::BITS - (number | 1).leading_zeros()).div_ceil(7) as usize
}

/// Appends the head of a field of another type.
pub(super) fn put_key(out: &mut Vec<u8>, field: u32, kind: u32) {
    put_varint(out, u64::from(field << 3 | kind));
}

/// Appends the head of a field of so many bytes, which follow.
pub(super) fn put_head(out: &mut Vec<u8>, field: u32, len: usize) {
    put_key(out, field, BYTES);
    put_varint(out, len as u64);
}

/// Appends a field of these bytes.
pub(super) fn put_bytes(out: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    put_head(out, field, bytes.len());
    out.extend_from_slice(bytes);
}

/// The bytes of such a field with its head, for a field below 16.
pub(super) fn field_len(len: usize) -> usize {
    1 + varint_len(len as u64) + len
}
