//! Which of the contract's exports a plugin has.

/// Which of the exports are there by which a plugin hears of its work, and whether it hands over what it knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exported {
    pub(crate) handler: bool,
    pub(crate) reconciler: bool,
    pub(crate) timer: bool,
    pub(crate) stateful: bool,
}
