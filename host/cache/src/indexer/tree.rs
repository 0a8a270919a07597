//! A persistent ordered set: a clone is one counted reference and never changes again.
//!
//! A B+tree whose nodes are shared between clones. A write copies the nodes on its way that another clone still
//! has, and changes the others in place: a batch of writes copies each node once. Nothing in client-go answers to it: its
//! store is a map behind a lock. It is ours because the known ones are under licences that the
//! dependency policy does not allow, or keep a node for each item.

use std::ops::Bound;
use std::sync::Arc;

/// Items in a leaf. Copying a leaf touches the reference count of each of its items, which is what a write costs: few.
const LEAF_MAX: usize = 16;
/// Children of an inner node.
const INNER_MAX: usize = 32;

/// What a tree is ordered by.
pub(super) trait Keyed: Clone {
    type Key: Ord + Clone + std::fmt::Debug;
    fn key(&self) -> &Self::Key;
}

#[derive(Clone, Debug)]
pub(super) struct Tree<T: Keyed> {
    /// None of its nodes is empty, but for a root that is a leaf. All leaves are equally deep.
    root: Arc<Node<T>>,
    len: usize,
}

#[derive(Clone, Debug)]
enum Node<T: Keyed> {
    Leaf(Vec<T>),
    Inner(Vec<Child<T>>),
}

#[derive(Clone, Debug)]
struct Child<T: Keyed> {
    /// Not above any key below, and above every key of the child before. The first child's is not looked at.
    low: T::Key,
    node: Arc<Node<T>>,
}

impl<T: Keyed> Default for Tree<T> {
    fn default() -> Self {
        Self { root: Arc::new(Node::Leaf(Vec::new())), len: 0 }
    }
}

impl<T: Keyed> Tree<T> {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, key: &T::Key) -> Option<&T> {
        let mut node = &*self.root;
        loop {
            match node {
                Node::Leaf(items) => return find(items, key).ok().map(|at| &items[at]),
                Node::Inner(children) => node = &children[way(children, key)].node,
            }
        }
    }

    /// Puts an item in; answers the one that had its key.
    pub(super) fn insert(&mut self, item: T) -> Option<T> {
        let (before, split) = Arc::make_mut(&mut self.root).insert(item);
        if let Some(right) = split {
            let left = std::mem::replace(&mut self.root, right.node.clone());
            let low = left.low().clone();
            self.root = Arc::new(Node::Inner(vec![Child { low, node: left }, right]));
        }
        self.len += usize::from(before.is_none());
        before
    }

    /// Takes the item out; answers it. Nothing is copied where it is not there.
    pub(super) fn remove(&mut self, key: &T::Key) -> Option<T> {
        self.get(key)?;
        let removed = Arc::make_mut(&mut self.root).remove(key);
        while let Node::Inner(children) = &*self.root
            && children.len() == 1
        {
            self.root = children[0].node.clone();
        }
        self.len -= usize::from(removed.is_some());
        removed
    }

    /// Items from a bound on, in order.
    pub(super) fn from(&self, from: Bound<&T::Key>) -> Iter<'_, T> {
        let mut iter = Iter { above: Vec::new(), leaf: [].iter() };
        let mut node = &*self.root;
        loop {
            match node {
                Node::Inner(children) => {
                    let at = match from {
                        Bound::Unbounded => 0,
                        Bound::Included(key) | Bound::Excluded(key) => way(children, key),
                    };
                    iter.above.push(children[at + 1..].iter());
                    node = &children[at].node;
                }
                Node::Leaf(items) => {
                    let at = match from {
                        Bound::Unbounded => 0,
                        Bound::Included(key) => find(items, key).unwrap_or_else(|at| at),
                        Bound::Excluded(key) => find(items, key).map_or_else(|at| at, |at| at + 1),
                    };
                    iter.leaf = items[at..].iter();
                    return iter;
                }
            }
        }
    }

    /// All items, in order.
    pub(super) fn iter(&self) -> Iter<'_, T> {
        self.from(Bound::Unbounded)
    }
}

/// Items of a tree in order.
#[derive(Debug)]
pub(super) struct Iter<'a, T: Keyed> {
    /// What is still to come of each inner node, the root first.
    above: Vec<std::slice::Iter<'a, Child<T>>>,
    leaf: std::slice::Iter<'a, T>,
}

