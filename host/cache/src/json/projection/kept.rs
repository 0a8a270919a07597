//! A JSON text without everything that pointers do not lead to.

use super::{Cursor, EntryKey, PointerNode, Projection};

/// The text so far.
#[derive(Default)]
struct KeptText {
    out: Vec<u8>,
    /// A key without its escapes.
    scratch: Vec<u8>,
}

impl Projection {
    /// The text with the values at the pointers alone, in the same nesting; `{}` for an object without them.
    /// Of a duplicate key all are kept.
    ///
    /// A pointer leads through an array to each of its items that is an object: positions do not count here. Such an
    /// item stays as `{}` if it has nothing of the pointers. Other items go, and an array of which nothing is left.
    ///
    /// The JSON must be well-formed, as every object's is. For other bytes the result is arbitrary.
    pub fn kept(&self, json: &[u8]) -> Vec<u8> {
        let mut kept = KeptText::default();
        match self.keep(&mut Cursor::new(json), self.nodes[0], &mut kept) {
            Some(_) if !kept.out.is_empty() => kept.out,
            _ => b"{}".to_vec(),
        }
    }

    /// Copies what is to be kept of the next value. Answers whether that is anything.
    fn keep(
        &self,
        cursor: &mut Cursor<'_>,
        node: PointerNode,
        kept: &mut KeptText,
    ) -> Option<bool> {
        if !self.here(node).is_empty() {
            kept.out.extend_from_slice(cursor.value()?);
            return Some(true);
        }
        match cursor.peek()? {
            b'{' => self.keep_entries(cursor, node, kept),
            b'[' => self.keep_items(cursor, node, kept),
            _ => cursor.value().map(|_| false),
        }
    }

    fn keep_entries<'a>(
        &self,
        cursor: &mut Cursor<'a>,
        node: PointerNode,
        kept: &mut KeptText,
    ) -> Option<bool> {
        kept.out.push(b'{');
        let mut has_some = false;
        cursor.entries(|cursor, key: EntryKey<'a>| {
            let Some(below) = self.below(node, key, &mut kept.scratch) else {
                return cursor.value().map(|_| ());
            };
            let before = kept.out.len();
            if has_some {
                kept.out.push(b',');
            }
            kept.out.extend_from_slice(key.quoted());
            kept.out.push(b':');
            match self.keep(cursor, self.nodes[below], kept)? {
                true => has_some = true,
                false => kept.out.truncate(before),
            }
            Some(())
        })?;
        kept.out.push(b'}');
        Some(has_some)
    }

    fn keep_items(
        &self,
        cursor: &mut Cursor<'_>,
        node: PointerNode,
        kept: &mut KeptText,
    ) -> Option<bool> {
        kept.out.push(b'[');
        let (from, mut has_some) = (kept.out.len(), false);
        cursor.items(|cursor, _| {
            if cursor.peek()? != b'{' {
                return cursor.value().map(|_| ());
            }
            if kept.out.len() > from {
                kept.out.push(b',');
            }
            has_some |= self.keep_entries(cursor, node, kept)?;
            Some(())
        })?;
        kept.out.push(b']');
        Some(has_some)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{json, places};
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;
    use std::collections::BTreeSet;

    const POD: &str = r#" {"metadata":{"name":"web","labels":{"a/b":"1","c":"2"}},
        "spec":{"containers":[{"image":"x","n":1},{"n":2}], "args":["a"],"\u006fdd" : null} } "#;

    #[track_caller]
    fn check(json: &str, pointers: &[&str], expect: &str) {
        let kept = Projection::new(pointers).kept(json.as_bytes());
        assert_eq!(String::from_utf8_lossy(&kept), expect, "{pointers:?} of {json}");
    }

    #[test]
    fn values_keep_their_nesting_and_their_order() {
        check(POD, &["/metadata/name"], r#"{"metadata":{"name":"web"}}"#);
        let labels = r#"{"metadata":{"name":"web","labels":{"a/b":"1"}}}"#;
        check(POD, &["/metadata/labels/a~1b", "/metadata/name"], labels);
        check(POD, &["/spec/odd"], r#"{"spec":{"\u006fdd":null}}"#);
        check(POD, &["/spec/args", "/spec/args/x"], r#"{"spec":{"args":["a"]}}"#);
        check(POD, &[""], POD.trim());
    }

    #[test]
    fn nothing_is_kept_where_nothing_is() {
        check(POD, &[], "{}");
        check(POD, &["/metadata/uid", "/metadata/name/first", "/status/phase"], "{}");
        check(POD, &["/spec/args/x", "/spec/args/0"], "{}");
        check("[]", &["/a"], "[]");
        check("1", &["/a"], "{}");
        check("{\"a\":", &["/a"], "{}");
    }

    #[test]
    fn a_pointer_leads_to_every_object_of_an_array() {
        let images = r#"{"spec":{"containers":[{"image":"x"},{}]}}"#;
        check(POD, &["/spec/containers/image"], images);
        let both = r#"{"a":[{"b":[{"c":1},{"c":2}]},{}]}"#;
        check(r#"{"a":[{"b":[{"c":1,"d":0},{"c":2}]},7,[{"b":1}],{}]}"#, &["/a/b/c"], both);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn what_is_kept_is_at_its_place_and_nothing_is_added(json in json(), pick in 0_usize..64) {
            // Of a key that comes twice both are kept: the oracle's text has each once.
            let tree: Value = serde_json::from_str(&json).expect("the test's JSON is JSON");
            let json = tree.to_string();
            let mut all = BTreeSet::new();
            places(&tree, "", &mut all);
            let pointer = all.iter().nth(pick % all.len()).expect("there is the whole");
            let kept = Projection::new([pointer]).kept(json.as_bytes());
            let kept: Value = serde_json::from_slice(&kept).expect("JSON");
            let steps: Vec<&str> = pointer.split('/').collect();
            let through_array =
                (1..steps.len()).any(|to| tree.pointer(&steps[..to].join("/")).is_some_and(Value::is_array));
            if !through_array {
                prop_assert_eq!(kept.pointer(pointer), tree.pointer(pointer), "{} of {}", pointer, &json);
                let again = Projection::new([pointer]).kept(kept.to_string().as_bytes());
                prop_assert_eq!(again, kept.to_string().into_bytes());
            }
        }
    }
}
