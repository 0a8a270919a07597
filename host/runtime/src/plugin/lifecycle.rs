//! The states of a plugin's name and their transitions: a pure state machine.

use crate::delivery::not_now::NotNow;

/// The state of a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LifecycleState {
    /// The first version is being checked, compiled and started.
    Loading,
    /// The first version has started, and its subscriptions are not all in place yet.
    Subscribing {
        /// The version's state afterwards.
        then: Box<LifecycleState>,
    },
    /// The plugin asks for a grant that it lacks, or this host does not lead. Nothing of the plugin runs.
    Waiting {
        /// The missing grant, or the lead.
        reason: String,
    },
    /// The plugin takes events, and gets every change from here on.
    Running,
    /// A new version is being prepared while the one before it goes on. Or the new version has taken over, and its
    /// subscriptions are not all in place yet.
    Reloading {
        /// The state of the version that has the queue.
        before: Box<LifecycleState>,
    },
    /// The instance ended and a new one is due.
    BackingOff {
        /// How the instance ended.
        reason: String,
    },
    /// The plugin failed too often. Failed events and keys wait, and one of them is tried from time to time. First
    /// attempts go on with pauses. A call that succeeds ends this state.
    Tripped {
        /// The failures.
        reason: String,
    },
    /// A user paused the plugin: its events wait until the plugin is resumed.
    Paused {
        /// The state after the pause.
        then: Box<LifecycleState>,
    },
    /// The file is gone: waiting events are delivered, and no new ones.
    Draining {
        /// The state of the version.
        then: Box<LifecycleState>,
    },
    /// There is no version that can run.
    Stopped {
        /// The reason for which the only version was refused.
        reason: String,
    },
}

/// An input of the plugin's state machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// The file has new content, or a version is to be loaded again.
    FileChanged,
    /// The version of the file has the queue.
    Loaded,
    /// The subscriptions are in place.
    Subscribed,
    /// The version of the file was refused.
    LoadFailed {
        /// The error.
        reason: String,
    },
    /// The version of the file asks for a grant that it lacks.
    NotGranted {
        /// The missing grant.
        reason: String,
    },
    /// The version is ready, and runs when this host leads.
    Standby {
        /// The host that leads.
        reason: String,
    },
    /// The running instance ended.
    Crashed {
        /// How the instance ended.
        reason: String,
    },
    /// A new instance of the same version runs.
    Restarted,
    /// The breaker opened.
    Tripped {
        /// The failures.
        reason: String,
    },
    /// The breaker closed: a call succeeded.
    Recovered,
    /// The file is gone.
    FileGone,
    /// The file is there again.
    FileBack,
    /// A user paused the plugin.
    Paused,
    /// A user resumed the plugin. An open breaker tries again at once.
    Resumed,
}

impl LifecycleState {
    /// The state after `input`. A running version goes on, whatever the result of later loads. Invariant 24.
    #[must_use]
    pub fn step(self, input: Input) -> Self {
        use Input as I;
        match (self, input) {
            (Self::Draining { then }, I::FileBack) => *then,
            (state @ Self::Draining { .. }, I::FileGone) => state,
            (Self::Draining { then }, input) => Self::Draining { then: Box::new(then.step(input)) },
            (state, I::FileGone) => Self::Draining { then: Box::new(state) },
            (Self::Paused { then }, I::Resumed) => then.step(I::Resumed),
            (state @ Self::Paused { .. }, I::Paused) => state,
            (Self::Paused { then }, input) => Self::Paused { then: Box::new(then.step(input)) },
            (state, I::Paused) => Self::Paused { then: Box::new(state) },
            (Self::Loading | Self::Waiting { .. } | Self::Stopped { .. }, I::Loaded) => {
                Self::Subscribing { then: Box::new(Self::Running) }
            }
            (_, I::Loaded) => Self::Reloading { before: Box::new(Self::Running) },
            (
                Self::Reloading { before: then } | Self::Subscribing { then },
                I::Subscribed | I::LoadFailed { .. } | I::NotGranted { .. },
            ) => *then,
            (Self::Subscribing { then }, input) => {
                Self::Subscribing { then: Box::new(then.step(input)) }
            }
            (state @ Self::Reloading { .. }, I::FileChanged) => state,
            (Self::Reloading { before }, input) => {
                Self::Reloading { before: Box::new(before.step(input)) }
            }
            (state @ (Self::Loading | Self::Waiting { .. } | Self::Stopped { .. }), input) => {
                state.step_without_version(input)
            }
            (
                state @ (Self::Running | Self::BackingOff { .. } | Self::Tripped { .. }),
                I::FileChanged,
            ) => Self::Reloading { before: Box::new(state) },
            (state, input) => state.step_with_version(input),
        }
    }

