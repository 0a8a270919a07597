//! `informant plugin test`: runs a plugin with objects and events from files. Every run gives the same result.

use super::input;
use super::manifests::Manifests;
use super::offline::run_offline;
use crate::cli::TestArgs;
use anyhow::{Context, Result, bail};
use informant_runtime::{SCRIPT_BYTES_MAX, Script};
use std::path::Path;

/// Runs the plugin, and shows or compares the result. Without a golden file, a run fails if the plugin gave up some
/// work, or if some work was still failing at the end.
pub(crate) fn plugin_test(args: &TestArgs) -> Result<()> {
    let mut script = match &args.events {
        None => Script::default(),
        Some(file) => events(file)?,
    };
    script.apply_writes = args.apply_writes;
    if let Some(directory) = &args.objects {
        script.objects = Manifests::read(directory)?.into_objects()?;
    }
    let transcript = run_offline(&args.offline, async |plugin| Ok(plugin.run(script).await?))?;
    if args.offline.golden.golden.is_some() {
        return Ok(());
    }
    let (given_up, unfinished) = (transcript.given_up(), transcript.unfinished());
    if given_up > 0 {
        let works = match given_up {
            1 => "1 event, key or firing".to_owned(),
            more => format!("{more} events, keys or firings"),
        };
        bail!(
            "the run gave up on {works} (`gave up`, above); if the plugin should do that, keep the run with --golden FILE --update"
        );
    }
    if unfinished > 0 {
        bail!(
            "events={unfinished}: so many events still failed or waited a minute after the last line (`end`, above); if that is what it should do, keep the run with --golden FILE --update, or give them up sooner with limits.attempts"
        );
    }
    Ok(())
}

fn events(file: &Path) -> Result<Script> {
    let text = input::read(file, SCRIPT_BYTES_MAX as u64)?;
    Script::parse(&text).with_context(|| format!("{} is no events file", file.display()))
}
