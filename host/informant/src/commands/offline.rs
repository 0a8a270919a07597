//! Runs a plugin without a host, and shows or compares the result.

use super::ask::block_on;
use super::golden;
use crate::cli::{OfflineArgs, Output};
use crate::{compiler, host_configuration};
use anyhow::{Context, Result};
use informant_devcluster::patch::Patch;
use informant_runtime::{OfflineOptions, OfflinePlugin, PatchOf, Transcript, WriteError};
use serde_json::Value;

/// Loads the plugin, runs it, and shows the result.
pub(super) fn run_offline(
    args: &OfflineArgs,
    run: impl AsyncFnOnce(OfflinePlugin) -> Result<Transcript>,
) -> Result<Transcript> {
    let configurations = host_configuration::load(args.config.config.as_deref())?;
    let compiler = compiler::options(&args.compiler, compiler::Use::Plugins)?;
    let options = OfflineOptions { compiler, configurations, patch };
    let transcript = block_on(async {
        let plugin = OfflinePlugin::load(&args.file, args.plugin_config.as_deref(), options).await;
        run(plugin.with_context(|| format!("{} cannot be run", args.file.display()))?).await
    })?;
    let shown = match args.output {
        Output::Text => transcript.to_text(),
        Output::Json => transcript.to_json_lines(),
    };
    golden::settle(&shown, transcript.cut(), &args.golden)?;
    Ok(transcript)
}

/// Applies a patch as the embedded cluster does.
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
