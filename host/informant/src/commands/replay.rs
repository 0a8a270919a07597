//! `informant replay`: plays a recording back to a plugin.

use super::input;
use super::offline::run_offline;
use crate::cli::ReplayArgs;
use anyhow::{Context as _, Result};
use informant_runtime::{RECORDING_BYTES_MAX, Recording};
use std::path::Path;

/// Plays the recording back, and shows or compares the plugin's actions.
pub(crate) fn replay(args: &ReplayArgs) -> Result<()> {
    let recording = read(&args.recording)?;
    run_offline(&args.offline, async |plugin| Ok(plugin.replay(recording).await?))?;
    Ok(())
}

fn read(file: &Path) -> Result<Recording> {
    let text = input::read(file, RECORDING_BYTES_MAX)?;
    Recording::parse(&text).with_context(|| format!("{} is no recording", file.display()))
}
