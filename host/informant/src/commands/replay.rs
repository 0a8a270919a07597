//! `informant replay`: a recording, played back to a plugin.

use super::ask::block_on;
use super::golden;
use super::plugin_test::{offline_options, shown};
use crate::cli::ReplayArgs;
use anyhow::{Context, Result, bail};
use informant_runtime::{OfflinePlugin, RECORDING_BYTES_MAX, Recording};
use std::fs;
use std::path::Path;

/// Plays it back, and shows or compares what the plugin did.
pub(crate) fn replay(args: &ReplayArgs) -> Result<()> {
    let recording = read(&args.recording)?;
    let options = offline_options(&args.config, &args.compiler)?;
    let transcript = block_on(async {
        let plugin = OfflinePlugin::load(&args.file, args.plugin_config.as_deref(), options).await;
        let plugin = plugin.with_context(|| format!("{} cannot be run", args.file.display()))?;
        Ok(plugin.replay(recording).await?)
    })?;
    golden::settle(&shown(&transcript, args.output), transcript.cut(), &args.golden)
}

fn read(file: &Path) -> Result<Recording> {
    let unreadable = || format!("{} cannot be read", file.display());
    let bytes = fs::metadata(file).with_context(unreadable)?.len();
    if bytes > RECORDING_BYTES_MAX {
        bail!(
            "{} has {bytes} bytes, and a recording has at most {RECORDING_BYTES_MAX}",
            file.display()
        );
    }
    let text = fs::read(file).with_context(unreadable)?;
    Recording::parse(&text).with_context(|| format!("{} is no recording", file.display()))
}
