//! An event as the parameters of `flat-handler`.

use crate::guest::bindings::exports::informant::plugin::flat_handler::{self, Deletion};
use crate::guest::bindings::exports::informant::plugin::handler::{Event, Gone};
use crate::guest::bindings::informant::plugin::types::Failure;
use crate::guest::guest_state::GuestState;
use wasmtime::Store;

/// The names of an event's object in one text.
pub(super) struct FlatNames {
    text: String,
    /// The ends of namespace, name and UID, in 16 bits each. The rest is the resourceVersion.
    ends: u64,
}

impl FlatNames {
    /// `None` for names that are too long for the form.
    pub(super) fn of(event: &Event<'_>) -> Option<Self> {
        let names = [event.key.namespace, event.key.name, event.uid, event.resource_version];
        let mut text = String::with_capacity(names.iter().map(|name| name.len()).sum());
        let mut ends = 0;
        for (shift, name) in (0..).step_by(16).zip(names) {
            text.push_str(name);
            let end = u16::try_from(text.len()).ok()?;
            if shift < 48 {
                ends |= u64::from(end) << shift;
            }
        }
        Some(Self { text, ends })
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
        let (text, ends) = (&*self.text, self.ends);
        let is_handled = guest
            .call_handle(
                &mut *store,
                event.seq,
                event.subscription,
                event.change,
                event.reason,
                deletion,
                text,
                ends,
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
