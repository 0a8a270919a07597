//! A persistent ordered set: a clone is one counted reference and never changes again.
//!
//! A B+tree whose nodes are shared between clones. A write copies the nodes on its path that another clone shares, and
//! changes the others in place: a batch of writes copies each node once. client-go has no counterpart: its store is a
//! map behind a lock. Known crates have licences that the dependency policy does not allow, or keep a node for each
//! item.

use std::ops::Bound;
use std::sync::Arc;

/// Items in a leaf: few, because a write copies a leaf and so touches the reference count of each of its items.
const LEAF_MAX: usize = 16;
/// Children of an inner node.
const INNER_MAX: usize = 32;

/// Items with a key, by which a tree is ordered.
pub(super) trait Keyed: Clone {
    type Key: Ord + Clone + std::fmt::Debug;
    fn key(&self) -> &Self::Key;
}

#[derive(Clone, Debug)]
pub(super) struct Tree<T: Keyed> {
    /// No node is empty, unless the root is an empty leaf. All leaves have the same depth.
    root: Arc<TreeNode<T>>,
    len: usize,
}

#[derive(Clone, Debug)]
enum TreeNode<T: Keyed> {
    Leaf(Vec<T>),
    Inner(InnerNode<T>),
}

/// Children change with every write below them, their keys only when a child comes or goes: a copy shares the keys.
#[derive(Clone, Debug)]
struct InnerNode<T: Keyed> {
    nodes: Vec<Arc<TreeNode<T>>>,
    /// One for each child: at most the lowest key below it, and above every key of the child before. The first one is
    /// not used.
    lows: Arc<Vec<T::Key>>,
}

/// A node on its way to its parent.
struct Child<T: Keyed> {
    low: T::Key,
    node: Arc<TreeNode<T>>,
}

impl<T: Keyed> Default for Tree<T> {
    fn default() -> Self {
        Self { root: Arc::new(TreeNode::Leaf(Vec::new())), len: 0 }
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
                TreeNode::Leaf(items) => return find(items, key).ok().map(|at| &items[at]),
                TreeNode::Inner(inner) => node = &inner.nodes[inner.way(key)],
            }
        }
    }

    /// Inserts an item; returns the former item of its key.
    pub(super) fn insert(&mut self, item: T) -> Option<T> {
        let (before, split) = Arc::make_mut(&mut self.root).insert(item);
        if let Some(right) = split {
            let left = std::mem::replace(&mut self.root, right.node.clone());
            let lows = Arc::new(vec![left.low().clone(), right.low]);
            self.root =
                Arc::new(TreeNode::Inner(InnerNode { nodes: vec![left, right.node], lows }));
        }
        self.len += usize::from(before.is_none());
        before
    }

    /// Removes the item; returns it. Without such an item nothing is copied.
    pub(super) fn remove(&mut self, key: &T::Key) -> Option<T> {
        self.get(key)?;
        let removed = Arc::make_mut(&mut self.root).remove(key);
        while let TreeNode::Inner(InnerNode { nodes, .. }) = &*self.root
            && nodes.len() == 1
        {
            self.root = nodes[0].clone();
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
                TreeNode::Inner(inner) => {
                    let at = match from {
                        Bound::Unbounded => 0,
                        Bound::Included(key) | Bound::Excluded(key) => inner.way(key),
                    };
                    iter.above.push(inner.nodes[at + 1..].iter());
                    node = &inner.nodes[at];
                }
                TreeNode::Leaf(items) => {
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
    /// The remaining children of each inner node, the root first.
    above: Vec<std::slice::Iter<'a, Arc<TreeNode<T>>>>,
    leaf: std::slice::Iter<'a, T>,
}

impl<'a, T: Keyed> Iterator for Iter<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        loop {
            if let Some(item) = self.leaf.next() {
                return Some(item);
            }
            let Some(node) = self.above.last_mut()?.next() else {
                self.above.pop();
                continue;
            };
            match &**node {
                TreeNode::Leaf(items) => self.leaf = items.iter(),
                TreeNode::Inner(inner) => self.above.push(inner.nodes.iter()),
            }
        }
    }
}

fn find<T: Keyed>(items: &[T], key: &T::Key) -> Result<usize, usize> {
    items.binary_search_by(|item| item.key().cmp(key))
}

impl<T: Keyed> TreeNode<T> {
    fn low(&self) -> &T::Key {
        match self {
            Self::Leaf(items) => items[0].key(),
            Self::Inner(inner) => &inner.lows[0],
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Leaf(items) => items.len(),
            Self::Inner(inner) => inner.nodes.len(),
        }
    }

    fn max(&self) -> usize {
        match self {
            Self::Leaf(_) => LEAF_MAX,
            Self::Inner(_) => INNER_MAX,
        }
    }

