//! The format of the file's records: keys that sort by plugin and kind, and a head in JSON before
//! each object's bytes.

use super::{ArchiveKey, ArchiveValue, NameRecord, WaitingRetry};
use crate::event::{Change, Event, Gone, Reason, SubscriptionId};
use crate::kept::dead_letters::DeadLetter;
use crate::plugin_name::PluginName;
use bytes::Bytes;
use informant_cache::{Object, ObjectKey};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// No plugin's name has this byte.
const AFTER_NAME: u8 = 0;
const RETRY: u8 = b'r';
const LETTER: u8 = b'l';
const STATE: u8 = b's';

#[derive(Serialize, Deserialize)]
struct RetryHead {
    attempt: u32,
    crashes: u32,
    due: Timestamp,
    /// Records of older hosts lack it.
    #[serde(default)]
    wait_ms: Option<u64>,
    resource: String,
    event: EventHead,
}

#[derive(Serialize, Deserialize)]
struct LetterHead {
    subscription: String,
    resource: String,
    attempts: u32,
    parked: bool,
    error: String,
    at: Timestamp,
    event: EventHead,
}

/// An event with only the lengths of its objects.
#[derive(Serialize, Deserialize)]
struct EventHead {
    change: String,
    reason: String,
    gone: Option<String>,
    coalesced: u32,
    object: usize,
    old: Option<usize>,
    /// Whether only the metadata of each are known. Hosts before did not write it.
    #[serde(default)]
    metadata_only: [bool; 2],
}

/// The first key of a plugin's records, and the end of the range.
pub(super) fn range(plugin: &PluginName) -> [Vec<u8>; 2] {
    [AFTER_NAME, AFTER_NAME + 1].map(|end| [plugin.as_str().as_bytes(), &[end]].concat())
}

/// The key of a record; `None` for the head, which has its own table.
pub(super) fn key(plugin: &PluginName, place: &ArchiveKey) -> Option<Vec<u8>> {
    let mut key = [plugin.as_str().as_bytes(), &[AFTER_NAME]].concat();
    match place {
        ArchiveKey::Head => return None,
        ArchiveKey::Retry { subscription, key: object } => {
            key.push(RETRY);
            key.extend((subscription.len() as u32).to_be_bytes());
            key.extend(subscription.as_bytes());
            key.extend(object.namespace().as_bytes());
            key.push(b'/');
            key.extend(object.name().as_bytes());
        }
        ArchiveKey::Letter(id) => {
            key.push(LETTER);
            key.extend(id.to_be_bytes());
        }
        ArchiveKey::State(name) => {
            key.push(STATE);
            key.extend(name.as_bytes());
        }
    }
    Some(key)
}

/// The place of a plugin's key; `None` if the key is not valid.
pub(super) fn place(plugin: &PluginName, key: &[u8]) -> Option<ArchiveKey> {
    let rest = key.strip_prefix(plugin.as_str().as_bytes())?.strip_prefix(&[AFTER_NAME])?;
    let (kind, rest) = rest.split_first()?;
    Some(match *kind {
        RETRY => {
            let (length, rest) = rest.split_first_chunk()?;
            let (subscription, object) =
                rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
            let (namespace, name) = std::str::from_utf8(object).ok()?.split_once('/')?;
            let subscription = std::str::from_utf8(subscription).ok()?.into();
            ArchiveKey::Retry { subscription, key: ObjectKey::new(namespace, name) }
        }
        LETTER => ArchiveKey::Letter(u64::from_be_bytes(rest.try_into().ok()?)),
        STATE => ArchiveKey::State(std::str::from_utf8(rest).ok()?.into()),
        _ => return None,
    })
}

pub(super) fn encode_head(head: &NameRecord) -> Vec<u8> {
    serde_json::to_vec(head).expect("numbers are JSON")
}

pub(super) fn decode_head(bytes: &[u8]) -> Option<NameRecord> {
    serde_json::from_slice(bytes).ok()
}

