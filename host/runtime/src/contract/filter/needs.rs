//! What an expression reads of an object: the members that it names, as a tree.
//!
//! `object.spec.nodeName` and `object.metadata.labels["app"]` are chains of members, and only their ends are read. Where a way is
//! known only when the expression runs (an index that is computed, a loop, a function's argument) the last place that is known
//! before is read whole. On the way to an end, and for `has()` and comparisons with null, it is enough to know what a place is.

use informant_cache::Projection;

/// What is read of one object.
#[derive(Debug, Clone)]
pub(super) struct Needs {
    /// A pointer for each place of the tree.
    pub(super) projection: Projection,
    pub(super) root: ReadPlace,
    is_used: bool,
}

/// A place that is read.
#[derive(Debug, Clone, Default)]
pub(super) struct ReadPlace {
    /// Which of the projection's values it is.
    pub(super) number: usize,
    /// All of it. Otherwise it is enough to know what it is, and of an object these members.
    pub(super) is_whole: bool,
    pub(super) members: Vec<(Box<str>, ReadPlace)>,
}

/// Collects what is read.
#[derive(Default)]
pub(super) struct Collected {
    root: ReadPlace,
    is_used: bool,
}

impl Collected {
    /// A chain of members below the object is read, all of it or what it is.
    pub(super) fn add(&mut self, members: &[&str], is_whole: bool) {
        self.is_used = true;
        let mut place = &mut self.root;
        for name in members {
            let known = place.members.iter().position(|(known, _)| **known == **name);
            let index = known.unwrap_or_else(|| {
                place.members.push(((*name).into(), ReadPlace::default()));
                place.members.len() - 1
            });
            place = &mut place.members[index].1;
        }
        place.is_whole |= is_whole;
    }

    pub(super) fn finish(mut self) -> Needs {
        let mut pointers = Vec::new();
        number(&mut self.root, String::new(), &mut pointers);
        let projection = Projection::new(pointers);
        Needs { projection, root: self.root, is_used: self.is_used }
    }
}

impl Needs {
    pub(super) fn is_used(&self) -> bool {
        self.is_used
    }

    /// The whole object, of which nothing is left out.
    #[cfg(test)]
    pub(super) fn everything() -> Self {
        let mut collected = Collected::default();
        collected.add(&[], true);
        collected.finish()
    }
}

fn number(place: &mut ReadPlace, pointer: String, pointers: &mut Vec<String>) {
    place.number = pointers.len();
    pointers.push(pointer.clone());
    if place.is_whole {
        place.members.clear();
    }
    for (name, member) in &mut place.members {
        let name = name.replace('~', "~0").replace('/', "~1");
        number(member, format!("{pointer}/{name}"), pointers);
    }
}
