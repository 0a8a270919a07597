//! Decides the effect of a save, with or without a running build. It is a pure step, without time: saves that belong
//! together arrive as one save.

/// The activity of a followed project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// The last built plugin is that of the present sources.
    Idle,
    /// A build of the present sources runs.
    Building,
    /// A build of older sources runs. It was asked to end.
    Overtaken,
    /// The present sources could not be built. The plugin that was built before keeps running.
    Failed,
}

/// An event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Input {
    /// Sources have changed.
    Saved,
    /// The running build has produced a plugin.
    Built,
    /// The running build has failed or was ended.
    Failed,
}

/// The action that follows from an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Nothing,
    /// Start a build.
    Build,
    /// End the running build.
    End,
    /// Give the built plugin to the host.
    Take,
    /// Log why the build failed.
    Tell,
}

impl State {
    /// One step. At most one build runs at a time: a new build starts when the old one has ended.
    pub(crate) fn step(self, input: Input) -> (Self, Order) {
        match (self, input) {
            (Self::Idle | Self::Failed, Input::Saved) => (Self::Building, Order::Build),
            (Self::Building, Input::Saved) => (Self::Overtaken, Order::End),
            (Self::Overtaken, Input::Saved) => (Self::Overtaken, Order::Nothing),
            (Self::Building, Input::Built) => (Self::Idle, Order::Take),
            (Self::Building, Input::Failed) => (Self::Failed, Order::Tell),
            // The result belongs to older sources.
            (Self::Overtaken, Input::Built | Input::Failed) => (Self::Building, Order::Build),
            // No build ran that could end.
            (Self::Idle | Self::Failed, Input::Built | Input::Failed) => (self, Order::Nothing),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Input::{Built, Failed, Saved};
    use Order::{Build, End, Nothing, Take, Tell};

    #[track_caller]
    fn check(inputs: &[Input], orders: &[Order], state: State) {
        let mut now = State::Idle;
        let mut given = Vec::new();
        for &input in inputs {
            let (next, order) = now.step(input);
            now = next;
            given.push(order);
        }
        assert_eq!((&*given, now), (orders, state), "{inputs:?}");
    }

    #[test]
    fn save_builds_and_what_was_built_is_taken() {
        check(&[Saved], &[Build], State::Building);
        check(&[Saved, Built], &[Build, Take], State::Idle);
        check(&[Saved, Built, Saved], &[Build, Take, Build], State::Building);
    }

    #[test]
    fn failure_is_told_and_the_next_save_builds() {
        check(&[Saved, Failed], &[Build, Tell], State::Failed);
        check(&[Saved, Failed, Saved, Built], &[Build, Tell, Build, Take], State::Idle);
    }

    #[test]
    fn newer_save_ends_the_build_once_and_builds_when_it_has_ended() {
        check(&[Saved, Saved], &[Build, End], State::Overtaken);
        check(&[Saved, Saved, Saved], &[Build, End, Nothing], State::Overtaken);
        let orders = [Build, End, Nothing, Build, Take];
        check(&[Saved, Saved, Saved, Failed, Built], &orders, State::Idle);
    }

    #[test]
    fn overtaken_build_is_not_taken_though_it_was_quicker() {
        check(&[Saved, Saved, Built], &[Build, End, Build], State::Building);
        check(&[Saved, Saved, Built, Failed], &[Build, End, Build, Tell], State::Failed);
    }

    #[test]
    fn end_of_nothing_changes_nothing() {
        check(&[Built, Failed], &[Nothing, Nothing], State::Idle);
    }

    /// For any order of inputs, at most one build runs, and the last save is built.
    #[test]
    fn one_build_at_a_time_and_the_last_save_is_built() {
        for number in 0..3_usize.pow(8) {
            let (mut now, mut running, mut unbuilt) = (State::Idle, false, false);
            let choices = (0..8).map(|place| number / 3_usize.pow(place) % 3);
            for choice in choices {
                let input = [Saved, Built, Failed][choice];
                // Only a running build can end.
                if input != Saved && !running {
                    continue;
                }
                running &= input == Saved;
                unbuilt |= input == Saved;
                let (next, order) = now.step(input);
                now = next;
                if order == Build {
                    assert!(!running, "two builds: {number}");
                    (running, unbuilt) = (true, false);
                }
                assert!(running || !unbuilt, "a save was forgotten: {number}");
            }
        }
    }
}
