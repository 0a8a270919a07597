//! Checks plugin files as a host would load them, and calls only `describe`.

use crate::contract::component::WasiImports;
use crate::contract::configuration::{
    ConfigurationError, Configurations, PluginSettings, Sidecar, granting, granting_http,
    granting_writes,
};
use crate::contract::descriptor::Descriptor;
use crate::contract::limits::Limits;
use crate::directory::{Content, FileKind, read_file};
use crate::guest::compiler::{Compiler, CompilerOptions};
use crate::guest::engine::Engine;
use crate::guest::host_functions::HostFunctions;
use crate::guest_threads::GuestThreads;
use crate::log_budget::LogBudget;
use crate::log_tail::LogTail;
use crate::one_line::{LOAD_ERROR_BYTES_MAX, one_line};
use crate::outside::leading::Leading;
use crate::outside::service_account::ServiceAccount;
use crate::plugin::prepare::{Code, LastCompiled, LoadError, PrepareOrder, Preparer};
use crate::plugin_host::StartError;
use crate::plugin_name::{InvalidPluginName, PluginName};
use crate::powers::Powers;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Checks plugin files.
pub struct PluginChecker {
    preparer: Preparer,
    configurations: Configurations,
}

/// A plugin file as a host would load it.
#[derive(Debug, Clone)]
pub struct PluginReport {
    /// The plugin's name, from its file.
    pub name: PluginName,
    /// The hash of the file, in hexadecimal.
    pub sha256: String,
    /// The size of the file.
    pub bytes: usize,
    /// The imported interfaces of the contract, such as `log`.
    pub imports: Vec<String>,
    /// The imports of WASI.
    pub wasi: WasiImports,
    /// The exported interfaces.
    pub exports: Vec<String>,
    /// The plugin's descriptor.
    pub descriptor: Descriptor,
    /// The limits of the plugin.
    pub limits: Limits,
    /// The plugin's service account; `None`: the host's own user.
    pub service_account: Option<ServiceAccount>,
    /// Whether the host reads the labels of namespaces for it: for a view or for a grant.
    pub needs_namespaces: bool,
    /// The number of shards.
    pub shards: usize,
    /// The lines of a configuration that grant the descriptor's requests.
    pub grant: Vec<String>,
    /// The reason for which a host would have it wait, with the missing line; `None` if it would run.
    pub not_granted: Option<String>,
}

