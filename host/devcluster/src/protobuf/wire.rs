//! The wire format of protobuf: tags, varints and lengths.

use super::ProtobufError;

/// One field's value in the wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire<'a> {
    /// A varint.
    Number(u64),
    /// Eight bytes.
    Fixed64(u64),
    /// Four bytes, which no Kubernetes type uses.
    Fixed32(u32),
    /// Text, bytes or a message.
    Bytes(&'a [u8]),
}

/// Reads the fields of a message, one after the other.
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Creates a reader of this message.
    pub fn new(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    /// Returns the next field's number and value, or `None` at the end.
    pub fn field(&mut self) -> Result<Option<(u32, Wire<'a>)>, ProtobufError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let number = u32::try_from(tag >> 3)
            .map_err(|_| ProtobufError::Damaged("a field's number is too large"))?;
        let wire = match tag & 7 {
            0 => Wire::Number(self.varint()?),
            1 => Wire::Fixed64(u64::from_le_bytes(self.array()?)),
            2 => {
                let length = self.varint()?;
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                Wire::Bytes(self.take(length)?)
            }
            5 => Wire::Fixed32(u32::from_le_bytes(self.array()?)),
            _ => return Err(ProtobufError::Damaged("a field has an unknown wire type")),
        };
        Ok(Some((number, wire)))
    }

    fn varint(&mut self) -> Result<u64, ProtobufError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(ProtobufError::Damaged("a number is longer than ten bytes"))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ProtobufError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], ProtobufError> {
        let (taken, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or(ProtobufError::Damaged("it ends too early"))?;
        self.rest = rest;
        Ok(taken)
    }
}
