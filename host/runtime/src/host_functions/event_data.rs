//! `event-data`: the objects of the event being handled, piece by piece.

use super::HostCall;
use super::fields::{FieldsError, fields};
use crate::bindings::informant::plugin::event_data::{Host, Side};
use crate::guest_state::{GuestState, Phase};
use informant_cache::{Object, Projection};
use wasmtime::Trap;

impl Host for HostCall<'_> {
    fn json(&mut self, side: Side) -> wasmtime::Result<Option<Vec<u8>>> {
        Ok(self.side(side).map(|object| object.json().to_vec()))
    }

    /// The interface has no error to answer with, so that asking for too much ends the call.
    fn fields(
        &mut self,
        side: Side,
        pointers: Vec<String>,
    ) -> wasmtime::Result<Vec<Option<String>>> {
        let bytes_max = self.limits().answer_bytes_max;
        let json = self.side(side).map(Object::json).unwrap_or_default();
        fields(&json, &pointers, bytes_max, &self.clock).map_err(|error| match error {
            FieldsError::TooMuch(text) => wasmtime::Error::msg(text),
            FieldsError::DeadlineExceeded => Trap::Interrupt.into(),
        })
    }

    fn changed(&mut self, pointer: String) -> wasmtime::Result<bool> {
        let (Some(new), Some(old)) = (self.side(Side::New), self.side(Side::Old)) else {
            return Ok(true);
        };
        let pointer = Projection::new([pointer]);
        Ok(pointer.values(&new.json()) != pointer.values(&old.json()))
    }
}

impl GuestState {
    /// The state on one side of the event in hand; nothing outside `handle`.
    fn side(&self, side: Side) -> Option<&Object> {
        let Phase::Handle(current) = &self.phase else { return None };
        match side {
            Side::New => current.new.as_ref(),
            Side::Old => current.old.as_ref(),
        }
    }
}
