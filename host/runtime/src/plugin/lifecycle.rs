//! The states of a plugin's name and their transitions: a pure state machine.

use crate::delivery::not_now::NotNow;

/// What a plugin is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LifecycleState {
    /// Its first version is being checked, compiled and started.
    Loading,
    /// Its first version has started, and its subscriptions are not all in place yet.
    Subscribing {
        /// What the version is doing.
        then: Box<LifecycleState>,
    },
    /// It asks for something that it was not given, or this host does not lead; nothing of it runs.
    Waiting {
        /// What it waits for.
        reason: String,
    },
    /// It takes events, and hears of everything that changes from here on.
    Running,
    /// A new version is being prepared, and the one before it goes on; or it has taken over, and its subscriptions are not all in place yet.
    Reloading {
        /// What the one that has the queue is doing.
        before: Box<LifecycleState>,
    },
    /// Its instance ended and a new one is due.
    BackingOff {
        /// How the instance ended.
        reason: String,
    },
    /// It failed too often. Now and then one event is tried; the others wait until one succeeds.
    Tripped {
        /// How it failed.
        reason: String,
    },
    /// Somebody holds it: its events wait until it is resumed.
    Paused {
        /// What it goes on with.
        then: Box<LifecycleState>,
    },
    /// Its file is gone: what waits is told, and nothing else.
    Draining {
        /// What its version is doing.
        then: Box<LifecycleState>,
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
    /// Its file has new content, or a version is to be loaded again.
    FileChanged,
    /// The version of the file has the queue.
    Loaded,
    /// Its subscriptions are in place.
    Subscribed,
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
    /// Its version is ready, and runs when this host leads.
    Standby {
        /// Who leads.
        reason: String,
    },
    /// The running instance ended.
    Crashed {
        /// How.
        reason: String,
    },
    /// A new instance of the same version runs.
    Restarted,
    /// The breaker opened.
    Tripped {
        /// What was too much.
        reason: String,
    },
    /// The breaker closed: the event that was tried succeeded.
    Recovered,
    /// Its file is gone.
    FileGone,
    /// The file is there again.
    FileBack,
    /// Somebody holds it.
    Paused,
    /// Whoever held it lets it go on. One that is tripped tries again at once.
    Resumed,
}

impl LifecycleState {
    /// The state after `input`. A version that runs goes on running whatever happens to its successor. Invariant 24.
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

    /// Nothing runs, so only loads matter.
    fn step_without_version(self, input: Input) -> Self {
        match input {
            Input::FileChanged => Self::Loading,
            Input::LoadFailed { reason } => Self::Stopped { reason },
            Input::NotGranted { reason } | Input::Standby { reason } => Self::Waiting { reason },
            _ => self,
        }
    }

    /// Some version has the queue.
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

    /// Why the plugin is not simply running.
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

    /// Whether some version takes events now, in all of its shards: one that backs off in any, is tripped or paused does not.
    pub fn takes_events(&self) -> bool {
        match self {
            Self::Running => true,
            Self::Reloading { before: inner }
            | Self::Subscribing { then: inner }
            | Self::Draining { then: inner } => inner.takes_events(),
            _ => false,
        }
    }

    /// Why the plugin is not called at all, if somebody or something holds it.
    pub(crate) fn not_now(&self) -> Option<NotNow> {
        match self {
            Self::Paused { .. } => Some(NotNow::Paused),
            _ if self.is_tripped() => Some(NotNow::Tripped),
            Self::BackingOff { .. } => Some(NotNow::BackingOff),
            _ => None,
        }
    }

    /// Whether it failed too often, whatever happens to it beside that.
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

    /// Whether its first version is still on its way.
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

    /// Whatever comes in whatever order, a version that took over is never forgotten.
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
