//! The options of a handler: its faults, and how it gets its notifications.

use crate::door::Door;
use crate::narrow::Narrow;
use informant_cache::InformerState;

/// The options of a handler.
pub(crate) struct Manner {
    pub(crate) panics: f64,
    pub(crate) mischief: f64,
    pub(crate) replay: bool,
    pub(crate) inline: bool,
    /// Whether the informer had begun to list when the handler was added.
    pub(crate) late: bool,
    /// The part of the objects that it wants; `None`: all that its access shows.
    pub(crate) narrow: Option<Narrow>,
}

impl Manner {
    /// The options of a handler with this access.
    pub(crate) fn new(door: &Door) -> Self {
        let late = door.state() != InformerState::Created;
        Self { panics: 0.0, mischief: 0.0, replay: true, inline: true, late, narrow: None }
    }
}
