//! What may be asked of a running host of plugins: the host's task carries it out between two of its other steps.

use crate::kept::dead_letters::Selection;
use crate::plugin_name::PluginName;
use tokio::sync::{mpsc, oneshot};

/// Requests that wait for the host's task; more wait at their sender.
pub(crate) const REQUESTS_MAX: usize = 16;

/// Changes a running host's plugins. Cheap to clone.
#[derive(Clone)]
pub struct PluginAdmin {
    requests: mpsc::Sender<Request>,
}

/// Why something that was asked for was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdminError {
    /// No file of that name is in the directories.
    #[error("there is no plugin {0}; `informant plugin list` shows those there are")]
    NoSuchPlugin(PluginName),
    /// It cannot be done now.
    #[error("{0}")]
    Refused(String),
    /// The host is ending.
    #[error("the host is stopping")]
    Stopping,
}

/// One thing to do, and whom to tell how it went.
pub(crate) struct Request {
    pub(crate) name: PluginName,
    pub(crate) action: Action,
    pub(crate) reply: Reply,
}

/// The way back: what was done, in words.
pub(crate) type Reply = oneshot::Sender<Result<String, AdminError>>;

pub(crate) enum Action {
    Reload,
    Rollback,
    Pause,
    Resume,
    Redrive(Selection),
    Purge(Selection),
}

impl PluginAdmin {
    pub(crate) fn new() -> (Self, mpsc::Receiver<Request>) {
        let (requests, receiver) = mpsc::channel(REQUESTS_MAX);
        (Self { requests }, receiver)
    }

    /// Loads the plugin's file again, as if it had changed. Answers once the version took over, or why it did not.
    pub async fn reload(&self, name: &PluginName) -> Result<String, AdminError> {
        self.ask(name, Action::Reload).await
    }

    /// Puts the version before in charge again; asking twice goes back and forth. The file stays as it is, and is loaded again
    /// when its content changes.
    pub async fn rollback(&self, name: &PluginName) -> Result<String, AdminError> {
        self.ask(name, Action::Rollback).await
    }

    /// From here on the plugin's events wait: answers once the one in its hands has ended. New versions are loaded all the same.
    pub async fn pause(&self, name: &PluginName) -> Result<String, AdminError> {
        self.ask(name, Action::Pause).await
    }

    /// Ends a pause, and closes the breaker of a plugin that failed too often.
    pub async fn resume(&self, name: &PluginName) -> Result<String, AdminError> {
        self.ask(name, Action::Resume).await
    }

    /// Tells the plugin the present state of the objects of these dead letters (`deleted` for those that are gone), with the reason
    /// `redrive`, and forgets the letters.
    pub async fn redrive(
        &self,
        name: &PluginName,
        selection: Selection,
    ) -> Result<String, AdminError> {
        self.ask(name, Action::Redrive(selection)).await
    }

    /// Forgets these dead letters.
    pub async fn purge(
        &self,
        name: &PluginName,
        selection: Selection,
    ) -> Result<String, AdminError> {
        self.ask(name, Action::Purge(selection)).await
    }

    async fn ask(&self, name: &PluginName, action: Action) -> Result<String, AdminError> {
        let (reply, answer) = oneshot::channel();
        let request = Request { name: name.clone(), action, reply };
        self.requests.send(request).await.map_err(|_| AdminError::Stopping)?;
        answer.await.map_err(|_| AdminError::Stopping)?
    }
}
