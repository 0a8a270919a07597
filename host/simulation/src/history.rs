//! The history of all objects on the server: the states that a cache may show, and the states that it must show at
//! rest.
//!
//! Times are counts of changes. So the order of changes is known even after a rewind, when resourceVersions are given
//! again.

use bytes::Bytes;
use informant_apiserver::{ApiObject, Change};
use informant_cache::{Object, Scope};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// One state of one object.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    /// The state in the cache's form.
    shown: Object,
    /// The state in the server's form.
    raw: Bytes,
    /// The moment from which it was the present state.
    from: u64,
    /// The moment until which it was the present state; [`NOW`] while it is. After a rewind, the hull of several
    /// spans.
    until: u64,
}

/// The end of a state that is still the present one.
const NOW: u64 = u64::MAX;

impl Version {
    fn is(&self, object: &Object) -> bool {
        same_version(&self.shown, object)
    }

    /// The state in the server's form.
    pub(crate) fn raw(&self) -> &Bytes {
        &self.raw
    }

    /// The state in the cache's form.
    pub(crate) fn shown(&self) -> &Object {
        &self.shown
    }
}

/// The history of one resource, by `namespace/name`.
#[derive(Debug, Default)]
pub(crate) struct History {
    clock: u64,
    /// The time of the last rewind. 0 without a rewind.
    restored: u64,
    versions: HashMap<String, Vec<Version>>,
    /// The present states, as indices into `versions`.
    live: BTreeMap<String, usize>,
}

fn key(object: &ApiObject) -> String {
    match object.namespace() {
        "" => object.name().to_owned(),
        namespace => format!("{namespace}/{}", object.name()),
    }
}

impl History {
    /// Records a change.
    pub(crate) fn change(&mut self, change: &Change) {
        self.clock += 1;
        match change {
            Change::Added(new) | Change::Modified { new, .. } => self.live(new),
            Change::Deleted { last, .. } => {
                self.end(&key(last));
                let version = self.version(last, self.clock);
                self.versions.entry(key(last)).or_default().push(version);
            }
        }
    }

    /// Whether the server was ever set back.
    pub(crate) fn was_restored(&self) -> bool {
        self.restored > 0
    }

    /// The present moment.
    pub(crate) fn now(&self) -> u64 {
        self.clock
    }