impl<'a, T: Keyed> Iterator for Iter<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        loop {
            if let Some(item) = self.leaf.next() {
                return Some(item);
            }
            let Some(child) = self.above.last_mut()?.next() else {
                self.above.pop();
                continue;
            };
            match &*child.node {
                Node::Leaf(items) => self.leaf = items.iter(),
                Node::Inner(children) => self.above.push(children.iter()),
            }
        }
    }
}

fn find<T: Keyed>(items: &[T], key: &T::Key) -> Result<usize, usize> {
    items.binary_search_by(|item| item.key().cmp(key))
}

/// The child under which the key is, or would be.
fn way<T: Keyed>(children: &[Child<T>], key: &T::Key) -> usize {
    children[1..].partition_point(|child| child.low <= *key)
}

impl<T: Keyed> Node<T> {
    fn low(&self) -> &T::Key {
        match self {
            Self::Leaf(items) => items[0].key(),
            Self::Inner(children) => &children[0].low,
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Leaf(items) => items.len(),
            Self::Inner(children) => children.len(),
        }
    }

    fn max(&self) -> usize {
        match self {
            Self::Leaf(_) => LEAF_MAX,
            Self::Inner(_) => INNER_MAX,
        }
    }

    /// Answers the item that had the key, and the node to put after this one if it became too long.
    fn insert(&mut self, item: T) -> (Option<T>, Option<Child<T>>) {
        match self {
            Self::Leaf(items) => match find(items, item.key()) {
                Ok(at) => (Some(std::mem::replace(&mut items[at], item)), None),
                Err(at) => {
                    let right = insert_or_split(items, at, item, LEAF_MAX);
                    (None, right.map(|right| Child::new(Self::Leaf(right))))
                }
            },
            Self::Inner(children) => {
                let at = way(children, item.key());
                let (before, split) = Arc::make_mut(&mut children[at].node).insert(item);
                let right = split
                    .and_then(|child| insert_or_split(children, at + 1, child, INNER_MAX))
                    .map(|right| Child::new(Self::Inner(right)));
                (before, right)
            }
        }
    }

    /// Takes the key out, which is there.
    fn remove(&mut self, key: &T::Key) -> Option<T> {
        match self {
            Self::Leaf(items) => find(items, key).ok().map(|at| items.remove(at)),
            Self::Inner(children) => {
                let at = way(children, key);
                let child = Arc::make_mut(&mut children[at].node);
                let removed = child.remove(key);
                if child.len() == 0 {
                    children.remove(at);
                } else if child.len() < child.max() / 4 {
                    join(children, at);
                }
                removed
            }
        }
    }
}

impl<T: Keyed> Child<T> {
    fn new(node: Node<T>) -> Self {
        Self { low: node.low().clone(), node: Arc::new(node) }
    }
}

/// Puts an item in; answers what goes to the next node if this one is full. Items that come in order fill
/// their nodes: a list does that.
fn insert_or_split<I>(items: &mut Vec<I>, at: usize, item: I, max: usize) -> Option<Vec<I>> {
    if items.len() < max {
        if items.len() == items.capacity() {
            items.reserve_exact((max / 4).min(max - items.len()));
        }
        items.insert(at, item);
        return None;
    }
    if at == items.len() {
        let mut right = Vec::with_capacity(max);
        right.push(item);
        return Some(right);
    }
    let mut right = items.split_off(max / 2);
    if at <= max / 2 {
        items.insert(at, item);
    } else {
        right.insert(at - max / 2, item);
    }
    Some(right)
}

