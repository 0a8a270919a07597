//! Prepares one version of a plugin while the version before it goes on: configures, checks, compiles and describes.

use crate::account::{Held, Holding, Ledger, Overdraft};
use crate::call_error::CallError;
use crate::contract::configuration::{ConfigurationError, PluginSettings};
use crate::contract::descriptor::{Descriptor, DescriptorError};
use crate::directory::Content;
use crate::guest::compiler::{CompileError, Compiler, PluginSource};
use crate::guest::engine::Engine;
use crate::guest::guest_state::GuestState;
use crate::guest::host_functions::HostFunctions;
use crate::guest::instance::Template;
use crate::guest::tape::Tapes;
use crate::guest_threads::GuestThreads;
use crate::log_budget::LogBudget;
use crate::log_tail::LogTail;
use crate::outside::leading::Leading;
use crate::plugin_name::PluginName;
use crate::powers::Powers;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::oneshot;

/// The memory of a descriptor's texts as a multiple of its bytes: as it was read, in each subscription's handler, and in
/// the actors.
const DESCRIPTOR_TIMES: usize = 8;

/// A version that is ready to be started. The code is shared, so a clone is cheap.
#[derive(Clone)]
pub(crate) struct Prepared {
    pub(crate) template: Template,
    pub(crate) descriptor: Descriptor,
    /// The settings of the version.
    pub(crate) settings: Arc<PluginSettings>,
    /// The number of shards.
    pub(crate) shards: usize,
    /// The version's descriptor and configuration, in the plugin's account.
    _held: Arc<Held>,
}

/// The order to prepare a version.
pub(crate) struct PrepareOrder {
    pub(crate) name: PluginName,
    /// The hash of the plugin file, in hexadecimal.
    pub(crate) sha256: String,
    pub(crate) code: Code,
    /// The settings of the version.
    pub(crate) settings: Arc<PluginSettings>,
    /// The plugin's ledger, which notes the version's memory.
    pub(crate) ledger: Arc<Ledger>,
    /// The plugin's last log lines.
    pub(crate) log: LogTail,
    /// The plugin's log rate: loads one after the other have no more lines than one version.
    pub(crate) log_budget: LogBudget,
}

/// The source of a version's code.
pub(crate) enum Code {
    /// A plugin file. The plugin's last compiled code is used if it has the same content.
    File(Content, LastCompiled),
    Compiled(Template),
}

/// A plugin's last compiled code, with the hash of its file: a change of the configuration needs no compilation.
/// Clones share it.
#[derive(Clone, Default)]
pub(crate) struct LastCompiled(Arc<Mutex<Option<(String, Template)>>>);

