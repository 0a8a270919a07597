//! `informant plugin test`: a plugin over objects and events from files, the same each time.

use super::manifests::Manifests;
use super::offline::run_offline;
use crate::cli::TestArgs;
use anyhow::{Context, Result, bail};
use informant_runtime::Script;
use std::fs;
use std::path::Path;

/// Runs the plugin, and shows or compares what it did. Without anything to compare it with, a run in which something was given up fails.
pub(crate) fn plugin_test(args: &TestArgs) -> Result<()> {
    let mut script = match &args.events {
        None => Script::default(),
        Some(file) => events(file)?,
    };
    if let Some(directory) = &args.objects {
        script.objects = Manifests::read(directory)?.into_objects()?;
    }
    let given_up =
        run_offline(&args.offline, async |plugin| Ok(plugin.run(script).await?))?.given_up();
    if given_up > 0 && args.offline.golden.golden.is_none() {
        let times = if given_up == 1 { "once".to_owned() } else { format!("{given_up} times") };
        bail!(
            "what the plugin was called for was given up {times} (`gave up`, above); if that is what it should do, keep the run with --golden FILE --update"
        );
    }
    Ok(())
}

fn events(file: &Path) -> Result<Script> {
    let text = fs::read(file).with_context(|| format!("{} cannot be read", file.display()))?;
    Script::parse(&text).with_context(|| format!("{} is no events file", file.display()))
}