    /// The next state while nothing runs: only loads matter.
    fn step_without_version(self, input: Input) -> Self {
        match input {
            Input::FileChanged => Self::Loading,
            Input::LoadFailed { reason } => Self::Stopped { reason },
            Input::NotGranted { reason } | Input::Standby { reason } => Self::Waiting { reason },
            _ => self,
        }
    }

    /// The next state while a version has the queue.
    fn step_with_version(self, input: Input) -> Self {
        match (self, input) {
            (Self::Running | Self::BackingOff { .. }, Input::Crashed { reason }) => {
                Self::BackingOff { reason }
            }
            (Self::BackingOff { .. }, Input::Restarted)
            | (Self::Tripped { .. }, Input::Recovered | Input::Resumed) => Self::Running,
            (_, Input::Tripped { reason }) => Self::Tripped { reason },
            (state, _) => state,
        }
    }

    /// The name of the state as `/plugins` shows it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Loading | Self::Subscribing { .. } => "loading",
            Self::Waiting { .. } => "waiting",
            Self::Running => "running",
            Self::Reloading { .. } => "reloading",
            Self::BackingOff { .. } => "backing-off",
            Self::Tripped { .. } => "tripped",
            Self::Paused { .. } => "paused",
            Self::Draining { .. } => "draining",
            Self::Stopped { .. } => "stopped",
        }
    }

    /// The reason for which the plugin is not simply running.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Loading | Self::Running => None,
            Self::Reloading { before: inner }
            | Self::Subscribing { then: inner }
            | Self::Paused { then: inner }
            | Self::Draining { then: inner } => inner.reason(),
            Self::Waiting { reason }
            | Self::BackingOff { reason }
            | Self::Tripped { reason }
            | Self::Stopped { reason } => Some(reason),
        }
    }

    /// Whether a version takes events now in all of its shards. One that is tripped, paused, or backs off in any shard
    /// does not.
    pub fn takes_events(&self) -> bool {
        match self {
            Self::Running => true,
            Self::Reloading { before: inner }
            | Self::Subscribing { then: inner }
            | Self::Draining { then: inner } => inner.takes_events(),
            _ => false,
        }
    }

    /// The reason for which no event is delivered, if the plugin is held.
    pub(crate) fn not_now(&self) -> Option<NotNow> {
        match self {
            Self::Paused { .. } => Some(NotNow::Paused),
            _ if self.is_tripped() => Some(NotNow::Tripped),
            Self::BackingOff { .. } => Some(NotNow::BackingOff),
            _ => None,
        }
    }

    /// Whether the breaker is open, whatever the rest of the state.
    pub fn is_tripped(&self) -> bool {
        match self {
            Self::Tripped { .. } => true,
            Self::Reloading { before: inner }
            | Self::Subscribing { then: inner }
            | Self::Paused { then: inner }
            | Self::Draining { then: inner } => inner.is_tripped(),
            _ => false,
        }
    }

    /// Whether the first version is still being loaded.
    pub fn is_first_load(&self) -> bool {
        match self {
            Self::Loading | Self::Subscribing { .. } => true,
            Self::Paused { then } => then.is_first_load(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(inputs: &[&str], expect: &str) {
        let reason = || "why".to_owned();
        let state = inputs.iter().fold(LifecycleState::Loading, |state, input| {
            let state = if *input == "loaded" { state.step(Input::Loaded) } else { state };
            state.step(match *input {
                "changed" => Input::FileChanged,
                "swapped" => Input::Loaded,
                "loaded" | "subscribed" => Input::Subscribed,
                "failed" => Input::LoadFailed { reason: reason() },
                "not granted" => Input::NotGranted { reason: reason() },
                "standby" => Input::Standby { reason: reason() },
                "crashed" => Input::Crashed { reason: reason() },
                "restarted" => Input::Restarted,
                "tripped" => Input::Tripped { reason: reason() },
                "recovered" => Input::Recovered,
                "paused" => Input::Paused,
                "resumed" => Input::Resumed,
                "gone" => Input::FileGone,
                "back" => Input::FileBack,
                other => panic!("no such input: {other}"),
            })
        });
        assert_eq!(state.name(), expect, "{inputs:?}");
    }

    /// Invariant 24.
    #[test]
    fn a_good_version_runs_on_whatever_follows_it() {
        check(&["loaded"], "running");
        check(&["loaded", "changed"], "reloading");
        check(&["loaded", "changed", "changed"], "reloading");
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
    fn one_runs_once_its_subscriptions_are_in_place() {
        check(&["swapped"], "loading");
        check(&["swapped", "subscribed"], "running");
        check(&["swapped", "crashed", "subscribed"], "backing-off");
        check(&["swapped", "paused", "subscribed", "resumed"], "running");
        check(&["swapped", "paused", "resumed"], "loading");
        check(&["failed", "changed", "swapped"], "loading");
        check(&["loaded", "changed", "swapped"], "reloading");
        check(&["loaded", "changed", "swapped", "subscribed"], "running");
        check(&["loaded", "crashed", "changed", "swapped", "subscribed"], "running");
        check(&["loaded", "changed", "swapped", "crashed", "subscribed"], "backing-off");
    }

    #[test]
    fn without_a_good_version_the_reason_stays() {
        check(&["failed"], "stopped");
        check(&["not granted"], "waiting");
        check(&["failed", "changed"], "loading");
        check(&["failed", "changed", "loaded"], "running");
        check(&["not granted", "changed", "failed"], "stopped");
        check(&["failed", "crashed"], "stopped");
        check(&["standby"], "waiting");
        check(&["standby", "changed", "failed", "standby"], "waiting");
        check(&["standby", "changed", "loaded"], "running");
        check(&["paused", "standby", "resumed"], "waiting");
    }

    #[test]
    fn one_that_is_tripped_stays_so_until_it_recovers_or_is_replaced() {
        check(&["loaded", "crashed", "tripped"], "tripped");
        check(&["loaded", "tripped", "crashed", "restarted"], "tripped");
        check(&["loaded", "tripped", "recovered"], "running");
        check(&["loaded", "tripped", "resumed"], "running");
        check(&["loaded", "crashed", "tripped", "resumed", "crashed"], "backing-off");
        check(&["loaded", "tripped", "changed"], "reloading");
        check(&["loaded", "tripped", "changed", "failed"], "tripped");
        check(&["loaded", "tripped", "changed", "recovered", "failed"], "running");
        check(&["loaded", "tripped", "changed", "loaded"], "running");
    }

    #[test]
    fn one_that_is_paused_goes_on_with_what_became_of_it() {
        check(&["loaded", "paused"], "paused");
        check(&["loaded", "paused", "paused", "resumed"], "running");
        check(&["paused", "loaded"], "paused");
        check(&["paused", "loaded", "resumed"], "running");
        check(&["paused", "resumed"], "loading");
        check(&["loaded", "paused", "changed", "loaded"], "paused");
        check(&["loaded", "paused", "changed", "resumed"], "reloading");
        check(&["loaded", "paused", "changed", "failed", "resumed"], "running");
        check(&["loaded", "crashed", "paused", "resumed"], "backing-off");
        check(&["loaded", "tripped", "paused", "resumed"], "running");
        check(&["loaded", "resumed"], "running");
    }

    #[test]
    fn one_whose_file_is_gone_goes_on_when_it_comes_back() {
        check(&["loaded", "gone"], "draining");
        check(&["loaded", "gone", "gone", "crashed", "restarted"], "draining");
        check(&["loaded", "gone", "back"], "running");
        check(&["loaded", "gone", "crashed", "back"], "backing-off");
        check(&["loaded", "gone", "back", "changed", "loaded"], "running");
        check(&["loaded", "back"], "running");
        check(&["loaded", "paused", "gone", "back"], "paused");
    }

    /// A version that took over is never forgotten, whatever the inputs and their order.
    #[test]
    fn what_has_run_never_stops_for_good() {
        let inputs = || {
            let reason = || "why".to_owned();
            [
                Input::FileChanged,
                Input::Loaded,
                Input::Subscribed,
                Input::LoadFailed { reason: reason() },
                Input::NotGranted { reason: reason() },
                Input::Standby { reason: reason() },
                Input::Crashed { reason: reason() },
                Input::Restarted,
                Input::Tripped { reason: reason() },
                Input::Recovered,
                Input::Paused,
                Input::Resumed,
                Input::FileGone,
                Input::FileBack,
            ]
        };
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..2_000 {
            let mut state = LifecycleState::Loading.step(Input::Loaded).step(Input::Subscribed);
            for _ in 0..20 {
                state = state.step(random.choice(inputs()).expect("there are some"));
                let text = format!("{state:?}");
                for never in ["Loading,", "Loading }", "Waiting", "Stopped"] {
                    assert!(state != LifecycleState::Loading && !text.contains(never), "{text}");
                }
            }
        }
    }
}
