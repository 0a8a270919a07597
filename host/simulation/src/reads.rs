//! Reads in every way. Their answers must agree with each other.

use crate::door::Door;
use crate::history::same_version;
use crate::journal::Journal;
use informant_cache::{IndexFunc, Object};
use std::collections::{BTreeMap, BTreeSet};

/// The names of the indexes.
pub(crate) const INDEXES: [&str; 2] = ["by-app", "by-colour"];

/// The index with this number.
pub(crate) fn index(number: usize) -> (&'static str, IndexFunc) {
    let function = match number {
        0 => IndexFunc::new(|object| values(0, object)),
        _ => IndexFunc::json_pointer("/data/colour".parse().expect("a pointer")),
    };
    (INDEXES[number], function)
}

/// The values of the index with this number for an object, computed in another way.
fn values(number: usize, object: &Object) -> Vec<String> {
    match number {
        0 => object.label("app").map(str::to_owned).into_iter().collect(),
        _ => {
            let tree: serde_json::Value =
                serde_json::from_slice(&object.json()).unwrap_or_default();
            tree["data"]["colour"].as_str().map(str::to_owned).into_iter().collect()
        }
    }
}

fn same(one: &[Object], other: &[Object]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same_version(one, other))
}

pub(crate) fn check_pages(journal: &Journal, door: &Door, everything: &[Object], limit: usize) {
    let (mut paged, mut cursor) = (Vec::new(), None::<String>);
    loop {
        match door.list(limit, cursor.as_deref()) {
            Ok(page) => {
                paged.extend(page.items);
                cursor = page.next;
            }
            Err(error) => journal.broken("pages can be read", error.to_string()),
        }
        if cursor.is_none() || journal.is_broken() {
            break;
        }
    }
    journal.check(same(&paged, everything), "pages show what a whole list shows", || {
        format!("{} and {} objects", paged.len(), everything.len())
    });
    let namespaces: BTreeSet<String> = everything
        .iter()
        .filter_map(|object| object.key().to_string().split_once('/').map(|(n, _)| n.to_owned()))
        .collect();
    let counted: usize = namespaces.iter().map(|name| door.count(Some(name))).sum();
    journal.check(counted == everything.len(), "namespaces count all objects", || {
        format!("{counted} of {}", everything.len())
    });
    for object in everything {
        let got = door.get(object.key());
        let right = got.is_some_and(|got| same_version(&got, object));
        journal.check(right, "get shows what a list shows", || object.key().to_string());
    }
}

/// Checks that each index equals an index that is built from the objects again.
pub(crate) fn check_indexes(journal: &Journal, door: &Door, everything: &[Object]) {
    for (number, name) in INDEXES.iter().enumerate() {
        let Ok(found) = door.index_values(name) else { continue };
        let mut expect: BTreeMap<String, Vec<Object>> = BTreeMap::new();
        for object in everything {
            for value in values(number, object) {
                expect.entry(value).or_default().push(object.clone());
            }
        }
        let right = found.items.iter().eq(expect.keys());
        journal.check(right, "indexes have the values of what is stored", || {
            format!("{name}: {:?} instead of {:?}", found.items, expect.keys())
        });
        for (value, objects) in &expect {
            let filed = door.by_index(name, value).map(|page| page.items);
            let filed = filed.unwrap_or_default();
            journal.check(same(&filed, objects), "indexes file what is stored", || {
                let keys = |objects: &[Object]| {
                    objects.iter().map(|object| object.key().to_string()).collect::<Vec<_>>()
                };
                format!("{name}={value}: {:?} instead of {:?}", keys(&filed), keys(objects))
            });
        }
    }
}
