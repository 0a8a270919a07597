//! `event-data`: the objects of the event being handled, piece by piece.

use super::HostCall;
use super::fields::{FieldsError, fields};
use crate::event::CurrentEvent;
use crate::guest::bindings::informant::plugin::event_data::{Host, Side};
use crate::guest::guest_state::{GuestState, Phase};
use informant_cache::{JsonReader, Object};
use wasmtime::Trap;

impl Host for HostCall<'_> {
    fn json(&mut self, side: Side) -> wasmtime::Result<Option<Vec<u8>>> {
        Ok(reader(&mut self.phase, side).map(|reader| reader.json().to_vec()))
    }

    /// The interface has no error, so a too large request ends the call.
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
        let CurrentEvent { event, metadata_only, readers, .. } = event;
        let (Some(new), Some(old)) = (event.new_state(), event.old_state()) else {
            return Ok(true);
        };
        let (readers, pointer) = (readers.get_or_insert_default(), [pointer]);
        let new = made(&mut readers.new, new, *metadata_only).values(&pointer);
        Ok(new != made(&mut readers.old, old, *metadata_only).values(&pointer))
    }
}

/// The state on one side of the current event; `None` outside `handle`.
fn reader(phase: &mut Phase, side: Side) -> Option<&mut JsonReader> {
    let Phase::Handle(event) = phase else { return None };
    let CurrentEvent { event, metadata_only, readers, .. } = event;
    let readers = readers.get_or_insert_default();
    match side {
        Side::New => event.new_state().map(|new| made(&mut readers.new, new, *metadata_only)),
        Side::Old => event.old_state().map(|old| made(&mut readers.old, old, *metadata_only)),
    }
}

/// The reader of an object, made when the object is first read.
fn made<'a>(
    reader: &'a mut Option<JsonReader>,
    object: &Object,
    metadata_only: bool,
) -> &'a mut JsonReader {
    let read = || JsonReader::new(CurrentEvent::json_of(object, metadata_only));
    reader.get_or_insert_with(read)
}

#[cfg(test)]
mod tests {
    use super::super::host_call;
    use super::*;
    use crate::contract::limits::Limits;
    use crate::event::{Change, Event, SubscriptionId};
    use crate::log_budget::LogBudget;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    fn state() -> GuestState {
        let limits = Arc::<Limits>::default();
        let name = "p".parse().expect("a plugin's name");
        let budget = LogBudget::new(&*limits, Arc::default(), Instant::now());
        let state = GuestState::new(name, &limits, budget, None);
        state.clock.arm(Instant::now(), Duration::from_secs(3600), Duration::ZERO);
        state
    }

    /// A pod with this `spec`.
    fn pod(spec: &str) -> Object {
        let json = format!(
            r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"web"}},"spec":{spec}}}"#
        );
        Object::decode(json.as_bytes(), None).expect("the test's pod is well formed")
    }

    /// For an event with these states: the values at the pointer in `old` and `new`, whether the value changed, and
    /// the same once more.
    #[track_caller]
    fn check(state: &mut GuestState, states: [Option<&str>; 2], pointer: &str, expect: &str) {
        let [old, new] = states.map(|spec| spec.map(pod));
        let change = if new.is_some() { Change::Updated } else { Change::Deleted };
        let object = new.or(old.clone()).expect("an event has an object");
        let event = Event::new(SubscriptionId(1), change, object, Instant::now());
        let event = Arc::new(Event { old, ..event });
        state.phase = Phase::Handle(CurrentEvent::new("v1/pods".into(), event, false));
        for _ in 0..2 {
            let mut read = Vec::new();
            for side in [Side::Old, Side::New] {
                let found = Host::fields(
                    &mut host_call::begin(state),
                    side,
                    vec![pointer.to_owned(), "/kind".to_owned()],
                );
                let found = found.expect("it is little");
                let found = found.into_iter().map(|value| value.unwrap_or_else(|| "-".to_owned()));
                read.push(found.collect::<Vec<_>>().join(","));
            }
            let changed = host_call::begin(state).changed(pointer.to_owned()).expect("an answer");
            assert_eq!(format!("{} {changed}", read.join(" ")), expect);
        }
    }

    #[test]
    fn each_side_of_each_event_is_read_by_itself() {
        let state = &mut state();
        let (one, two) = (r#"{"n":1,"m":{}}"#, r#"{"m":{},"n":2}"#);
        check(state, [Some(one), Some(two)], "/spec/n", r#"1,"Pod" 2,"Pod" true"#);
        check(state, [Some(two), Some(one)], "/spec/n", r#"2,"Pod" 1,"Pod" true"#);
        check(state, [Some(one), Some(two)], "/spec/m", r#"{},"Pod" {},"Pod" false"#);
        check(state, [Some(one), Some(two)], "/spec/o", r#"-,"Pod" -,"Pod" false"#);
        check(state, [None, Some(two)], "/spec/n", r#"-,- 2,"Pod" true"#);
        check(state, [Some(one), None], "/spec/n", r#"1,"Pod" -,- true"#);
    }

    /// The object is not cut for the call, so that all plugins share its metadata.
    #[test]
    fn with_metadata_alone_no_more_is_read_and_nothing_is_made_anew() {
        let (state, object) = (&mut state(), pod("7"));
        let event = Event::new(SubscriptionId(1), Change::Added, object.clone(), Instant::now());
        let current = CurrentEvent::new("v1/pods".into(), Arc::new(event), true);
        state.phase = Phase::Handle(current);
        let mut call = host_call::begin(state);
        let asked = ["/kind", "/spec"].map(str::to_owned).to_vec();
        let found = Host::fields(&mut call, Side::New, asked).expect("an answer");
        assert_eq!(found, [Some(r#""Pod""#.to_owned()), None]);
        let json = call.json(Side::New).expect("an answer").expect("it is there");
        assert_eq!(json, object.metadata_json());
        drop(call);
        let Phase::Handle(current) = &state.phase else { panic!("it is handled") };
        let shared = CurrentEvent::json_of(current.event.new_state().expect("it is there"), true);
        assert_eq!(shared.as_ptr(), object.metadata_json().as_ptr());
        let cut = object.metadata_only();
        assert_eq!(cut.metadata_json().as_ptr(), cut.json().as_ptr());
    }

    #[test]
    fn outside_of_handle_there_is_nothing() {
        let state = &mut state();
        let mut call = host_call::begin(state);
        assert_eq!(call.json(Side::New).expect("an answer"), None);
        let found = Host::fields(&mut call, Side::New, vec![String::new()]).expect("an answer");
        assert_eq!(found, [None]);
        assert!(call.changed(String::new()).expect("an answer"));
    }
}