    /// The objects that have existed since this moment without interruption. Empty if the server was set back
    /// meanwhile, because that leaves nothing certain.
    pub(crate) fn lasting_since<'a>(
        &'a self,
        moment: u64,
        scope: &'a Scope,
    ) -> impl Iterator<Item = &'a str> {
        let sure = self.restored < moment || self.restored == 0;
        let present = self.within(scope).filter(move |_| sure);
        present.filter(move |(_, version)| version.from <= moment).map(|(key, _)| key)
    }

    /// Records a rewind. `objects` are the objects after the rewind.
    pub(crate) fn restored<'a>(&mut self, objects: impl Iterator<Item = &'a ApiObject>) {
        self.clock += 1;
        self.restored = self.clock;
        for key in self.live.keys().cloned().collect::<Vec<_>>() {
            self.end(&key);
        }
        for object in objects {
            let (key, version) = (key(object), self.version(object, NOW));
            let versions = self.versions.entry(key.clone()).or_default();
            let same =
                |one: &Version| one.shown.has_uid_of(&version.shown) && one.raw == version.raw;
            let at = versions.iter().position(same).unwrap_or_else(|| {
                versions.push(version);
                versions.len() - 1
            });
            versions[at].until = NOW;
            self.live.insert(key, at);
        }
    }

    fn live(&mut self, object: &ApiObject) {
        let (key, version) = (key(object), self.version(object, NOW));
        self.end(&key);
        let versions = self.versions.entry(key.clone()).or_default();
        versions.push(version);
        self.live.insert(key, versions.len() - 1);
    }

    fn end(&mut self, key: &str) {
        if let Some(at) = self.live.remove(key)
            && let Some(versions) = self.versions.get_mut(key)
        {
            versions[at].until = self.clock;
        }
    }

    fn version(&self, object: &ApiObject, until: u64) -> Version {
        let shown = Object::decode_without_last_applied(&object.json(), None);
        let shown = shown.expect("the server's objects are objects");
        Version { shown, raw: object.json(), from: self.clock, until }
    }

    /// Whether the server ever showed exactly this state.
    pub(crate) fn knows(&self, object: &Object) -> bool {
        self.find(object).next().is_some()
    }

    fn find<'a>(&'a self, object: &'a Object) -> impl Iterator<Item = &'a Version> {
        let versions = self.versions.get(&object.key().to_string());
        versions.into_iter().flatten().filter(move |version| version.is(object))
    }

    /// Whether `later` ended before `earlier` began. A cache that went from `earlier` to `later` went back.
    pub(crate) fn goes_back(&self, earlier: &Object, later: &Object) -> bool {
        let began = self.find(earlier).map(|version| version.from).min();
        let over = self.find(later).map(|version| version.until).max();
        match (began, over) {
            (Some(began), Some(over)) => over <= began && !same_version(earlier, later),
            _ => false,
        }
    }

    /// Whether an object was within a scope at all times since it had this state.
    pub(crate) fn stayed(&self, known: &Object, scope: &Scope) -> bool {
        let since = self.find(known).map(|version| version.from).min();
        let versions = self.versions.get(&known.key().to_string());
        let same = versions.into_iter().flatten().filter(|one| one.shown.has_uid_of(known));
        let mut later = same.filter(|version| since.is_some_and(|since| version.until > since));
        since.is_some() && later.all(|version| scope.contains(&version.shown))
    }

    /// The present states within a scope, by key.
    pub(crate) fn within<'a>(
        &'a self,
        scope: &'a Scope,
    ) -> impl Iterator<Item = (&'a str, &'a Version)> {
        self.present().filter(|(_, version)| scope.contains(&version.shown))
    }

    /// The difference between known objects and the present objects of a scope, as text for people. `None` if there is
    /// none.
    pub(crate) fn difference(
        &self,
        scope: &Scope,
        known: &BTreeMap<String, Object>,
    ) -> Option<String> {
        let mut rest: BTreeSet<&str> = known.keys().map(String::as_str).collect();
        for (key, version) in self.within(scope) {
            rest.remove(key);
            let is = &version.shown;
            match known.get(key) {
                None => return Some(format!("{key} is missing: {is:?}")),
                Some(object) if !same_content(object, is) => {
                    return Some(format!("{key} is {object:?} instead of {is:?}"));
                }
                Some(_) => {}
            }
        }
        rest.first().map(|key| format!("{key} is gone, or out of scope, and still known"))
    }

    /// The present states, by key.
    fn present(&self) -> impl Iterator<Item = (&str, &Version)> {
        self.live.iter().map(|(key, at)| (key.as_str(), &self.versions[key][*at]))
    }

    /// Whether this object exists now and has existed without interruption. Uncertain, and so false, once the server
    /// was set back.
    pub(crate) fn is_live(&self, object: &Object) -> bool {
        let key = object.key().to_string();
        let live = self.live.get(&key).map(|at| &self.versions[&key][*at]);
        self.restored == 0 && live.is_some_and(|live| live.shown.has_uid_of(object))
    }
}

/// Whether both are the same state of the same object.
pub(crate) fn same_version(one: &Object, other: &Object) -> bool {
    one.has_uid_of(other)
        && one.resource_version() == other.resource_version()
        && same_content(one, other)
}

/// Whether both have the same content, as far as both are known.
pub(crate) fn same_content(one: &Object, other: &Object) -> bool {
    match one.is_metadata_only() || other.is_metadata_only() {
        true => one.metadata_json() == other.metadata_json(),
        false => one.json() == other.json(),
    }
}
