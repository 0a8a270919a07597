//! How a handler is: its faults, and how it is told.

use crate::door::Door;
use informant_cache::InformerState;

/// How a handler is.
pub(crate) struct Manner {
    pub(crate) panics: f64,
    pub(crate) mischief: f64,
    pub(crate) replay: bool,
    pub(crate) inline: bool,
    /// The informer had begun to list when it was added.
    pub(crate) late: bool,
}

impl Manner {
    /// A handler behind this door.
    pub(crate) fn new(door: &Door) -> Self {
        let late = door.state() != InformerState::Created;
        Self { panics: 0.0, mischief: 0.0, replay: true, inline: true, late }
    }
}
