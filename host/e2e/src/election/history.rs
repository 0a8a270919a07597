//! What the cluster of an election went through: who held the Lease, and who wrote what, in the API server's own order.

use std::time::Duration;

use serde_json::Value;

/// One change, as a watch told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchedChange {
    /// Its resourceVersion: both our servers count all objects' changes in one row.
    pub version: u64,
    /// When it was seen, since the begin.
    pub at: Duration,
    /// What changed.
    pub what: WatchedKind,
}

/// What changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchedKind {
    /// The Lease was written.
    Lease(Lease),
    /// An order was answered.
    Answer(WriteAnswer),
}

/// Who leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The host's name; none: it was given back.
    pub holder: Option<String>,
    /// How often the holder changed.
    pub transitions: u64,
}

/// A plugin's write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteAnswer {
    /// The order's name.
    pub order: String,
    /// The host's name.
    pub by: String,
    /// Which of its writes.
    pub write: u64,
    /// The order's number as it knew it.
    pub number: u64,
}

impl Lease {
    /// As it stands in the object. A host's identity is its name, an underscore and a random number.
    pub fn of(object: &Value) -> Self {
        let spec = &object["spec"];
        let holder = spec["holderIdentity"].as_str().filter(|holder| !holder.is_empty());
        let name = |holder: &str| holder.split('_').next().unwrap_or_default().to_owned();
        let transitions = spec["leaseTransitions"].as_u64().unwrap_or_default();
        Self { holder: holder.map(name), transitions }
    }
}

impl WriteAnswer {
    /// As it stands in the order; none where there is none yet.
    pub fn of(object: &Value) -> Option<Self> {
        let metadata = &object["metadata"];
        let text = metadata["annotations"]["informant.dev/answer"].as_str()?;
        let mut words = text.split(' ');
        let order = metadata["name"].as_str()?.to_owned();
        let by = words.next()?.to_owned();
        let (write, number) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some(Self { order, by, write, number })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_holder_is_a_hosts_name_or_nobody() {
        let lease = |holder: &str| {
            let spec = json!({"holderIdentity": holder, "leaseTransitions": 3});
            Lease::of(&json!({"spec": spec}))
        };
        let held = lease("host-7_0f");
        assert_eq!((held.holder.as_deref(), held.transitions), (Some("host-7"), 3));
        assert_eq!(lease("").holder, None);
    }

    #[test]
    fn an_answer_says_who_made_it() {
        let answer = |text: &str| {
            let annotations = json!({"informant.dev/answer": text});
            WriteAnswer::of(&json!({"metadata": {"name": "a", "annotations": annotations}}))
        };
        let (order, by) = ("a".to_owned(), "host-7".to_owned());
        let expect = WriteAnswer { order, by, write: 12, number: 40 };
        assert_eq!(answer("host-7 12 40"), Some(expect));
        assert_eq!(answer("host-7 12"), None);
        assert_eq!(WriteAnswer::of(&json!({"metadata": {"name": "a"}})), None);
    }
}
