//! Several places of one JSON text, found in one pass.
//!
//! Pointers (RFC 6901) are split once, into a tree of common steps. The pass follows the steps, and skips everything
//! else. It always reads to the end: of a duplicate key the last one counts, as for `serde_json::Value`, so no result
//! is final before that. There is no `*` here; see [`JsonPointer`](crate::JsonPointer).

mod kept;

use super::cursor::{Cursor, EntryKey};
use super::{position, unescape};
use hashbrown::HashMap;

/// JSON pointers that are looked up together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projection {
    /// The first node is the whole text.
    nodes: Vec<PointerNode>,
    /// The number of pointers.
    len: usize,
}

/// A place at which pointers end or through which they lead.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct PointerNode {
    /// The pointers that end here.
    here: Vec<usize>,
    /// These, and the pointers that lead through this place.
    within: Vec<usize>,
    /// The targets of the steps, by name: an object may have any number of keys, and each is looked up here.
    steps: HashMap<Box<[u8]>, usize>,
    /// The targets of steps that are positions of an array, in order.
    positions: Vec<(usize, usize)>,
}

/// The results of a pass.
struct FoundSpans<'a> {
    /// By pointer.
    values: Vec<Option<&'a [u8]>>,
    /// A key without its escapes.
    scratch: Vec<u8>,
}

impl PointerNode {
    /// The target of an entry with this name.
    fn below(&self, key: EntryKey<'_>, scratch: &mut Vec<u8>) -> Option<usize> {
        self.steps.get(key.name(scratch)?).copied()
    }
}

impl Projection {
    /// The most steps of a pointer; a longer one finds nothing. serde_json reads a tree no deeper, and this bounds the
    /// recursion.
    pub const STEPS_MAX: usize = 127;

    /// Pointers such as `/spec/nodeName`; the empty one is the whole text. A text that is not a pointer finds nothing.
    pub fn new<P: AsRef<str>>(pointers: impl IntoIterator<Item = P>) -> Self {
        let mut projection = Self { nodes: vec![PointerNode::default()], len: 0 };
        for pointer in pointers {
            projection.add(pointer.as_ref());
        }
        projection
    }

    fn add(&mut self, pointer: &str) {
        let number = self.len;
        self.len += 1;
        if pointer.is_empty() {
            return self.nodes[0].here.push(number);
        }
        let Some(steps) = pointer.strip_prefix('/') else { return };
        if steps.split('/').count() > Self::STEPS_MAX {
            return;
        }
        let mut node = 0;
        for step in steps.split('/') {
            node = self.step(node, &unescape(step));
            self.nodes[node].within.push(number);
        }
        self.nodes[node].here.push(number);
    }

    /// The target of a step from a node.
    fn step(&mut self, from: usize, name: &str) -> usize {
        if let Some(known) = self.nodes[from].steps.get(name.as_bytes()) {
            return *known;
        }
        let node = self.nodes.len();
        self.nodes.push(PointerNode::default());
        self.nodes[from].steps.insert(name.as_bytes().into(), node);
        if let Some(position) = position(name) {
            let positions = &mut self.nodes[from].positions;
            let at = positions.partition_point(|(other, _)| *other < position);
            positions.insert(at, (position, node));
        }
        node
    }

    /// The number of pointers.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no pointers.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The text of the value at each pointer, in the order of the pointers.
    ///
    /// The JSON must be well-formed, as every object's is. For other bytes the result is arbitrary.
    pub fn values<'a>(&self, json: &'a [u8]) -> Vec<Option<&'a [u8]>> {
        let mut found = FoundSpans { values: vec![None; self.len], scratch: Vec::new() };
        if !self.is_empty() && self.walk(&mut Cursor::new(json), 0, &mut found).is_none() {
            found.values.fill(None);
        }
        found.values
    }

    /// Reads the value at a node's place.
    fn walk<'a>(
        &self,
        cursor: &mut Cursor<'a>,
        node: usize,
        found: &mut FoundSpans<'a>,
    ) -> Option<()> {
        let node = &self.nodes[node];
        let text = cursor.text_of(|cursor| self.inside(cursor, node, found))?;
        for &number in &node.here {
            found.values[number] = Some(text);
        }
        Some(())
    }

    fn inside<'a>(
        &self,
        cursor: &mut Cursor<'a>,
        node: &PointerNode,
        found: &mut FoundSpans<'a>,
    ) -> Option<()> {
        match cursor.peek()? {
            b'{' if !node.steps.is_empty() => cursor.entries(|cursor, key: EntryKey<'a>| {
                match node.below(key, &mut found.scratch) {
                    Some(below) => {
                        // The key may have come before; that one no longer counts.
                        for &number in &self.nodes[below].within {
                            found.values[number] = None;
                        }
                        self.walk(cursor, below, found)
                    }
                    None => cursor.value().map(|_| ()),
                }
            }),
            b'[' if !node.positions.is_empty() => {
                // Items come in order, and so do the positions.
                let mut next = node.positions.iter().peekable();
                cursor.items(|cursor, position| {
                    match next.next_if(|(wanted, _)| *wanted == position) {
                        Some((_, below)) => self.walk(cursor, *below, found),
                        None => cursor.value().map(|_| ()),
                    }
                })
            }
            _ => cursor.value().map(|_| ()),
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
