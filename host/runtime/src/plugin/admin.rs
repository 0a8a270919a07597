//! Requests to a running plugin host. The host's task carries them out between its other steps.

use crate::kept::dead_letters::Selection;
use crate::plugin_name::PluginName;
use tokio::sync::{mpsc, oneshot};

/// Requests that wait for the host's task; further senders wait.
pub(crate) const REQUESTS_MAX: usize = 16;

/// Changes a running host's plugins. Cheap to clone.
#[derive(Clone)]
pub struct PluginAdmin {
    requests: mpsc::Sender<Request>,
}

/// The reason for which a request was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdminError {
    /// No file of that name is in the directories.
    #[error("there is no plugin {0}; `informant plugin list` shows those there are")]
    NoSuchPlugin(PluginName),
    /// The request cannot be carried out now.
    #[error("{0}")]
    Refused(String),
    /// The host is ending.
    #[error("the host is stopping")]
    Stopping,
}

/// A request, and the channel for its result.
pub(crate) struct Request {
    pub(crate) name: PluginName,
    pub(crate) action: Action,
    pub(crate) reply: Reply,
}

/// The channel for the result, as a text.
pub(crate) type Reply = oneshot::Sender<Result<String, AdminError>>;

pub(crate) enum Action {
    Reload,
    Rollback,
    Pause,
    Resume,
    Fire(Option<String>),
    Redrive(Selection),
    Purge(Selection),
}

impl PluginAdmin {
    pub(crate) fn new() -> (Self, mpsc::Receiver<Request>) {
        let (requests, receiver) = mpsc::channel(REQUESTS_MAX);
        (Self { requests }, receiver)
    }

    /// Loads the plugin's file again, as if it had changed. Returns once the version took over, or with the reason why
    /// not.
    pub async fn reload(&self, name: &PluginName) -> Result<String, AdminError> {
        self.ask(name, Action::Reload).await
    }

    /// Puts the previous version in charge again; a second call undoes the first. The file stays, and is loaded again
    /// when its content changes.
    pub async fn rollback(&self, name: &PluginName) -> Result<String, AdminError> {
        self.ask(name, Action::Rollback).await
    }

    /// From here on the plugin's events wait. Returns once the current calls have ended. New versions are still
    /// loaded.
    pub async fn pause(&self, name: &PluginName) -> Result<String, AdminError> {
        self.ask(name, Action::Pause).await
    }

    /// Ends a pause, and closes the breaker of a plugin that failed too often.
    pub async fn resume(&self, name: &PluginName) -> Result<String, AdminError> {
        self.ask(name, Action::Resume).await
    }

    /// Has a schedule of the plugin fire now, in addition to its own times: the only one, if none is named. A paused plugin fires
    /// when it is resumed.
    pub async fn fire(
        &self,
        name: &PluginName,
        schedule: Option<String>,
    ) -> Result<String, AdminError> {
        self.ask(name, Action::Fire(schedule)).await
    }

    /// Delivers the present state of the objects of these dead letters (`deleted` for objects that are gone), with the
    /// reason `redrive`. Deletes the letters.
    pub async fn redrive(
        &self,
        name: &PluginName,
        selection: Selection,
    ) -> Result<String, AdminError> {
        self.ask(name, Action::Redrive(selection)).await
    }

    /// Deletes these dead letters.
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
