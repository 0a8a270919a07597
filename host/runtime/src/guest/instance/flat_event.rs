//! An event as the parameters of `flat-handler`.

use crate::guest::bindings::exports::informant::plugin::flat_handler::{self, Deletion};
use crate::guest::bindings::exports::informant::plugin::handler::{Event, Gone};
use crate::guest::bindings::informant::plugin::types::Failure;
use crate::guest::guest_state::GuestState;
use informant_cache::ObjectNames;
use wasmtime::Store;

/// The names of an event's object in one text.
pub(super) struct FlatNames<'a> {
    text: &'a str,
    /// The ends of namespace, name and UID, in 16 bits each. The rest is the resourceVersion.
    ends: u64,
}

impl<'a> FlatNames<'a> {
    /// `None` for names that are too long for the form.
    pub(super) fn of(names: &'a ObjectNames) -> Option<Self> {
        let text = names.text();
        u16::try_from(text.len()).ok()?;
        let [namespace, name, uid] = names.ends().map(u64::from);
        Some(Self { text, ends: namespace | name << 16 | uid << 32 })
    }

    /// Delivers the event with these names.
    pub(super) async fn call(
        self,
        guest: &flat_handler::Guest,
        store: &mut Store<GuestState>,
        event: &Event<'_>,
    ) -> wasmtime::Result<Result<(), Failure>> {
        let deletion = match event.gone {
            None => Deletion::None,
            Some(Gone::Deleted) => Deletion::Deleted,
            Some(Gone::LeftView) => Deletion::LeftView,
            Some(Gone::Unknown) => Deletion::Unknown,
        };
        let is_handled = guest
            .call_handle(
                &mut *store,
                event.seq,
                event.subscription,
                event.change,
                event.reason,
                deletion,
                self.text,
                self.ends,
                event.coalesced,
                event.attempt,
                event.object,
                event.old,
            )
            .await?;
        if is_handled {
            return Ok(Ok(()));
        }
        guest.call_last_failure(store).await.map(Err)
    }
}
