//! The line of the log about one action: its sender, the action and its result.

use super::{ActionRefusal, PluginAction};
use informant_runtime::{PluginName, one_line};
use tracing::info;

/// Bytes of a user's name, or of the letters, in a line of the log.
const LOGGED_BYTES_MAX: usize = 256;
/// Bytes of a result in a line of the log. A refused reload has the error of the load.
const OUTCOME_BYTES_MAX: usize = 1 << 10;

/// The outcome of an action whose request never came to its end.
const LEFT: &str = "the caller left before the end of the request";
/// The outcome of an action that began.
const CUT_OFF: &str = "the host ended before the result";

/// The listener that a request for an action came to. Each has its own proof of the right to act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ActionListener {
    Loopback,
    Secure,
    AdminSocket,
}

impl ActionListener {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Loopback => "loopback",
            Self::Secure => "secure",
            Self::AdminSocket => "admin socket",
        }
    }
}

/// The sender of a request for an action, for the log.
#[derive(Debug)]
pub(crate) struct Requester {
    /// A user's name, or the proof of the right to act. A user may be named like a proof; the listener tells them apart.
    pub(crate) name: String,
    pub(crate) listener: ActionListener,
    /// An address. None on the admin socket.
    pub(crate) from: Option<String>,
}

/// One action in the log, once this is dropped.
pub(super) struct Record {
    pub(super) action: PluginAction,
    pub(super) plugin: PluginName,
    pub(super) by: Requester,
    pub(super) letters: Option<String>,
    outcome: String,
}

impl Record {
    pub(super) fn new(action: PluginAction, plugin: PluginName, by: Requester) -> Self {
        Self { action, plugin, by, letters: None, outcome: LEFT.to_owned() }
    }

    /// From here on the action goes on without its caller.
    pub(super) fn began(&mut self) {
        self.outcome = CUT_OFF.to_owned();
    }

    pub(super) fn ended(&mut self, result: &Result<String, ActionRefusal>) {
        match result {
            Ok(text) => self.outcome.clone_from(text),
            Err(refusal) => self.refused(refusal),
        }
    }

    pub(super) fn refused(&mut self, ActionRefusal(_, text): &ActionRefusal) {
        self.outcome = format!("refused: {text}");
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let Self { action, plugin, by, letters, outcome } = self;
        let letters = letters.as_deref().map(|it| one_line(it, LOGGED_BYTES_MAX).into_owned());
        info!(
            plugin = plugin.as_str(),
            by = %one_line(&by.name, LOGGED_BYTES_MAX),
            listener = by.listener.as_str(),
            from = by.from,
            letters,
            "{} was asked for: {}",
            action.word(),
            one_line(outcome, OUTCOME_BYTES_MAX)
        );
    }
}
