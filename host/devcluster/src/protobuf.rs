//! Converts Kubernetes' protobuf to JSON: kubectl and other Go programs send built-in types in this form.
//!
//! Answers are always JSON, which those clients also accept. The field numbers come from `schema.txt`, which
//! `schema.py` generates from the Go types. Custom resources have no protobuf form.

pub mod schema;
mod wire;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value};

use schema::{Field, FieldKind, Message, schema};
use wire::{Reader, Wire};

/// The media type.
pub const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// The first bytes of every body.
const MAGIC: &[u8] = b"k8s\0";

/// Messages nested deeper than this are refused. No Kubernetes type is nested so deeply.
const DEPTH_MAX: usize = 48;

/// Why the body cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtobufError {
    /// The first four bytes are not those of Kubernetes' protobuf.
    #[error("protobuf body does not begin with the bytes k8s\\0")]
    NoMagic,
    /// Lengths or tags are invalid.
    #[error("protobuf body is damaged: {0}")]
    Damaged(&'static str),
    /// There is no message for the kind.
    #[error("protobuf body is a {0}, which is only served as JSON")]
    UnknownKind(String),
}

/// Decodes a body: the envelope `runtime.Unknown`, then the object in it.
pub fn decode(body: &[u8]) -> Result<Value, ProtobufError> {
    let body = body.strip_prefix(MAGIC).ok_or(ProtobufError::NoMagic)?;
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    let mut envelope = Reader::new(body);
    while let Some((number, wire)) = envelope.field()? {
        match (number, wire) {
            (1, Wire::Bytes(type_meta)) => {
                let mut type_meta = Reader::new(type_meta);
                while let Some((number, wire)) = type_meta.field()? {
                    match (number, wire) {
                        (1, Wire::Bytes(text)) => api_version = utf8(text)?,
                        (2, Wire::Bytes(text)) => kind = utf8(text)?,
                        _ => {}
                    }
                }
            }
            (2, Wire::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let message = schema()
        .of_kind(&api_version, &kind)
        .ok_or_else(|| ProtobufError::UnknownKind(format!("{api_version} {kind}")))?;
    let mut object = Map::new();
    object.insert("kind".to_owned(), kind.into());
    object.insert("apiVersion".to_owned(), api_version.into());
    read_message(raw, message, &mut object, DEPTH_MAX)?;
    Ok(Value::Object(object))
}

fn read_message(
    bytes: &[u8],
    message: &Message,
    object: &mut Map<String, Value>,
    depth: usize,
) -> Result<(), ProtobufError> {
    let depth = depth.checked_sub(1).ok_or(ProtobufError::Damaged("it is nested too deeply"))?;
    let mut reader = Reader::new(bytes);
    while let Some((number, wire)) = reader.field()? {
        // A field from a newer Kubernetes is omitted, as in Go.
        let Some(field) = message.field(number) else { continue };
        if field.inline {
            if let (FieldKind::Message(name), Wire::Bytes(bytes)) = (&field.kind, wire) {
                read_message(bytes, schema().message(name), object, depth)?;
            }
        } else if field.map {
            let (key, value) = read_entry(field, wire, depth)?;
            let entries = object.entry(&*field.name).or_insert_with(|| Map::new().into());
            entries[key] = value;
        } else {
            let value = read_value(&field.kind, wire, depth)?;
            if field.repeated {
                let items = object.entry(&*field.name).or_insert_with(|| Value::Array(Vec::new()));
                items.as_array_mut().expect("a repeated field is only ever a list").push(value);
            } else if field.pointer || !is_zero(&value) {
                object.insert(field.name.clone(), value);
            }
        }
    }
    Ok(())
}

/// Reads one entry of a map: field 1 is the key, field 2 the value.
fn read_entry(
    field: &Field,
    wire: Wire<'_>,
    depth: usize,
) -> Result<(String, Value), ProtobufError> {
    let Wire::Bytes(bytes) = wire else {
        return Err(ProtobufError::Damaged("an entry of a map is no message"));
    };
    let (mut key, mut value) = (String::new(), None);
    let mut reader = Reader::new(bytes);
    while let Some((number, wire)) = reader.field()? {
        match (number, wire) {
            (1, Wire::Bytes(text)) => key = utf8(text)?,
            (2, wire) => value = Some(read_value(&field.kind, wire, depth)?),
            _ => {}
        }
    }
    Ok((key, value.unwrap_or_else(|| "".into())))
}

fn read_value(kind: &FieldKind, wire: Wire<'_>, depth: usize) -> Result<Value, ProtobufError> {
    Ok(match (kind, wire) {
        (FieldKind::String, Wire::Bytes(bytes)) => utf8(bytes)?.into(),
        (FieldKind::Bytes, Wire::Bytes(bytes)) => STANDARD.encode(bytes).into(),
        (FieldKind::Bool, Wire::Number(number)) => (number != 0).into(),
        // Negative numbers are encoded as 64 bits of two's complement.
        (FieldKind::Integer, Wire::Number(number)) => number.cast_signed().into(),
        (FieldKind::Double, Wire::Fixed64(bits)) => f64::from_bits(bits).into(),
        (FieldKind::Message(name), Wire::Bytes(bytes)) => {
            let mut object = Map::new();
            read_message(bytes, schema().message(name), &mut object, depth)?;
            object.into()
        }
        (FieldKind::Raw, Wire::Bytes(bytes)) => {
            let json = first_bytes(bytes)?;
            serde_json::from_slice(json).unwrap_or_default()
        }
        (FieldKind::Quantity, Wire::Bytes(bytes)) => utf8(first_bytes(bytes)?)?.into(),
        (FieldKind::Time, Wire::Bytes(bytes)) => time(bytes, "%Y-%m-%dT%H:%M:%SZ")?,
        (FieldKind::MicroTime, Wire::Bytes(bytes)) => time(bytes, "%Y-%m-%dT%H:%M:%S.%6fZ")?,
        (FieldKind::Duration, Wire::Bytes(bytes)) => {
            let nanoseconds = numbers(bytes)?[1].cast_signed();
            format!("{}s", nanoseconds as f64 / 1e9).into()
        }
        (FieldKind::IntOrString, Wire::Bytes(bytes)) => int_or_string(bytes)?,
        (FieldKind::StringList, Wire::Bytes(bytes)) => {
            let mut items = Vec::new();
            let mut reader = Reader::new(bytes);
            while let Some((_, wire)) = reader.field()? {
                if let Wire::Bytes(text) = wire {
                    items.push(utf8(text)?.into());
                }
            }
            Value::Array(items)
        }
        _ => return Err(ProtobufError::Damaged("a field has another wire type than its own")),
    })
}

/// Whether the value is the zero value of a field that is not a pointer. Go writes all of these.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

fn utf8(bytes: &[u8]) -> Result<String, ProtobufError> {
    let text =
        std::str::from_utf8(bytes).map_err(|_| ProtobufError::Damaged("a text is not UTF-8"))?;
    Ok(text.to_owned())
}

/// The bytes in field 1, of messages without other fields.
fn first_bytes(bytes: &[u8]) -> Result<&[u8], ProtobufError> {
    match Reader::new(bytes).field()? {
        Some((1, Wire::Bytes(bytes))) => Ok(bytes),
        _ => Ok(&[]),
    }
}

/// The numbers in fields 1 and 2, at the index of the field.
fn numbers(bytes: &[u8]) -> Result<[u64; 3], ProtobufError> {
    let mut numbers = [0; 3];
    let mut reader = Reader::new(bytes);
    while let Some((number, wire)) = reader.field()? {
        if let (1 | 2, Wire::Number(value)) = (number, wire) {
            numbers[number as usize] = value;
        }
    }
    Ok(numbers)
}

fn time(bytes: &[u8], format: &str) -> Result<Value, ProtobufError> {
    // The zero time is encoded as an empty message, or as the year 1. JSON shows neither.
    let [_, seconds, nanoseconds] = numbers(bytes)?;
    let (seconds, nanoseconds) = (seconds.cast_signed(), nanoseconds.cast_signed());
    if seconds <= 0 && nanoseconds == 0 {
        return Ok(Value::Null);
    }
    let nanoseconds = i32::try_from(nanoseconds).unwrap_or_default();
    let time = Timestamp::new(seconds, nanoseconds)
        .map_err(|_| ProtobufError::Damaged("a time is out of range"))?;
    Ok(time.strftime(format).to_string().into())
}

fn int_or_string(bytes: &[u8]) -> Result<Value, ProtobufError> {
    let (mut is_text, mut integer, mut text) = (false, 0, String::new());
    let mut reader = Reader::new(bytes);
    while let Some((number, wire)) = reader.field()? {
        match (number, wire) {
            (1, Wire::Number(kind)) => is_text = kind == 1,
            (2, Wire::Number(value)) => integer = value.cast_signed(),
            (3, Wire::Bytes(bytes)) => text = utf8(bytes)?,
            _ => {}
        }
    }
    Ok(if is_text { text.into() } else { integer.into() })
}

#[cfg(test)]
mod tests;