/// The reason for which a file cannot be read or be a plugin.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The file name does not end in `.wasm`.
    #[error("plugin files end in .wasm, in small letters")]
    Ending,
    /// The rest of the file name is not a plugin's name.
    #[error(transparent)]
    Name(#[from] InvalidPluginName),
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Read(#[from] io::Error),
    /// A host would not load the file.
    #[error(transparent)]
    Load(#[from] LoadError),
}

impl CheckError {
    /// The error on one line of a terminal. It may contain names from the file.
    pub fn shown(&self) -> String {
        one_line(&self.to_string(), LOAD_ERROR_BYTES_MAX).into_owned()
    }
}

impl PluginChecker {
    /// A checker with this compiler and the host's own configuration.
    pub fn new(
        compiler: CompilerOptions,
        configurations: Configurations,
    ) -> Result<Self, StartError> {
        let threads = Arc::new(GuestThreads::start(1)?);
        let (engine, compiler) = (Engine::new()?, Compiler::new(compiler)?);
        let preparer = Preparer {
            functions: HostFunctions::new(&engine)?,
            engine,
            threads,
            powers: Powers::none(),
            compiler,
            leading: Leading::default(),
            tapes: None,
        };
        Ok(Self { preparer, configurations })
    }

    /// Checks a file, with `NAME.yaml` beside it. Reads on this thread.
    pub async fn check(&self, path: &Path) -> Result<PluginReport, CheckError> {
        let plugin = PluginInFile::read(path, None)?;
        let (name, bytes) = (plugin.name.clone(), plugin.content.len());
        let order = plugin.order(&self.configurations).map_err(LoadError::from)?;
        let sha256 = order.sha256.clone();
        let prepared = self.preparer.describe(order).await?;
        let report = prepared.template.report();
        let descriptor = prepared.descriptor;
        Ok(PluginReport {
            not_granted: not_granted(&prepared.settings, &name, &descriptor),
            grant: [
                (!asks_nothing(&descriptor)).then(|| granting(&descriptor)),
                (!descriptor.writes.is_empty()).then(|| granting_writes(&descriptor.writes)),
                (!descriptor.http.is_empty()).then(|| granting_http(&descriptor.http)),
            ]
            .into_iter()
            .flatten()
            .collect(),
            limits: prepared.settings.limits.as_ref().clone(),
            service_account: prepared.settings.service_account.clone(),
            needs_namespaces: descriptor.needs_namespaces()
                || prepared.settings.writes.need_namespaces(),
            shards: prepared.shards,
            imports: report.imports.clone(),
            wasi: WasiImports::clone(prepared.template.wasi()),
            exports: report.exports.clone(),
            name,
            sha256,
            bytes,
            descriptor,
        })
    }
}

/// A plugin's two files, as a host reads them.
pub(crate) struct PluginInFile {
    pub(crate) name: PluginName,
    pub(crate) content: Content,
    sidecar: Option<Sidecar>,
}

impl PluginInFile {
    /// Reads `NAME.wasm`, and the named configuration or else `NAME.yaml` beside it.
    pub(crate) fn read(path: &Path, configuration: Option<&Path>) -> Result<Self, CheckError> {
        // First, because a shell passes on a pattern that fits no file.
        path.symlink_metadata()?;
        let file_name = path.file_name().unwrap_or_default().to_string_lossy();
        let name: PluginName =
            file_name.strip_suffix(".wasm").ok_or(CheckError::Ending)?.parse()?;
        let content = read_file(path, FileKind::Plugin)?;
        let sidecar = match configuration {
            Some(named) => Some(sidecar_in(&name, named)?),
            None => sidecar(&name, &path.with_file_name(format!("{name}.yaml")))?,
        };
        Ok(Self { name, content, sidecar })
    }

    /// The order to prepare the plugin.
    pub(crate) fn order(
        self,
        configurations: &Configurations,
    ) -> Result<PrepareOrder, ConfigurationError> {
        let Self { name, content, sidecar } = self;
        let settings = Arc::new(configurations.settings(&name, sidecar.as_ref())?);
        let sha256 = content.sha256();
        let log_budget = LogBudget::new(&*settings.limits, Arc::default(), Instant::now());
        Ok(PrepareOrder {
            log_budget,
            name,
            sha256,
            code: Code::File(content, LastCompiled::default()),
            settings,
            ledger: Arc::default(),
            log: LogTail::default(),
        })
    }
}

fn asks_nothing(descriptor: &Descriptor) -> bool {
    descriptor.subscriptions.is_empty() && descriptor.reads.is_empty()
}

/// The first missing grant, in the words of a load.
fn not_granted(
    settings: &PluginSettings,
    name: &PluginName,
    descriptor: &Descriptor,
) -> Option<String> {
    let reads = settings.grants.check(name.as_str(), descriptor);
    let writes = || settings.writes.check(name.as_str(), &descriptor.writes);
    let http = || settings.http.check(name.as_str(), &descriptor.http);
    reads.and_then(|()| writes()).and_then(|()| http()).err()
}

/// The configuration beside a file; `None` if there is no file or link of the name.
fn sidecar(name: &PluginName, path: &Path) -> io::Result<Option<Sidecar>> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        _ => {}
    }
    sidecar_in(name, path).map(Some)
}

fn sidecar_in(name: &PluginName, path: &Path) -> io::Result<Sidecar> {
    let text = read_file(path, FileKind::Configuration).map_err(|error| {
        io::Error::new(error.kind(), format!("{} for it: {error}", path.display()))
    })?;
    Ok(Sidecar::read(name, &text))
}