/// The bytes of a record.
pub(super) fn encode(content: &ArchiveValue) -> Vec<u8> {
    match content {
        ArchiveValue::Head(head) => encode_head(head),
        ArchiveValue::State(value) => value.to_vec(),
        ArchiveValue::Retry(waiting) => {
            let head = RetryHead {
                attempt: waiting.attempt,
                crashes: waiting.crashes,
                due: waiting.due,
                wait_ms: u64::try_from(waiting.wait.as_millis()).ok(),
                resource: waiting.resource.to_string(),
                event: EventHead::of(&waiting.event),
            };
            with_objects(&head, &waiting.event)
        }
        ArchiveValue::Letter(letter) => {
            let head = LetterHead {
                subscription: letter.subscription.clone(),
                resource: letter.resource.clone(),
                attempts: letter.attempts,
                parked: letter.parked,
                error: letter.error.clone(),
                at: letter.at,
                event: EventHead::of(&letter.event),
            };
            with_objects(&head, &letter.event)
        }
    }
}

/// The content of a record; `None` if it cannot be read.
pub(super) fn decode(place: &ArchiveKey, bytes: &[u8]) -> Option<ArchiveValue> {
    Some(match place {
        ArchiveKey::Head => ArchiveValue::Head(decode_head(bytes)?),
        ArchiveKey::State(_) => ArchiveValue::State(Bytes::copy_from_slice(bytes)),
        ArchiveKey::Retry { .. } => {
            let (head, objects): (RetryHead, _) = without_objects(bytes)?;
            let RetryHead { attempt, crashes, due, wait_ms, resource, event } = head;
            let (event, resource) = (event.with(objects)?, resource.into());
            let wait = wait_ms.map_or(Duration::MAX, Duration::from_millis);
            ArchiveValue::Retry(Box::new(WaitingRetry {
                resource,
                event,
                attempt,
                crashes,
                due,
                wait,
            }))
        }
        ArchiveKey::Letter(id) => {
            let (head, objects): (LetterHead, _) = without_objects(bytes)?;
            let LetterHead { subscription, resource, attempts, parked, error, at, event } = head;
            let (id, event) = (*id, event.with(objects)?);
            let letter =
                DeadLetter { id, subscription, resource, event, attempts, parked, error, at };
            ArchiveValue::Letter(Box::new(letter))
        }
    })
}

/// The head's length, the head, the object, and the state before.
fn with_objects(head: &impl Serialize, event: &Event) -> Vec<u8> {
    let head = serde_json::to_vec(head).expect("texts and numbers are JSON");
    let old = event.old.as_ref().map(Object::json).unwrap_or_default();
    [&(head.len() as u32).to_be_bytes(), &head[..], &event.object.json(), &old].concat()
}

