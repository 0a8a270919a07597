//! The part of a change in a handler's scope.

use super::listener::Listener;
use crate::object::Object;
use crate::resource_event_handler::{Cause, FinalState, Notification};

/// The part of a change in the handler's scope, if there is any.
pub(super) fn restrict(listener: &Listener, notification: &Notification) -> Option<Notification> {
    match notification {
        Notification::Added { object, .. } => {
            listener.selects(object).then(|| notification.clone())
        }
        Notification::Deleted { last, known_as, .. } => {
            let known_as = known_as.as_ref().unwrap_or(last);
            listener.selects(known_as).then(|| notification.clone())
        }
        Notification::Updated { old, new, cause, coalesced } => {
            let (cause, coalesced) = (*cause, *coalesced);
            match (listener.selects(old), listener.selects(new)) {
                (true, true) => Some(notification.clone()),
                (false, true) => {
                    Some(Notification::Added { object: new.clone(), cause, coalesced })
                }
                (true, false) => Some(left_scope(old, cause, coalesced)),
                (false, false) => None,
            }
        }
        Notification::Synced => Some(Notification::Synced),
    }
}

pub(super) fn left_scope(last: &Object, cause: Cause, coalesced: u32) -> Notification {
    let (last, known_as, final_state) = (last.clone(), None, FinalState::LeftScope);
    Notification::Deleted { last, known_as, final_state, cause, coalesced }
}