/// The reason for which a plugin file was not loaded. Its text is for people.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LoadError {
    /// The file is not a plugin for this host, or cannot be compiled.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// `describe` failed.
    #[error("describe failed: {0}")]
    Describe(CallError),
    /// The descriptor cannot be used.
    #[error(transparent)]
    Descriptor(#[from] DescriptorError),
    /// `start` of the new version failed.
    #[error("start failed: {0}")]
    Start(CallError),
    /// The new version did not accept the snapshot of the version before.
    #[error("restore failed: {0}")]
    Restore(CallError),
    /// The version asks for a grant that it lacks.
    #[error("{0}")]
    NotGranted(String),
    /// The descriptor exceeds the rest of the plugin's account.
    #[error(transparent)]
    Account(#[from] Overdraft),
    /// The version's indexes exceed the rest of the plugin's account.
    #[error("its indexes need more memory: {0}")]
    Indexes(Overdraft),
    /// The version cannot run in so many shards.
    #[error("{0}")]
    Shards(String),
    /// The configuration cannot be used.
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    /// A part of the host ended unexpectedly.
    #[error("the host could not carry it out: {0}")]
    Host(String),
}

impl LoadError {
    /// Whether the plugin would have exceeded its memory with the version.
    pub(crate) fn is_want_of_room(&self) -> bool {
        match self {
            Self::Account(_) | Self::Compile(CompileError::Account(_)) => true,
            Self::Describe(error) | Self::Start(error) | Self::Restore(error) => {
                matches!(error, CallError::AccountExceeded(_))
            }
            _ => false,
        }
    }

    /// Whether the plugin itself refused, possibly because of its `config`.
    pub(crate) fn is_of_plugin(&self) -> bool {
        match self {
            Self::Describe(error) | Self::Start(error) => {
                matches!(error, CallError::Guest { .. })
            }
            _ => false,
        }
    }
}

/// Prepares versions.
#[derive(Clone)]
pub(crate) struct Preparer {
    pub(crate) engine: Engine,
    pub(crate) functions: HostFunctions,
    pub(crate) threads: Arc<GuestThreads>,
    pub(crate) powers: Powers,
    pub(crate) compiler: Compiler,
    pub(crate) leading: Leading,
    /// The tapes that record all exchanges between plugins and the host. `functions` then record them.
    pub(crate) tapes: Option<Arc<dyn Tapes>>,
}

impl Preparer {
    /// Prepares a version that gets all requested grants.
    pub(crate) async fn prepare(&self, order: PrepareOrder) -> Result<Prepared, LoadError> {
        let name = order.name.clone();
        let mut prepared = self.describe(order).await?;
        prepared.settings = prepared.settings.with_requests(name.as_str(), &prepared.descriptor)?;
        let granted = prepared.settings.grants.check(name.as_str(), &prepared.descriptor);
        granted.map_err(LoadError::NotGranted)?;
        let granted = prepared.settings.writes.check(name.as_str(), &prepared.descriptor.writes);
        granted.map_err(LoadError::NotGranted)?;
        let granted = prepared.settings.http.check(name.as_str(), &prepared.descriptor.http);
        granted.map_err(LoadError::NotGranted)?;
        Ok(prepared)
    }

    /// Prepares a version, whatever it asks for.
    pub(crate) async fn describe(&self, order: PrepareOrder) -> Result<Prepared, LoadError> {
        let PrepareOrder { name, sha256, code, settings, ledger, log, log_budget } = order;
        let memory_max = settings.limits.host_memory_max;
        settings.check_file(&format!("{name}.wasm"), &sha256)?;
        let instance_bytes_max = settings.limits.memory_bytes_max as u64;
        let template = match code {
            Code::Compiled(template) => template,
            Code::File(content, last) => match last.get(&sha256) {
                Some(template) => template,
                None => {
                    let (name, hash) = (name.clone(), sha256.clone());
                    let source = PluginSource { name, sha256: hash, content, instance_bytes_max };
                    let began = Instant::now();
                    let compiled = self.compiler.compile(&self.engine, source).await;
                    ledger.compiled(began.elapsed());
                    let charged = (&ledger, memory_max);
                    let template = Template::new(&self.functions, compiled?, charged)?;
                    last.set(sha256, &template);
                    template
                }
            },
        };
        // Compiled code may have to run with a lower limit than before.
        template.report().check_instance(instance_bytes_max)?;
        let (described, engine) = (template.clone(), self.engine.clone());
        let with = settings.clone();
        let (reply, answer) = oneshot::channel();
        // A version that is not loaded yet also runs on the threads for guests.
        let pace = self.threads.pace(Arc::default());
        pace.loads(Instant::now());
        let state = {
            let (plugin, limits) = (name.clone(), &settings.limits);
            let state = GuestState::new(plugin, limits, log_budget.clone(), None);
            let state = state.with_pace(pace.clone()).with_leading(self.leading.clone());
            state.charged_to(&ledger).logging_to(&log)
        };
        let describing = async move {
            // The send fails if the plugin was removed meanwhile.
            let _ = reply.send(describe(&described, &engine, state, &with.config).await);
        };
        self.threads.spawn(describing, pace);
        let ended = |_| LoadError::Host("describe was cut off".to_owned());
        let answer = answer.await.map_err(ended)?;
        log_budget.settle(name.as_str(), Instant::now());
        let (descriptor, bytes) = answer?;
        let bytes = descriptor_bytes(&descriptor, bytes) + settings.config.len();
        let held = Held::of(&ledger, Holding::Documents, bytes as u64, memory_max)?;
        descriptor.check_exports(template.exported())?;
        let shards = settings.shards(descriptor.shards);
        check_shards(shards, template.exported().stateful, &settings)?;
        Ok(Prepared { template, descriptor, settings, shards, _held: Arc::new(held) })
    }
}

impl LastCompiled {
    fn get(&self, sha256: &str) -> Option<Template> {
        let last = self.0.lock();
        last.as_ref().filter(|(of, _)| of == sha256).map(|(_, template)| template.clone())
    }

    fn set(&self, sha256: String, template: &Template) {
        *self.0.lock() = Some((sha256, template.clone()));
    }
}

/// The memory of a descriptor that has so many bytes as JSON.
fn descriptor_bytes(descriptor: &Descriptor, json: usize) -> usize {
    let projected = descriptor.subscriptions.iter().map(|it| it.projected_bytes());
    json * DESCRIPTOR_TIMES + projected.sum::<usize>()
}

/// One instance's snapshot is not the memory of several instances.
fn check_shards(
    shards: usize,
    is_stateful: bool,
    settings: &PluginSettings,
) -> Result<(), LoadError> {
    if shards == 1 || !is_stateful {
        return Ok(());
    }
    let place = settings.shards_place();
    Err(LoadError::Shards(format!(
        "shards is {shards} ({place}) and it exports `stateful`, whose snapshot is the memory of one instance: set shards to 1, or load a version that exports no `stateful`"
    )))
}

/// Calls `describe` in an instance without permissions, which is dropped afterwards. Also returns the bytes of the
/// descriptor.
async fn describe(
    template: &Template,
    engine: &Engine,
    state: GuestState,
    config: &[u8],
) -> Result<(Descriptor, usize), LoadError> {
    let mut instance = template.instantiate(engine, state).await.map_err(LoadError::Describe)?;
    let answer = instance.describe(config).await.map_err(LoadError::Describe)?;
    Ok((Descriptor::parse(&answer)?, answer.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(subscription: &str, steps: usize) {
        let json = format!(
            r#"{{"version":"1","subscriptions":[{{"resource":"v1/pods"{subscription}}}]}}"#
        );
        let descriptor = Descriptor::parse(json.as_bytes()).expect("a descriptor");
        let bytes = descriptor_bytes(&descriptor, json.len()) - json.len() * DESCRIPTOR_TIMES;
        assert_eq!(bytes, 2 * steps * informant_cache::Projection::STEP_BYTES, "{json}");
    }

    #[test]
    fn each_step_of_a_pointer_is_charged() {
        check("", 0);
        check(r#","onlyIfChanged":["/spec/nodeName","/status"]"#, 3);
        check(&format!(r#","onlyIfChanged":["{}"]"#, "/a".repeat(127)), 127);
        check(r#","enqueue":[{"pointer":"/spec/a/b","namespace":"none"}]"#, 3);
        check(r#","fieldSelector":"spec.nodeName=a,status.phase=b""#, 2 * 4);
    }
}
