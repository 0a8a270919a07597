//! The kinds of plugins that a new project begins with.

use clap::ValueEnum;

/// The plugin of a new project.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Template {
    /// Is called with each change of an object.
    Handler,
    /// Is called with the keys of changed objects, and again at a time of its choice.
    Controller,
    /// Is called on a schedule.
    Timer,
}

impl Template {
    /// What the plugin does. The READMEs of the templates have this text for [`Self::Handler`].
    pub(crate) fn does(self) -> &'static str {
        match self {
            Self::Handler => "it greets every pod",
            Self::Controller => "it warns of Deployments with unavailable replicas",
            Self::Timer => "it counts the pending pods every minute",
        }
    }

    /// The folder in `plugin-sdk/LANGUAGE` with the files that differ from those in `template`.
    pub(crate) fn folder(self) -> &'static str {
        match self {
            Self::Handler => "template",
            Self::Controller => "templates/controller",
            Self::Timer => "templates/timer",
        }
    }
}
