//! The exports of the contract that a plugin has.

/// Which interfaces for its work a plugin exports, and whether it exports `stateful`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exported {
    pub(crate) handler: bool,
    pub(crate) reconciler: bool,
    pub(crate) timer: bool,
    pub(crate) stateful: bool,
}
