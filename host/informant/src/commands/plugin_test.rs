//! `informant plugin test`: a plugin over objects and events from files, the same each time.

use super::manifests::Manifests;
use super::offline::run_offline;
use crate::cli::TestArgs;
use anyhow::{Context, Result};
use informant_runtime::Script;
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
    run_offline(&args.offline, async |plugin| Ok(plugin.run(script).await?))
}

fn events(file: &Path) -> Result<Script> {
    let text = fs::read(file).with_context(|| format!("{} cannot be read", file.display()))?;
    Script::parse(&text).with_context(|| format!("{} is no events file", file.display()))
}
