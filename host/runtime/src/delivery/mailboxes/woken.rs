//! The actors that a change of the mailboxes concerns.

/// The actors that may have work after a change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::delivery) enum Woken {
    #[default]
    None,
    /// The actor of this shard.
    One(usize),
    All,
}

impl Woken {
    /// Adds a shard that the change concerns.
    pub(super) fn add(&mut self, shard: usize) {
        *self = match *self {
            Self::None => Self::One(shard),
            Self::One(other) if other == shard => Self::One(shard),
            Self::One(_) | Self::All => Self::All,
        };
    }
}
