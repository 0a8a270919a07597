//! `informant plugin test`: a plugin over objects and events from files, the same each time.

use super::ask::block_on;
use super::golden;
use super::manifests::Manifests;
use crate::cli::{ConfigArgs, Output, TestArgs};
use crate::compiler::CompilerArgs;
use crate::{compiler, host_configuration};
use anyhow::{Context, Result};
use informant_devcluster::patch::Patch;
use informant_runtime::{OfflineOptions, OfflinePlugin, PatchOf, Script, Transcript, WriteError};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Runs the plugin, and shows or compares what it did.
pub(crate) fn plugin_test(args: &TestArgs) -> Result<()> {
    let mut script = match &args.events {
        None => Script::default(),
        Some(file) => events(file)?,
    };
    if let Some(directory) = &args.objects {
        script.objects = Manifests::read(directory)?.into_objects()?;
    }
    let options = offline_options(&args.config, &args.compiler)?;
    let transcript = block_on(async {
        let plugin = OfflinePlugin::load(&args.file, args.plugin_config.as_deref(), options).await;
        let plugin = plugin.with_context(|| format!("{} cannot be run", args.file.display()))?;
        Ok(plugin.run(script).await?)
    })?;
    golden::settle(&shown(&transcript, args.output), transcript.cut(), &args.golden)
}

fn events(file: &Path) -> Result<Script> {
    let text = fs::read(file).with_context(|| format!("{} cannot be read", file.display()))?;
    Script::parse(&text).with_context(|| format!("{} is no events file", file.display()))
}

/// How plugins are run without a host.
pub(super) fn offline_options(
    config: &ConfigArgs,
    compiler: &CompilerArgs,
) -> Result<OfflineOptions> {
    let configurations = host_configuration::load(config.config.as_deref())?;
    Ok(OfflineOptions { compiler: compiler::options(compiler)?, configurations, patch })
}

pub(super) fn shown(transcript: &Transcript, output: Output) -> String {
    match output {
        Output::Text => transcript.to_text(),
        Output::Json => transcript.to_json_lines(),
    }
}

/// As the embedded cluster does.
fn patch(of: PatchOf<'_>) -> Result<Value, WriteError> {
    let PatchOf { content_type, patch, resource, mut object } = of;
    let patched = Patch::parse(content_type, patch).and_then(|patch| {
        if object.is_null() {
            object = patch.new_object().clone();
            return Ok(object);
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (kind, name) = (text(&object["kind"]), text(&object["metadata"]["name"]));
        patch.apply_to_kind(&mut object, &kind, resource, &name)?;
        Ok(object)
    });
    patched.map_err(|status| WriteError::Status {
        code: status.code,
        reason: status.reason.to_string(),
        message: status.message,
        retry_after: None,
    })
}
