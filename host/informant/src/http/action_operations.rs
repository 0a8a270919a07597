//! The operations of actions on plugins.

use super::operations::Operation;
use crate::actions::PluginAction;

/// The operation at the path of an action.
pub(super) fn of(action: PluginAction) -> &'static Operation {
    match action {
        PluginAction::Pause => &PAUSE,
        PluginAction::Resume => &RESUME,
        PluginAction::Reload => &RELOAD,
        PluginAction::Rollback => &ROLLBACK,
        PluginAction::Fire => &FIRE,
        PluginAction::Redrive => &REDRIVE,
        PluginAction::Purge => &PURGE,
    }
}

static PAUSE: Operation =
    Operation::action("/plugins/{name}/pause", "Pauses a plugin: its events wait.", None);
static RESUME: Operation = Operation::action(
    "/plugins/{name}/resume",
    "Resumes a plugin that was paused, or that was tripped because it failed too often.",
    None,
);
static RELOAD: Operation =
    Operation::action("/plugins/{name}/reload", "Loads the plugin's file again.", None);
static ROLLBACK: Operation = Operation::action(
    "/plugins/{name}/rollback",
    "Runs the version before. A second rollback returns to the newer one.",
    None,
);
static FIRE: Operation = Operation::action(
    "/plugins/{name}/fire",
    "Calls a schedule of a plugin now, in addition to its own times.",
    Some("OneSchedule"),
);
static REDRIVE: Operation = Operation::action(
    "/plugins/{name}/dead-letters/redrive",
    "Sends dead letters again, with the present state of their objects.",
    Some("Letters"),
);
static PURGE: Operation = Operation::action(
    "/plugins/{name}/dead-letters/purge",
    "Deletes dead letters.",
    Some("Letters"),
);
