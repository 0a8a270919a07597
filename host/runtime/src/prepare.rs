//! Prepares one version of a plugin aside, while the one before it goes on: check, compile, describe.

use crate::call_error::CallError;
use crate::compiler::{CompileError, Compiler};
use crate::contract::{ContractError, check};
use crate::descriptor::{Descriptor, DescriptorError};
use crate::directory::Content;
use crate::engine::Engine;
use crate::guest_state::GuestState;
use crate::guest_threads::GuestThreads;
use crate::instance::Template;
use crate::limits::Limits;
use crate::log_budget::LogBudget;
use crate::plugin_name::PluginName;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::oneshot;

/// A version that is ready to be started. A cheap handle, as far as its code goes.
#[derive(Clone)]
pub(crate) struct Prepared {
    pub(crate) template: Template,
    pub(crate) descriptor: Descriptor,
}

/// Why a plugin file was not loaded. The text is for people.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LoadError {
    /// The file is not a plugin for this host.
    #[error(transparent)]
    Contract(#[from] ContractError),
    /// The component passes the check and cannot be run all the same.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// `describe` did not answer.
    #[error("describe failed: {0}")]
    Describe(CallError),
    /// What `describe` answered cannot be used.
    #[error(transparent)]
    Descriptor(#[from] DescriptorError),
    /// `start` of the new version failed.
    #[error("start failed: {0}")]
    Start(CallError),
    /// The new version did not accept what the one before it had to say.
    #[error("restore failed: {0}")]
    Restore(CallError),
    /// It asks for more than it may have.
    #[error("{0}")]
    NotGranted(String),
    /// A part of the host ended that should not have.
    #[error("the host could not carry it out: {0}")]
    Host(String),
}

/// Prepares versions; checking and compiling is done one at a time, because it needs all cores and much memory.
#[derive(Clone)]
pub(crate) struct Preparer {
    pub(crate) engine: Engine,
    pub(crate) limits: Limits,
    pub(crate) threads: Arc<GuestThreads>,
    compiler: Compiler,
}

impl Preparer {
    pub(crate) fn new(
        engine: Engine,
        compiler: Compiler,
        threads: Arc<GuestThreads>,
        limits: Limits,
    ) -> Self {
        Self { engine, compiler, threads, limits }
    }

    pub(crate) async fn prepare(
        &self,
        name: PluginName,
        content: Content,
        config: Vec<u8>,
    ) -> Result<Prepared, LoadError> {
        let template = self.compile(content).await?;
        let (described, engine, limits) =
            (template.clone(), self.engine.clone(), self.limits.clone());
        let (reply, answer) = oneshot::channel();
        // A guest runs on the guests' threads only, a version that is not loaded yet as well.
        self.threads.spawn(async move {
            // Nobody waits for it any more when the plugin was removed meanwhile.
            let _ = reply.send(describe(name, &described, &engine, &limits, &config).await);
        });
        let ended = |_| LoadError::Host("describe was cut off".to_owned());
        let descriptor = answer.await.map_err(ended)??;
        granted(&descriptor)?;
        Ok(Prepared { template, descriptor })
    }

    async fn compile(&self, content: Content) -> Result<Template, LoadError> {
        let turn = self.compiler.turn().await;
        // Off the async threads; the file's bytes are gone before compiling begins.
        let checked = tokio::task::spawn_blocking(move || check(&content)).await;
        let component = checked.map_err(|error| LoadError::Host(error.to_string()))??;
        let compiled = self.compiler.compile(&turn, &self.engine, component).await?;
        Ok(Template::new(&self.engine, &compiled)?)
    }
}

/// Asks a version what it wants, in an instance that has nothing and is dropped afterwards.
async fn describe(
    name: PluginName,
    template: &Template,
    engine: &Engine,
    limits: &Limits,
    config: &[u8],
) -> Result<Descriptor, LoadError> {
    // A budget for each load: loads come one at a time and take much longer than a second's lines.
    let log_budget = LogBudget::new(limits, Instant::now());
    let state = GuestState::new(name, limits, log_budget, None);
    let mut instance = template.instantiate(engine, state).await.map_err(LoadError::Describe)?;
    let answer = instance.describe(config).await.map_err(LoadError::Describe)?;
    Ok(Descriptor::parse(&answer)?)
}

/// Reads of everything but Secrets are granted.
fn granted(descriptor: &Descriptor) -> Result<(), LoadError> {
    for resource in descriptor.resources() {
        if resource.is_secrets() {
            let text =
                format!("it asks to read {resource}, and Secrets are never given to a plugin");
            return Err(LoadError::NotGranted(text));
        }
    }
    Ok(())
}
