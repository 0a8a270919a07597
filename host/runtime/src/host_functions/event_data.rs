//! `event-data`: the objects of the event being handled, piece by piece.

use crate::bindings::informant::plugin::event_data::{Host, Side};
use crate::guest_state::{GuestState, Phase};
use crate::json_pointer::find;
use informant_cache::Object;

impl Host for GuestState {
    fn json(&mut self, side: Side) -> wasmtime::Result<Option<Vec<u8>>> {
        Ok(self.side(side).map(|object| object.json().to_vec()))
    }

    fn fields(
        &mut self,
        side: Side,
        pointers: Vec<String>,
    ) -> wasmtime::Result<Vec<Option<String>>> {
        let Some(object) = self.side(side) else { return Ok(vec![None; pointers.len()]) };
        let json = object.json();
        let value = |pointer: &String| find(&json, pointer).map(|value| value.get().to_owned());
        Ok(pointers.iter().map(value).collect())
    }

    fn changed(&mut self, pointer: String) -> wasmtime::Result<bool> {
        let (Some(new), Some(old)) = (self.side(Side::New), self.side(Side::Old)) else {
            return Ok(true);
        };
        Ok(changed(new, old, &pointer))
    }
}

/// Whether the value at `pointer` differs between two states of an object.
pub(crate) fn changed(new: &Object, old: &Object, pointer: &str) -> bool {
    let (new, old) = (new.json(), old.json());
    let text = |json| find(json, pointer).map(|value| value.get());
    text(&new) != text(&old)
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
