//! The part of a change for a handler that needs whole objects, while the cache has the metadata of some alone.

use super::ToTell;
use super::listener::Listener;
use super::share::left_scope;
use crate::object::{Object, ObjectKey};
use crate::resource_event_handler::Notification;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The part of a change for a handler that may need whole objects. An object that is not whole does not exist for it,
/// and its replay finds those that become whole ahead of it. The deletion of an object ahead of its replay is left to the
/// handler: it may continue another handler's knowledge.
pub(super) fn share_by_form<'a>(
    listener: &Listener,
    to_tell: &'a ToTell,
    is_ahead: bool,
) -> Option<Cow<'a, Notification>> {
    let notification = &to_tell.notification;
    let all = || Some(Cow::Borrowed(notification));
    match notification {
        Notification::Added { object, .. } => all().filter(|_| listener.takes(object)),
        Notification::Deleted { last, known_as, .. } => {
            all().filter(|_| is_ahead || listener.takes(known_as.as_ref().unwrap_or(last)))
        }
        Notification::Updated { old, new, cause, coalesced } => {
            let (cause, coalesced) = (*cause, *coalesced);
            match (listener.takes(old), listener.takes(new)) {
                (true, true) => all().filter(|_| !to_tell.is_completed),
                (false, true) => (!is_ahead).then(|| {
                    Cow::Owned(Notification::Added { object: new.clone(), cause, coalesced })
                }),
                (true, false) => Some(Cow::Owned(left_scope(old, cause, coalesced))),
                (false, false) => None,
            }
        }
        Notification::Synced => all(),
    }
}

/// What a handler gets of a change: all, another form of it, or nothing.
type Decision<'a> = Option<Cow<'a, Notification>>;

/// The changes of objects of which the cache has only the metadata, for a handler that needs whole objects and continues
/// another one's knowledge. The other knew the object, so the change is delivered, once the object is whole. At most one
/// for each object of the cache, until the handler's scope was listed.
#[derive(Debug, Default)]
pub(super) struct Postponed {
    changes: BTreeMap<ObjectKey, Notification>,
}

impl Postponed {
    /// The handler's scope was listed: other objects stay as they are.
    pub(super) fn clear(&mut self) {
        self.changes.clear();
    }

    /// The changes, for the handler that takes over.
    pub(super) fn into_changes(self) -> impl Iterator<Item = ToTell> {
        let to_tell = |notification| ToTell { notification, listing: false, is_completed: false };
        self.changes.into_values().map(to_tell)
    }

    /// Decides about a change of an object that is not whole, was not, or is gone. `None` for another change.
    pub(super) fn decide<'a>(
        &mut self,
        listener: &Listener,
        to_tell: &'a ToTell,
    ) -> Option<Decision<'a>> {
        let notification = &to_tell.notification;
        match notification {
            Notification::Added { object, .. } if !listener.takes(object) => {
                if listener.awaits(object) {
                    self.changes.insert(object.key().clone(), notification.clone());
                }
                Some(None)
            }
            Notification::Updated { new, .. } if !listener.takes(new) => {
                Some(self.postpone(listener, notification, new))
            }
            Notification::Updated { old, new, .. } if !listener.takes(old) => {
                match self.changes.remove(new.key()) {
                    Some(before) if to_tell.is_completed => {
                        Some(Some(Cow::Owned(with_object(before, new))))
                    }
                    Some(before) => Some(Some(Cow::Owned(merged(before, notification)))),
                    None => (!to_tell.is_completed).then_some(Some(Cow::Borrowed(notification))),
                }
            }
            Notification::Deleted { last, known_as, .. } => {
                let all = Some(Cow::Borrowed(notification));
                match self.changes.remove(last.key()) {
                    Some(Notification::Added { .. }) => Some(None),
                    Some(_) => Some(all),
                    None => (!listener.takes(known_as.as_ref().unwrap_or(last))).then_some(all),
                }
            }
            Notification::Added { .. } | Notification::Updated { .. } | Notification::Synced => {
                None
            }
        }
    }

    /// An object that leaves the handler's scope does not become whole: that is delivered at once.
    fn postpone<'a>(
        &mut self,
        listener: &Listener,
        notification: &'a Notification,
        new: &Object,
    ) -> Decision<'a> {
        let before = self.changes.remove(new.key());
        let is_new = matches!(before, Some(Notification::Added { .. }));
        let all = match before {
            Some(before) => Cow::Owned(merged(before, notification)),
            None => Cow::Borrowed(notification),
        };
        if listener.awaits(new) {
            self.changes.insert(new.key().clone(), all.into_owned());
            return None;
        }
        Some(all).filter(|_| !is_new)
    }
}

/// One change for two of the same object.
fn merged(before: Notification, after: &Notification) -> Notification {
    let (Some(object), Some(now)) = (after.object(), after.cause()) else { return before };
    let mut merged = with_object(before, object);
    if let Notification::Added { cause, coalesced, .. }
    | Notification::Updated { cause, coalesced, .. } = &mut merged
    {
        (*cause, *coalesced) = (now, *coalesced + after.coalesced() + 1);
    }
    merged
}

fn with_object(mut notification: Notification, whole: &Object) -> Notification {
    if let Notification::Added { object, .. } | Notification::Updated { new: object, .. } =
        &mut notification
    {
        *object = whole.clone();
    }
    notification
}