fn without_objects<'a, H: Deserialize<'a>>(bytes: &'a [u8]) -> Option<(H, &'a [u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (head, objects) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
    Some((serde_json::from_slice(head).ok()?, objects))
}

impl EventHead {
    fn of(event: &Event) -> Self {
        Self {
            change: event.change.as_str().to_owned(),
            reason: event.reason.as_str().to_owned(),
            gone: event.gone.map(|gone| gone.as_str().to_owned()),
            coalesced: event.coalesced,
            object: event.object.json_len(),
            old: event.old.as_ref().map(Object::json_len),
            metadata_only: [Some(&event.object), event.old.as_ref()]
                .map(|state| state.is_some_and(Object::is_metadata_only)),
        }
    }

    fn with(self, objects: &[u8]) -> Option<Event> {
        let (object, old) = objects.split_at_checked(self.object)?;
        let [is_partial, was_partial] = self.metadata_only;
        let old = match self.old {
            Some(length) if length == old.len() => Some(decoded(old, was_partial)?),
            None if old.is_empty() => None,
            _ => return None,
        };
        let named = |text: &str| Gone::ALL.into_iter().find(|one| one.as_str() == text);
        Some(Event {
            reason: Reason::ALL.into_iter().find(|one| one.as_str() == self.reason)?,
            gone: match &self.gone {
                Some(text) => Some(named(text)?),
                None => None,
            },
            old,
            coalesced: self.coalesced,
            ..Event::new(
                SubscriptionId(0),
                Change::ALL.into_iter().find(|one| one.as_str() == self.change)?,
                decoded(object, is_partial)?,
                Instant::now(),
            )
        })
    }
}

fn decoded(json: &[u8], metadata_only: bool) -> Option<Object> {
    let object = Object::decode(json, None).ok()?;
    Some(if metadata_only { object.metadata_only() } else { object })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn object(version: u32) -> Object {
        let json = format!(
            r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"a","namespace":"n","uid":"u","resourceVersion":"{version}"}}}}"#
        );
        Object::decode(json.as_bytes(), None).expect("an object")
    }

    fn event(change: Change, gone: Option<Gone>, old: Option<Object>) -> Event {
        Event {
            reason: Reason::Relist,
            gone,
            old,
            coalesced: 7,
            ..Event::new(SubscriptionId(0), change, object(2), Instant::now())
        }
    }

    fn show(content: &ArchiveValue) -> String {
        let event = |event: &Event| {
            let (old, gone) = (event.old.as_ref().map(Object::resource_version), event.gone);
            let partial = [Some(&event.object), event.old.as_ref()]
                .map(|state| state.map(Object::is_metadata_only));
            let json = event.object.json();
            format!("{:?} {:?} {gone:?} {old:?} {partial:?} {json:?}", event.change, event.reason)
        };
        match content {
            ArchiveValue::Retry(it) => {
                format!(
                    "{} {} {} {} {:?} {}",
                    it.resource,
                    it.attempt,
                    it.crashes,
                    it.due,
                    it.wait,
                    event(&it.event)
                )
            }
            ArchiveValue::Letter(it) => format!("{} {}", it.to_json(), event(&it.event)),
            other => format!("{other:?}"),
        }
    }

    /// Checks that decoding undoes encoding, also of the key, and finds every truncation.
    #[track_caller]
    fn check(place: &ArchiveKey, content: &ArchiveValue) {
        let plugin: PluginName = "my.plugin".parse().expect("a name");
        let [begin, end] = range(&plugin);
        if let Some(key) = key(&plugin, place) {
            assert!(begin <= key && key < end);
            assert_eq!(super::place(&plugin, &key).as_ref(), Some(place));
        }
        let bytes = encode(content);
        let decoded = decode(place, &bytes).expect("it can be read");
        assert_eq!(show(&decoded), show(content));
        if !matches!(content, ArchiveValue::State(_)) {
            for end in 0..bytes.len() {
                assert!(decode(place, &bytes[..end]).is_none(), "cut off at {end}");
            }
        }
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        let (resource, due) = ("v1/pods".into(), Timestamp::UNIX_EPOCH);
        let retry = |event| {
            let resource = Arc::clone(&resource);
            let (attempt, crashes, wait) = (3, 1, Duration::from_secs(9));
            ArchiveValue::Retry(Box::new(WaitingRetry {
                resource,
                event,
                attempt,
                crashes,
                due,
                wait,
            }))
        };
        let place = |namespace| ArchiveKey::Retry {
            subscription: "a/b c".into(),
            key: ObjectKey::new(namespace, "a"),
        };
        check(&place("n"), &retry(event(Change::Updated, None, Some(object(1)))));
        check(&place(""), &retry(event(Change::Deleted, Some(Gone::LeftView), None)));
        let mut partial = event(Change::Updated, None, Some(object(1).metadata_only()));
        check(&place("n"), &retry(partial.clone()));
        partial.object = partial.object.metadata_only();
        check(&place("n"), &retry(partial));
        let letter = DeadLetter {
            id: 300,
            subscription: "s".to_owned(),
            resource: "v1/pods".to_owned(),
            event: event(Change::Added, None, None),
            attempts: 10,
            parked: true,
            error: "no \"way\"".to_owned(),
            at: Timestamp::UNIX_EPOCH,
        };
        check(&ArchiveKey::Letter(300), &ArchiveValue::Letter(Box::new(letter)));
        check(&ArchiveKey::State("k\0/".into()), &ArchiveValue::State(Bytes::from_static(b"\0v")));
        let head = NameRecord { letters: 9, paused: true, gone: Some(1) };
        check(&ArchiveKey::Head, &ArchiveValue::Head(head));
    }
}
