//! The newest change that was seen, and whether a server still knows it.
//!
//! The watch after a broken connection does not begin at the resourceVersion that was reached but just before the newest
//! change, so that a server with the same past repeats that one first. A server that was set back cannot: its
//! numbers mean other changes now, or nothing yet. The resourceVersion alone would not show it: a
//! watch at a number that the server has not reached again is accepted, and silent up to it (apiserver's `cacheWatcher.process`
//! sends only what is newer).

use crate::object::Object;

/// One change: its number, and what it left. Keeps one object alive for each reflector.
#[derive(Clone, Debug)]
pub(super) struct Witness {
    resource_version: u64,
    object: Object,
    /// It was the object's end.
    gone: bool,
}

/// What is known of the server's past since the last list began.
#[derive(Clone, Debug)]
pub(super) enum History {
    /// There was no object and no change.
    Empty,
    /// There were some, and this was the newest.
    Newest(Witness),
    /// resourceVersions are not numbers here: nothing can be compared.
    Opaque,
}

/// How what came first compares with what was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeated {
    /// It is the very change, or one that nothing tells apart from it: a server that was set back can give the same number to the same
    /// change of the same object. The simulation finds one in 40,000 runs (`make sim SEED=404628`: the same object is deleted twice).
    Same,
    /// The number and the object are the same, and what the change left is not: an object that is written all the time can
    /// hit the number again after the server was set back. (Or a newer server shows it in another way: then a list that
    /// compares everything is due, too.)
    Changed,
    /// It is another one.
    Other,
}

impl Witness {
    /// None where the resourceVersion is no number: Kubernetes promises one since 1.35 (KEP-5504).
    fn new(object: &Object, gone: bool) -> Option<Self> {
        let resource_version = object.resource_version().parse().ok()?;
        Some(Self { resource_version, object: object.clone(), gone })
    }

    /// Where a watch begins that is to repeat this change. None at the very first numbers: `0` means something else.
    fn just_before(&self) -> Option<Box<str>> {
        let before = self.resource_version.checked_sub(1).filter(|before| *before > 0)?;
        Some(before.to_string().into())
    }

    pub(super) fn compare(&self, found: &Object, gone: bool) -> Repeated {
        let known = &self.object;
        let same_number = found.resource_version() == known.resource_version();
        if !same_number || !found.has_uid_of(known) || gone != self.gone {
            Repeated::Other
        } else if found.json() == known.json() {
            Repeated::Same
        } else {
            Repeated::Changed
        }
    }

    pub(super) fn resource_version(&self) -> u64 {
        self.resource_version
    }
}

impl History {
    /// The newest change, if a watch can be asked to repeat it, and where that one begins.
    pub(super) fn repeatable(&self) -> Option<(&Witness, Box<str>)> {
        match self {
            Self::Newest(newest) => Some((newest, newest.just_before()?)),
            Self::Empty | Self::Opaque => None,
        }
    }

    /// An object of a list, or a change.
    pub(super) fn note(&mut self, object: &Object, gone: bool) {
        let newer = match (&*self, Witness::new(object, gone)) {
            (Self::Opaque, _) | (_, None) => Self::Opaque,
            (Self::Newest(newest), Some(seen))
                if newest.resource_version >= seen.resource_version =>
            {
                return;
            }
            (Self::Empty | Self::Newest(_), Some(seen)) => Self::Newest(seen),
        };
        *self = newer;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(resource_version: &str, uid: &str, label: &str) -> Object {
        let json = format!(
            r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"a","uid":"{uid}",
                "resourceVersion":"{resource_version}","labels":{{"is":"{label}"}}}}}}"#
        );
        Object::decode(json.as_bytes(), None).expect("an object")
    }

    #[track_caller]
    fn check(seen: &[&str], begins: Option<&str>) {
        let mut history = History::Empty;
        for resource_version in seen {
            history.note(&object(resource_version, "x", ""), false);
        }
        let found = history.repeatable().map(|(_, before)| before);
        assert_eq!(found.as_deref(), begins, "{history:?}");
    }

    #[test]
    fn the_newest_change_is_remembered_in_whatever_order_it_came() {
        check(&["7", "9", "8"], Some("8"));
        check(&["2"], Some("1"));
        check(&["1"], None);
        check(&["7", "x7"], None);
        check(&[], None);
    }

    #[test]
    fn a_change_is_the_same_by_its_number_whose_it_was_what_it_left_and_whether_it_was_the_end() {
        let check = |found: Object, ends: bool, expect: Repeated| {
            for gone in [false, true] {
                let witness = Witness::new(&object("9", "x", "a"), gone).expect("a number");
                assert_eq!(witness.compare(&found, gone != ends), expect, "{found:?}");
            }
        };
        check(object("9", "x", "a"), false, Repeated::Same);
        check(object("9", "x", "b"), false, Repeated::Changed);
        check(object("9", "y", "a"), false, Repeated::Other);
        check(object("10", "x", "a"), false, Repeated::Other);
        // What had been cut of it may be all that differed: that it ended counts by itself.
        check(object("9", "x", "a"), true, Repeated::Other);
    }
}
