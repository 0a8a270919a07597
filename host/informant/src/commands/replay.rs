//! `informant replay`: plays a recording back to a plugin.

use super::offline::run_offline;
use crate::cli::ReplayArgs;
use anyhow::{Context, Result, bail};
use informant_runtime::{RECORDING_BYTES_MAX, Recording};
use std::fs;
use std::path::Path;

/// Plays the recording back, and shows or compares the plugin's actions.
pub(crate) fn replay(args: &ReplayArgs) -> Result<()> {
    let recording = read(&args.recording)?;
    run_offline(&args.offline, async |plugin| Ok(plugin.replay(recording).await?))?;
    Ok(())
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
