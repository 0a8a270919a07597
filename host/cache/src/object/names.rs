//! The names of an object in one text.

use super::Object;
use std::borrow::Cow;
use std::ops::Range;

/// Namespace, name, UID and resourceVersion of an object, in one text without separators. A reader of all of them takes
/// one text in place of four.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectNames {
    text: Box<str>,
    /// The ends of the first three in the text.
    ends: [u32; 3],
}

impl ObjectNames {
    fn of(object: &Object) -> Self {
        let key = object.key();
        let names = [key.namespace(), key.name(), &object.uid(), object.resource_version()];
        let mut end = 0;
        let ends = names.map(|name| {
            end += name.len();
            u32::try_from(end).expect("what is read is bounded")
        });
        let [namespace, name, uid, _] = ends;
        Self { text: names.concat().into(), ends: [namespace, name, uid] }
    }

    /// All names.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The ends of namespace, name and UID in the text, in bytes. The rest is the resourceVersion.
    pub fn ends(&self) -> [u32; 3] {
        self.ends
    }

    /// Empty for cluster-scoped objects.
    pub fn namespace(&self) -> &str {
        self.part(0..self.end(0))
    }

    /// `metadata.name`.
    pub fn name(&self) -> &str {
        self.part(self.end(0)..self.end(1))
    }

    /// `metadata.uid`; empty if the server gives none.
    pub fn uid(&self) -> &str {
        self.part(self.end(1)..self.end(2))
    }

    /// `metadata.resourceVersion`; empty if the server gives none.
    pub fn resource_version(&self) -> &str {
        self.part(self.end(2)..self.text.len())
    }

    fn end(&self, number: usize) -> usize {
        self.ends[number] as usize
    }

    fn part(&self, range: Range<usize>) -> &str {
        &self.text[range]
    }
}

impl Object {
    /// The names of the object. They are put together once for all clones of a notification's handle.
    pub fn names(&self) -> Cow<'_, ObjectNames> {
        let made = || ObjectNames::of(self);
        let carried = self.text().map(|text| text.names.get_or_init(made));
        carried.map_or_else(|| Cow::Owned(made()), Cow::Borrowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(metadata: &str, text: &str, parts: [&str; 4]) {
        let json = format!(r#"{{"apiVersion":"v1","kind":"Pod","metadata":{metadata}}}"#);
        let object = Object::decode(json.as_bytes(), None).expect("it decodes");
        for object in [object.packed(None).at_rest(), object] {
            let names = object.names();
            let found = [names.namespace(), names.name(), names.uid(), names.resource_version()];
            assert_eq!((names.text(), found), (text, parts), "{metadata}");
            let again = object.clone();
            let is_shared = std::ptr::eq(names.text(), again.names().text());
            assert_eq!(is_shared, !object.is_at_rest(), "{metadata}");
        }
    }

    #[test]
    fn the_names_are_those_of_the_object() {
        let uid = "0f3c5b1e-9a7d-4e2b-8c6f-1234567890ab";
        check(
            &format!(r#"{{"namespace":"shop","name":"web","uid":"{uid}","resourceVersion":"7"}}"#),
            &format!("shopweb{uid}7"),
            ["shop", "web", uid, "7"],
        );
        check(r#"{"name":"nä","uid":"a"}"#, "näa", ["", "nä", "a", ""]);
        check(r#"{"name":"n"}"#, "n", ["", "n", "", ""]);
    }
}
