//! The members of an object that an expression reads, as a tree.
//!
//! `object.spec.nodeName` and `object.metadata.labels["app"]` are chains of members, and only the values at their ends
//! are read. A path may be known only at run time: a computed index, a loop, a function's argument. Then the last
//! known place in front of it is read whole. For the places on the way to an end, for `has()` and for comparisons with
//! null, the kind of value is enough.

use informant_cache::{Projection, pointer_step};

/// The reads from one object.
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
    /// The number of the place's value in the projection.
    pub(super) number: usize,
    /// Whether the whole value is read. Otherwise its kind is enough, and the members below of an object.
    pub(super) is_whole: bool,
    pub(super) members: Vec<(Box<str>, ReadPlace)>,
}

/// Collects the reads.
#[derive(Default)]
pub(super) struct Collected {
    root: ReadPlace,
    is_used: bool,
}

impl Collected {
    /// Adds a chain of members below the object, with its whole value or only its kind.
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

    /// The pointers to the values that are read. Of places on the way to them only the kind is, which every object has.
    pub(super) fn pointers(&self) -> impl Iterator<Item = String> {
        let mut pointers = Vec::new();
        if self.is_used {
            self.root.ends(String::new(), &mut pointers);
        }
        pointers.into_iter()
    }

    /// The whole object.
    #[cfg(test)]
    pub(super) fn everything() -> Self {
        let mut collected = Collected::default();
        collected.add(&[], true);
        collected.finish()
    }
}

impl ReadPlace {
    fn ends(&self, pointer: String, pointers: &mut Vec<String>) {
        let is_end = self.is_whole || (self.members.is_empty() && !pointer.is_empty());
        for (name, member) in &self.members {
            member.ends(format!("{pointer}/{}", pointer_step(name)), pointers);
        }
        if is_end {
            pointers.push(pointer);
        }
    }
}

fn number(place: &mut ReadPlace, pointer: String, pointers: &mut Vec<String>) {
    place.number = pointers.len();
    pointers.push(pointer.clone());
    if place.is_whole {
        place.members.clear();
    }
    for (name, member) in &mut place.members {
        number(member, format!("{pointer}/{}", pointer_step(name)), pointers);
    }
}