    /// Returns the former item of the key, and the node to put after this one if this one became too long.
    fn insert(&mut self, item: T) -> (Option<T>, Option<Child<T>>) {
        match self {
            Self::Leaf(items) => match find(items, item.key()) {
                Ok(at) => (Some(std::mem::replace(&mut items[at], item)), None),
                Err(at) => {
                    let right = insert_or_split(items, at, item, LEAF_MAX);
                    (None, right.map(|right| Child::new(Self::Leaf(right))))
                }
            },
            Self::Inner(inner) => {
                let at = inner.way(item.key());
                let (before, split) = Arc::make_mut(&mut inner.nodes[at]).insert(item);
                let right = split.and_then(|child| inner.insert(at + 1, child));
                (before, right.map(|right| Child::new(Self::Inner(right))))
            }
        }
    }

    /// Removes the key, which must exist.
    fn remove(&mut self, key: &T::Key) -> Option<T> {
        match self {
            Self::Leaf(items) => find(items, key).ok().map(|at| items.remove(at)),
            Self::Inner(inner) => {
                let at = inner.way(key);
                let child = Arc::make_mut(&mut inner.nodes[at]);
                let removed = child.remove(key);
                if child.len() == 0 {
                    inner.remove(at);
                } else if child.len() < child.max() / 4 {
                    inner.join(at);
                }
                removed
            }
        }
    }
}

impl<T: Keyed> InnerNode<T> {
    /// The child under which the key is, or would be.
    fn way(&self, key: &T::Key) -> usize {
        self.lows[1..].partition_point(|low| low <= key)
    }

    /// Inserts a child; returns the part for the next node if this one is full.
    fn insert(&mut self, at: usize, child: Child<T>) -> Option<Self> {
        let nodes = insert_or_split(&mut self.nodes, at, child.node, INNER_MAX);
        let lows = insert_or_split(Arc::make_mut(&mut self.lows), at, child.low, INNER_MAX);
        let (nodes, lows) = nodes.zip(lows)?;
        Some(Self { nodes, lows: Arc::new(lows) })
    }

    fn remove(&mut self, at: usize) -> Child<T> {
        Child { node: self.nodes.remove(at), low: Arc::make_mut(&mut self.lows).remove(at) }
    }

    /// Joins a child that has become short with a neighbour, if both fit into one node.
    fn join(&mut self, at: usize) {
        let fits = |left: usize| {
            let [a, b] = [left, left + 1].map(|at| &self.nodes[at]);
            a.len() + b.len() <= a.max()
        };
        let left = match at {
            at if at > 0 && fits(at - 1) => at - 1,
            at if at + 1 < self.nodes.len() && fits(at) => at,
            _ => return,
        };
        let Child { low, node: right } = self.remove(left + 1);
        match (Arc::make_mut(&mut self.nodes[left]), Arc::unwrap_or_clone(right)) {
            (TreeNode::Leaf(items), TreeNode::Leaf(more)) => items.extend(more),
            (TreeNode::Inner(inner), TreeNode::Inner(mut more)) => {
                let lows = Arc::make_mut(&mut more.lows);
                // It was a first child's, so it may be too high.
                lows[0] = low;
                Arc::make_mut(&mut inner.lows).append(lows);
                inner.nodes.extend(more.nodes);
            }
            (TreeNode::Leaf(_), TreeNode::Inner(_)) | (TreeNode::Inner(_), TreeNode::Leaf(_)) => {
                unreachable!("all leaves are equally deep")
            }
        }
    }
}

impl<T: Keyed> Child<T> {
    fn new(node: TreeNode<T>) -> Self {
        Self { low: node.low().clone(), node: Arc::new(node) }
    }
}

/// Inserts an item; returns the part for the next node if this one is full. Items in ascending order, as in a list,
/// fill their nodes.
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

    /// Returns the depth, and the lowest and highest item.
    #[track_caller]
    fn check_node(node: &TreeNode<u16>, is_root: bool) -> (usize, Option<(u16, u16)>) {
        assert!(is_root || node.len() > 0, "no node but the root is empty");
        assert!(node.len() <= node.max());
        let InnerNode { nodes, lows } = match node {
            TreeNode::Leaf(items) => {
                return (1, items.first().copied().zip(items.last().copied()));
            }
            TreeNode::Inner(inner) => inner,
        };
        assert!(!is_root || nodes.len() > 1, "a root of one child is that child");
        assert_eq!(nodes.len(), lows.len());
        let below: Vec<_> = nodes.iter().map(|node| check_node(node, false)).collect();
        assert!(below.iter().all(|(depth, _)| *depth == below[0].0), "leaves are equally deep");
        let ends: Vec<_> = below.iter().filter_map(|(_, ends)| *ends).collect();
        for (low, ends) in lows[1..].iter().zip(ends.windows(2)) {
            assert!(ends[0].1 < *low && *low <= ends[1].0);
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
                TreeNode::Leaf(_) => leaves += 1,
                TreeNode::Inner(inner) => nodes.extend(inner.nodes.iter().cloned()),
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
        let (TreeNode::Inner(old), TreeNode::Inner(new)) = (&*before.root, &*tree.root) else {
            panic!("it has more than a leaf")
        };
        let children = old.nodes.iter().zip(&new.nodes);
        assert_eq!(children.filter(|(a, b)| !Arc::ptr_eq(a, b)).count(), 1);
        assert!(Arc::ptr_eq(&old.lows, &new.lows), "no child came or went");
    }
}
