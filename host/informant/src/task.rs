//! A task with an owner. The owner waits for its end and gets its result.

use anyhow::{Result, anyhow};
use tokio::task::JoinHandle;

/// A task with its name.
pub(crate) struct Task {
    name: &'static str,
    /// `None` once its end was reported.
    handle: Option<JoinHandle<()>>,
}

impl Task {
    pub(crate) fn spawn(
        name: &'static str,
        task: impl Future<Output = ()> + Send + 'static,
    ) -> Self {
        Self { name, handle: Some(tokio::spawn(task)) }
    }

    /// Aborts the task.
    pub(crate) fn abort(&mut self) {
        if let Some(handle) = self.handle.take() {
            handle.abort();
        }
    }

    /// Waits for its end. A failure is reported once.
    pub(crate) async fn end(&mut self) -> Result<()> {
        let Some(handle) = &mut self.handle else { return Ok(()) };
        let ended = handle.await;
        self.handle = None;
        ended.map_err(|error| anyhow!("{} failed: {error}; please report this", self.name))
    }

    /// Waits for an unrequested end.
    pub(crate) async fn ended_early(&mut self) -> anyhow::Error {
        match self.end().await {
            Ok(()) => anyhow!("{} ended by itself; please report this", self.name),
            Err(error) => error,
        }
    }
}

/// Waits for the end of an optional task that was asked to end.
pub(crate) async fn end(task: &mut Option<Task>) -> Result<()> {
    match task {
        Some(task) => task.end().await,
        None => Ok(()),
    }
}

/// Waits for the end of a task that may not be there.
pub(crate) async fn ended_early(task: &mut Option<Task>) -> anyhow::Error {
    match task {
        Some(task) => task.ended_early().await,
        None => std::future::pending().await,
    }
}
