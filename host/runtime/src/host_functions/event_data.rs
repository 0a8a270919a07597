//! `event-data`: the objects of the event being handled, piece by piece.

use super::HostCall;
use super::fields::{FieldsError, fields};
use crate::bindings::informant::plugin::event_data::{Host, Side};
use crate::guest_state::{CurrentEvent, GuestState, Phase};
use informant_cache::{JsonReader, Object};
use wasmtime::Trap;

impl Host for HostCall<'_> {
    fn json(&mut self, side: Side) -> wasmtime::Result<Option<Vec<u8>>> {
        Ok(reader(&mut self.phase, side).map(|reader| reader.json().to_vec()))
    }

    /// The interface has no error to answer with, so that asking for too much ends the call.
    fn fields(
        &mut self,
        side: Side,
        pointers: Vec<String>,
    ) -> wasmtime::Result<Vec<Option<String>>> {
        let bytes_max = self.limits().answer_bytes_max;
        let GuestState { phase, clock, .. } = &mut **self;
        let mut nothing = JsonReader::default();
        let reader = reader(phase, side).unwrap_or(&mut nothing);
        fields(reader, &pointers, bytes_max, clock).map_err(|error| match error {
            FieldsError::TooMuch(text) => wasmtime::Error::msg(text),
            FieldsError::DeadlineExceeded => Trap::Interrupt.into(),
        })
    }

    fn changed(&mut self, pointer: String) -> wasmtime::Result<bool> {
        let Phase::Handle(event) = &mut self.phase else { return Ok(true) };
        let CurrentEvent { new: Some(new), old: Some(old), readers, .. } = event else {
            return Ok(true);
        };
        let ([new_reader, old_reader], pointer) = (readers, [pointer]);
        Ok(made(new_reader, new).values(&pointer) != made(old_reader, old).values(&pointer))
    }
}

/// The state on one side of the event in hand; nothing outside `handle`.
fn reader(phase: &mut Phase, side: Side) -> Option<&mut JsonReader> {
    let Phase::Handle(CurrentEvent { new, old, readers, .. }) = phase else { return None };
    let [new_reader, old_reader] = readers;
    match side {
        Side::New => new.as_ref().map(|new| made(new_reader, new)),
        Side::Old => old.as_ref().map(|old| made(old_reader, old)),
    }
}

/// The reader of an object, made when it is first read.
fn made<'a>(reader: &'a mut Option<JsonReader>, object: &Object) -> &'a mut JsonReader {
    reader.get_or_insert_with(|| JsonReader::new(object.json()))
}
