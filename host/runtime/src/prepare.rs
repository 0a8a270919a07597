//! Prepares one version of a plugin aside, while the one before it goes on: check, compile, describe.

use crate::call_error::CallError;
use crate::contract::{ContractError, check};
use crate::descriptor::{Descriptor, DescriptorError};
use crate::engine::Engine;
use crate::guest_state::GuestState;
use crate::instance::{CompileError, Template};
use crate::limits::Limits;
use crate::log_budget::LogBudget;
use crate::plugin_name::PluginName;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Semaphore;

/// A version that is ready to be started.
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
    /// It asks for more than it may have.
    #[error("{0}")]
    NotGranted(String),
    /// A part of the host ended that should not have.
    #[error("the host could not carry it out: {0}")]
    Host(String),
}

/// Prepares versions; compiling is done one at a time, because it needs all cores and much memory.
#[derive(Clone)]
pub(crate) struct Preparer {
    pub(crate) engine: Engine,
    pub(crate) limits: Limits,
    compiling: Arc<Semaphore>,
}

impl Preparer {
    pub(crate) fn new(engine: Engine, limits: Limits) -> Self {
        Self { engine, limits, compiling: Arc::new(Semaphore::new(1)) }
    }

    pub(crate) async fn prepare(
        &self,
        name: PluginName,
        content: Arc<[u8]>,
        config: Vec<u8>,
    ) -> Result<Prepared, LoadError> {
        let template = self.compile(content).await?;
        // A budget for each load: loads come one at a time and take much longer than a second's lines.
        let log_budget = LogBudget::new(&self.limits, Instant::now());
        let state = GuestState::new(name, &self.limits, log_budget, None);
        let mut instance =
            template.instantiate(&self.engine, state).await.map_err(LoadError::Describe)?;
        let answer = instance.describe(&config).await.map_err(LoadError::Describe)?;
        let descriptor = Descriptor::parse(&answer)?;
        granted(&descriptor)?;
        Ok(Prepared { template, descriptor })
    }

    async fn compile(&self, content: Arc<[u8]>) -> Result<Template, LoadError> {
        let host = |error: &dyn std::fmt::Display| LoadError::Host(error.to_string());
        let permit = self.compiling.clone().acquire_owned().await.map_err(|e| host(&e))?;
        let engine = self.engine.clone();
        let compile = move || {
            let _permit = permit;
            let component = check(&content)?;
            Ok(Template::compile(&engine, &component)?)
        };
        tokio::task::spawn_blocking(compile).await.map_err(|e| host(&e))?
    }
}

/// Reads of everything but Secrets are granted.
fn granted(descriptor: &Descriptor) -> Result<(), LoadError> {
    for resource in descriptor.resources() {
        if resource.group.is_empty() && resource.resource == "secrets" {
            let text =
                format!("it asks to read {resource}, and Secrets are never given to a plugin");
            return Err(LoadError::NotGranted(text));
        }
    }
    Ok(())
}
