//! Several places of one JSON text, found in one pass.
//!
//! Pointers (RFC 6901) are split once, into a tree of common steps. The pass follows the steps, and skips everything
//! else. It always reads to the end: of a duplicate key the last one counts, as for `serde_json::Value`, so no result
//! is final before that. There is no `*` here; see [`JsonPointer`](crate::JsonPointer).

mod kept;

use super::cursor::{Cursor, EntryKey};
use super::{position, unescape};
use std::borrow::Cow;

/// JSON pointers that are looked up together.
///
/// A plugin chooses the pointers, so each step is small: a node, and its name among the others'.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projection {
    /// The first node is the whole text. The targets of a node's steps are neighbours, in the order of their names.
    nodes: Box<[PointerNode]>,
    /// The names of all steps, one behind the other.
    names: Box<[u8]>,
    /// The numbers of the pointers, in the order of their places: those that lead through a place are neighbours.
    numbers: Box<[u32]>,
    /// The number of pointers.
    len: usize,
}

/// A stretch of `names`, `numbers` or `nodes`.
type Stretch = [u32; 2];

/// A place at which pointers end or through which they lead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct PointerNode {
    /// The step that leads here, in `names`.
    name: Stretch,
    /// The pointers that end here or lead through this place, in `numbers`. Those that end here come first.
    within: Stretch,
    /// The end of those that end here.
    here_end: u32,
    /// The targets of the steps from here, in `nodes`.
    steps: Stretch,
}

/// The results of a pass.
struct FoundSpans<'a> {
    /// By pointer.
    values: Vec<Option<&'a [u8]>>,
    /// A key without its escapes.
    scratch: Vec<u8>,
}

/// Pointers in the order of their steps, while the tree is made.
type SortedPointers<'a> = [(Vec<Cow<'a, str>>, u32)];

fn at(part: Stretch) -> std::ops::Range<usize> {
    part[0] as usize..part[1] as usize
}

/// The texts of all pointers have less than 4 GiB.
fn place(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl Projection {
    /// The most steps of a pointer; a longer one finds nothing. serde_json reads a tree no deeper, and this bounds the
    /// recursion.
    pub const STEPS_MAX: usize = 127;
    /// The bytes that a step takes here beside its text.
    pub const STEP_BYTES: usize = size_of::<PointerNode>();

    /// Pointers such as `/spec/nodeName`; the empty one is the whole text. A text that is not a pointer finds nothing.
    pub fn new<P: AsRef<str>>(pointers: impl IntoIterator<Item = P>) -> Self {
        let pointers: Vec<P> = pointers.into_iter().collect();
        let numbered = pointers.iter().enumerate();
        let steps = numbered.filter_map(|(number, it)| Some((steps(it.as_ref())?, place(number))));
        let mut sorted: Vec<_> = steps.collect();
        sorted.sort();
        let mut tree = PointerTree { nodes: vec![PointerNode::default()], names: Vec::new() };
        tree.grow(0, &sorted, 0, 0);
        Self {
            nodes: tree.nodes.into(),
            names: tree.names.into(),
            numbers: sorted.iter().map(|(_, number)| *number).collect(),
            len: pointers.len(),
        }
    }

    /// The target of an entry with this name.
    fn below(&self, node: PointerNode, key: EntryKey<'_>, scratch: &mut Vec<u8>) -> Option<usize> {
        let (name, first) = (key.name(scratch)?, node.steps[0] as usize);
        let steps = &self.nodes[at(node.steps)];
        let found = match steps {
            // The common case.
            [only] => (self.name(*only) == name).then_some(0),
            steps => steps.binary_search_by(|step| self.name(*step).cmp(name)).ok(),
        };
        Some(first + found?)
    }

    /// The targets of steps that are positions of an array, in order.
    fn positions(&self, node: PointerNode) -> Vec<(usize, usize)> {
        let position_of = |below: usize| {
            let name = self.name(self.nodes[below]);
            Some((position(std::str::from_utf8(name).ok()?)?, below))
        };
        let mut positions: Vec<_> = at(node.steps).filter_map(position_of).collect();
        positions.sort_unstable();
        positions
    }

    fn name(&self, node: PointerNode) -> &[u8] {
        &self.names[at(node.name)]
    }

    /// The numbers of the pointers that end here.
    fn here(&self, node: PointerNode) -> &[u32] {
        &self.numbers[at([node.within[0], node.here_end])]
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
        let node = self.nodes[node];
        let text = cursor.text_of(|cursor| self.inside(cursor, node, found))?;
        for &number in self.here(node) {
            found.values[number as usize] = Some(text);
        }
        Some(())
    }

    fn inside<'a>(
        &self,
        cursor: &mut Cursor<'a>,
        node: PointerNode,
        found: &mut FoundSpans<'a>,
    ) -> Option<()> {
        let has_steps = !at(node.steps).is_empty();
        match cursor.peek()? {
            b'{' if has_steps => cursor.entries(|cursor, key: EntryKey<'a>| {
                match self.below(node, key, &mut found.scratch) {
                    Some(below) => {
                        // The key may have come before; that one no longer counts.
                        for &number in &self.numbers[at(self.nodes[below].within)] {
                            found.values[number as usize] = None;
                        }
                        self.walk(cursor, below, found)
                    }
                    None => cursor.value().map(|_| ()),
                }
            }),
            b'[' if has_steps => {
                let positions = self.positions(node);
                if positions.is_empty() {
                    return cursor.value().map(|_| ());
                }
                // Items come in order, and so do the positions.
                let mut next = positions.into_iter().peekable();
                cursor.items(|cursor, position| {
                    match next.next_if(|(wanted, _)| *wanted == position) {
                        Some((_, below)) => self.walk(cursor, below, found),
                        None => cursor.value().map(|_| ()),
                    }
                })
            }
            _ => cursor.value().map(|_| ()),
        }
    }
}

/// The steps of a pointer; `None` for one that finds nothing.
fn steps(pointer: &str) -> Option<Vec<Cow<'_, str>>> {
    if pointer.is_empty() {
        return Some(Vec::new());
    }
    let steps = pointer.strip_prefix('/')?.split('/');
    let is_short = steps.clone().count() <= Projection::STEPS_MAX;
    is_short.then(|| steps.map(unescape).collect())
}

/// The nodes that are made so far.
struct PointerTree {
    nodes: Vec<PointerNode>,
    names: Vec<u8>,
}

impl PointerTree {
    /// Makes a node's part of the tree from its pointers, which have `depth` steps in common. `first` is the place of
    /// the first of them in `numbers`.
    fn grow(&mut self, node: usize, pointers: &SortedPointers<'_>, depth: usize, first: usize) {
        // Of equal beginnings the shorter pointer comes first.
        let here = pointers.iter().take_while(|(steps, _)| steps.len() == depth).count();
        let (ends, through) = (first + here, &pointers[here..]);
        let groups = || through.chunk_by(|(one, _), (other, _)| one[depth] == other[depth]);
        let below = self.nodes.len();
        for group in groups() {
            let from = self.names.len();
            self.names.extend_from_slice(group[0].0[depth].as_bytes());
            let name = [from, self.names.len()].map(place);
            self.nodes.push(PointerNode { name, ..PointerNode::default() });
        }
        let steps = [below, self.nodes.len()].map(place);
        let within = [first, first + pointers.len()].map(place);
        let (here_end, name) = (place(ends), self.nodes[node].name);
        self.nodes[node] = PointerNode { name, within, here_end, steps };
        let mut next = ends;
        for (number, group) in groups().enumerate() {
            self.grow(below + number, group, depth + 1, next);
            next += group.len();
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
