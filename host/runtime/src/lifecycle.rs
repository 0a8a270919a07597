//! The states of a plugin's name and what moves it from one to the next: a pure machine.

/// What a plugin is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Its first version is being checked, compiled and started.
    Loading,
    /// It asks for something that it was not given; nothing of it runs.
    Waiting {
        /// What is missing.
        reason: String,
    },
    /// It takes events.
    Running,
    /// A new version is being prepared, and the one before it goes on.
    Reloading {
        /// How the running instance ended, while it is being replaced.
        lost: Option<String>,
    },
    /// Its instance ended and a new one is due.
    BackingOff {
        /// How the instance ended.
        reason: String,
    },
    /// There is no version that can run.
    Stopped {
        /// Why the only version there is was refused.
        reason: String,
    },
}

/// What happens to a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// Its file has new content.
    FileChanged,
    /// The version of the file took over.
    Loaded,
    /// The version of the file was refused.
    LoadFailed {
        /// Why.
        reason: String,
    },
    /// The version of the file asks for more than it may have.
    NotGranted {
        /// What is missing.
        reason: String,
    },
    /// The running instance ended.
    Crashed {
        /// How.
        reason: String,
    },
    /// A new instance of the same version runs.
    Restarted,
}

impl State {
    /// The state after `input`. A version that runs goes on running whatever happens to its successor.
    #[must_use]
    pub fn step(self, input: Input) -> Self {
        use Input as I;
        match (self, input) {
            (Self::Loading | Self::Waiting { .. } | Self::Stopped { .. }, I::FileChanged) => {
                Self::Loading
            }
            (Self::Running, I::FileChanged) => Self::Reloading { lost: None },
            (Self::BackingOff { reason }, I::FileChanged) => Self::Reloading { lost: Some(reason) },
            (state @ Self::Reloading { .. }, I::FileChanged) => state,
            (_, I::Loaded) => Self::Running,
            (
                Self::Reloading { lost: Some(reason) },
                I::LoadFailed { .. } | I::NotGranted { .. },
            ) => Self::BackingOff { reason },
            (Self::Reloading { lost: None }, I::LoadFailed { .. } | I::NotGranted { .. }) => {
                Self::Running
            }
            (
                state @ (Self::Running | Self::BackingOff { .. }),
                I::LoadFailed { .. } | I::NotGranted { .. },
            ) => state,
            (
                Self::Loading | Self::Waiting { .. } | Self::Stopped { .. },
                I::LoadFailed { reason },
            ) => Self::Stopped { reason },
            (
                Self::Loading | Self::Waiting { .. } | Self::Stopped { .. },
                I::NotGranted { reason },
            ) => Self::Waiting { reason },
            (Self::Running | Self::BackingOff { .. }, I::Crashed { reason }) => {
                Self::BackingOff { reason }
            }
            (Self::Reloading { .. }, I::Crashed { reason }) => {
                Self::Reloading { lost: Some(reason) }
            }
            (Self::Reloading { .. }, I::Restarted) => Self::Reloading { lost: None },
            (Self::BackingOff { .. }, I::Restarted) => Self::Running,
            (
                state @ (Self::Loading | Self::Waiting { .. } | Self::Stopped { .. }),
                I::Crashed { .. } | I::Restarted,
            ) => state,
            (Self::Running, I::Restarted) => Self::Running,
        }
    }

    /// The name of the state as `/plugins` shows it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Loading => "loading",
            Self::Waiting { .. } => "waiting",
            Self::Running => "running",
            Self::Reloading { .. } => "reloading",
            Self::BackingOff { .. } => "backing-off",
            Self::Stopped { .. } => "stopped",
        }
    }

    /// Why the plugin is not simply running.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Loading | Self::Running => None,
            Self::Reloading { lost } => lost.as_deref(),
            Self::Waiting { reason } | Self::BackingOff { reason } | Self::Stopped { reason } => {
                Some(reason)
            }
        }
    }

    /// Whether some version takes events now: while a plugin backs off, none does.
    pub fn takes_events(&self) -> bool {
        matches!(self, Self::Running | Self::Reloading { lost: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(inputs: &[&str], expect: &str) {
        let reason = || "why".to_owned();
        let state = inputs.iter().fold(State::Loading, |state, input| {
            state.step(match *input {
                "changed" => Input::FileChanged,
                "loaded" => Input::Loaded,
                "failed" => Input::LoadFailed { reason: reason() },
                "not granted" => Input::NotGranted { reason: reason() },
                "crashed" => Input::Crashed { reason: reason() },
                "restarted" => Input::Restarted,
                other => panic!("no such input: {other}"),
            })
        });
        assert_eq!(state.name(), expect, "{inputs:?}");
    }

    #[test]
    fn a_good_version_runs_on_whatever_follows_it() {
        check(&["loaded"], "running");
        check(&["loaded", "changed"], "reloading");
        check(&["loaded", "changed", "failed"], "running");
        check(&["loaded", "changed", "not granted"], "running");
        check(&["loaded", "changed", "loaded"], "running");
        check(&["loaded", "crashed"], "backing-off");
        check(&["loaded", "crashed", "crashed"], "backing-off");
        check(&["loaded", "crashed", "restarted"], "running");
        check(&["loaded", "crashed", "changed", "loaded"], "running");
        check(&["loaded", "crashed", "changed", "failed"], "backing-off");
        check(&["loaded", "crashed", "changed", "restarted", "failed"], "running");
        check(&["loaded", "changed", "crashed", "failed"], "backing-off");
        check(&["loaded", "changed", "crashed", "loaded"], "running");
    }

    #[test]
    fn without_a_good_version_the_reason_stays() {
        check(&["failed"], "stopped");
        check(&["not granted"], "waiting");
        check(&["failed", "changed"], "loading");
        check(&["failed", "changed", "loaded"], "running");
        check(&["not granted", "changed", "failed"], "stopped");
    }
}
