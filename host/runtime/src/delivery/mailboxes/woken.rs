//! The actors that a change of the mailboxes concerns.

/// The actors that a change may give something to do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::delivery) enum Woken {
    #[default]
    None,
    /// That of this shard.
    One(usize),
    All,
}

impl Woken {
    /// It concerns this shard too.
    pub(super) fn add(&mut self, shard: usize) {
        *self = match *self {
            Self::None => Self::One(shard),
            Self::One(other) if other == shard => Self::One(shard),
            Self::One(_) | Self::All => Self::All,
        };
    }
}
