//! One row of the matrix: a plugin of some kinds, the steps to its states, and the expected output for each state.

/// The kind of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Handler,
    Controller,
    Timer,
}

pub const ALL: &[Kind] = &[Kind::Handler, Kind::Controller, Kind::Timer];
pub const ON_EVENTS: &[Kind] = &[Kind::Handler, Kind::Controller];

/// The words that a row's texts stand for, for a handler, a controller and a timer.
const WORDS: &[(&str, [&str; 3])] = &[
    ("{CALLS}", ["EVENTS", "KEYS", "FIRINGS"]),
    ("{calls}", ["events", "keys", "firings"]),
    ("{age}", ["queue_age_seconds", "workqueue_age_seconds", "schedule_age_seconds"]),
    ("{ok}", ["/counters/ok", "/counters/keysOk", "/counters/firings"]),
    ("{waiting}", ["/queue/depth", "/workqueue/waiting", "/timers/waiting"]),
    ("{failed}", ["/queue/failed", "/workqueue/failed", "/timers/failed"]),
    ("{failing}", ["being retried: ", "being retried: reconcile ", "schedule failing: fire "]),
];

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Handler => "handler",
            Self::Controller => "controller",
            Self::Timer => "timer",
        }
    }

    /// The text with the words of this kind.
    pub fn say(self, text: &str) -> String {
        let word = |text: String, (word, meant): &(&str, [&str; 3])| {
            text.replace(word, meant[self as usize])
        };
        WORDS.iter().fold(text.to_owned(), word)
    }
}

/// A plugin, in each of these kinds.
pub struct Row {
    pub name: &'static str,
    pub kinds: &'static [Kind],
    pub resource: &'static str,
    /// Its mood and the other keys of its `config`.
    pub config: &'static str,
    /// More lines of the file beside it.
    pub beside: String,
    /// The steps, one after the other, and the expected output after each. The first step does nothing.
    pub stages: Vec<(Step, Shown)>,
}

/// The step that leads a plugin to another state.
#[derive(Clone, Copy)]
pub enum Step {
    /// The plugin changes by itself.
    Nothing,
    Pause,
    Resume,
    /// The plugin's file gets this content.
    Replace(&'static str),
    /// The file beside the plugin gets these lines.
    Beside(&'static str),
    /// A directory replaces the file beside the plugin.
    NoFileBeside,
}

/// The expected output for a plugin, everywhere.
pub struct Shown {
    pub state: &'static str,
    /// The state of its informer.
    pub informer: &'static str,
    /// A text for each reason, in order. Three dots stand for any text between two parts. A bar separates two
    /// alternatives.
    pub why: &'static [&'static str],
    pub letters: usize,
    /// Further claims: the place, the value that is read there, a comparison and a value.
    pub claims: Vec<&'static str>,
}

/// A plugin of all kinds with this name and this mood.
pub fn row(name: &'static str, config: &'static str) -> Row {
    let (resource, beside, stages) = (super::rows::FINE, String::new(), Vec::new());
    Row { name, kinds: ALL, resource, config, beside, stages }
}

impl Row {
    pub fn of(self, kinds: &'static [Kind]) -> Self {
        Self { kinds, ..self }
    }

    pub fn watching(self, resource: &'static str) -> Self {
        Self { resource, ..self }
    }

    pub fn beside(self, lines: impl Into<String>) -> Self {
        Self { beside: lines.into(), ..self }
    }

    /// The first expected output.
    pub fn shows(self, shown: Shown) -> Self {
        self.once(Step::Nothing, shown)
    }

    /// The expected output after a step.
    pub fn once(mut self, step: Step, shown: Shown) -> Self {
        self.stages.push((step, shown));
        self
    }

    pub fn plugin(&self, kind: Kind) -> String {
        format!("{}-{}", kind.name(), self.name)
    }
}

/// A plugin in this state, without reasons.
pub fn is(state: &'static str) -> Shown {
    Shown { state, informer: "synced", why: &[], letters: 0, claims: Vec::new() }
}

impl Shown {
    pub fn because(self, why: &'static [&'static str]) -> Self {
        Self { why, ..self }
    }

    pub fn informer(self, informer: &'static str) -> Self {
        Self { informer, ..self }
    }

    pub fn letters(self, letters: usize) -> Self {
        Self { letters, ..self }
    }

    pub fn and(mut self, claims: &[&'static str]) -> Self {
        self.claims.extend(claims);
        self
    }
}