/// Joins a child that has become short with a neighbour, where both fit into one node.
fn join<T: Keyed>(children: &mut Vec<Child<T>>, at: usize) {
    let fits = |left: usize| {
        let [a, b] = [left, left + 1].map(|at| &children[at].node);
        a.len() + b.len() <= a.max()
    };
    let left = match at {
        at if at > 0 && fits(at - 1) => at - 1,
        at if at + 1 < children.len() && fits(at) => at,
        _ => return,
    };
    let Child { low, node: right } = children.remove(left + 1);
    match (Arc::make_mut(&mut children[left].node), Arc::unwrap_or_clone(right)) {
        (Node::Leaf(items), Node::Leaf(more)) => items.extend(more),
        (Node::Inner(items), Node::Inner(mut more)) => {
            // It was a first child's, so it may be too high.
            more[0].low = low;
            items.extend(more);
        }
        (Node::Leaf(_), Node::Inner(_)) | (Node::Inner(_), Node::Leaf(_)) => {
            unreachable!("all leaves are equally deep")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    impl Keyed for u16 {
        type Key = Self;
        fn key(&self) -> &Self {
            self
        }
    }

    /// Answers the depth, and the lowest and highest item.
    #[track_caller]
    fn check_node(node: &Node<u16>, is_root: bool) -> (usize, Option<(u16, u16)>) {
        assert!(is_root || node.len() > 0, "no node but the root is empty");
        assert!(node.len() <= node.max());
        let children = match node {
            Node::Leaf(items) => {
                return (1, items.first().copied().zip(items.last().copied()));
            }
            Node::Inner(children) => children,
        };
        assert!(!is_root || children.len() > 1, "a root of one child is that child");
        let below: Vec<_> = children.iter().map(|c| check_node(&c.node, false)).collect();
        assert!(below.iter().all(|(depth, _)| *depth == below[0].0), "leaves are equally deep");
        let ends: Vec<_> = below.iter().filter_map(|(_, ends)| *ends).collect();
        for (child, ends) in children[1..].iter().zip(ends.windows(2)) {
            assert!(ends[0].1 < child.low && child.low <= ends[1].0);
        }
        (below[0].0 + 1, ends.first().map(|e| e.0).zip(ends.last().map(|e| e.1)))
    }

    #[track_caller]
    fn check(tree: &Tree<u16>, model: &BTreeSet<u16>) {
        check_node(&tree.root, true);
        assert_eq!(tree.len(), model.len());
        assert!(tree.iter().eq(model.iter()), "{:?} is not {model:?}", tree.iter());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_tree_is_an_ordered_set_and_its_clones_do_not_change(
            writes in prop::collection::vec((any::<bool>(), 0..400_u16), 0..3000),
            clone_every in 1..200_usize,
            probes in prop::collection::vec(0..401_u16, 20),
        ) {
            let (mut tree, mut model) = (Tree::default(), BTreeSet::new());
            let mut clones = Vec::new();
            for (number, (insert, item)) in writes.into_iter().enumerate() {
                let changed = if insert {
                    tree.insert(item).is_none() == model.insert(item)
                } else {
                    tree.remove(&item).is_some() == model.remove(&item)
                };
                prop_assert!(changed);
                if number % clone_every == 0 {
                    clones.push((tree.clone(), model.clone()));
                }
            }
            clones.push((tree, model));
            for (tree, model) in &clones {
                check(tree, model);
            }
            let (tree, model) = clones.last().expect("one was pushed");
            for probe in probes {
                prop_assert_eq!(tree.get(&probe), model.get(&probe));
                for bound in [Bound::Included(&probe), Bound::Excluded(&probe)] {
                    prop_assert!(tree.from(bound).eq(model.range((bound, Bound::Unbounded))));
                }
            }
        }
    }

    #[test]
    fn what_comes_in_order_fills_its_leaves() {
        let mut tree = Tree::default();
        for item in 0..16_000_u16 {
            tree.insert(item);
        }
        let mut leaves = 0;
        let mut nodes = vec![tree.root.clone()];
        while let Some(node) = nodes.pop() {
            match &*node {
                Node::Leaf(_) => leaves += 1,
                Node::Inner(children) => nodes.extend(children.iter().map(|c| c.node.clone())),
            }
        }
        assert_eq!(leaves, 16_000 / LEAF_MAX);
    }

    #[test]
    fn a_write_copies_only_its_way() {
        let mut tree = Tree::default();
        for item in 0..16_000_u16 {
            tree.insert(item);
        }
        let before = tree.clone();
        tree.insert(5);
        let (Node::Inner(old), Node::Inner(new)) = (&*before.root, &*tree.root) else {
            panic!("it has more than a leaf")
        };
        let copied = old.iter().zip(new).filter(|(a, b)| !Arc::ptr_eq(&a.node, &b.node)).count();
        assert_eq!(copied, 1);
    }
}
