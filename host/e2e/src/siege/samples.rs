//! A state directory's file and a recording as a host leaves them, to be damaged.

use super::SiegeOptions;
use super::input::AttackKind;
use crate::host::Host;
use crate::poll;
use anyhow::Context;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What the host calls it.
pub(super) const STATE_FILE: &str = "state.redb";
/// For a plugin that fails to have retries and dead letters, and others to be recorded.
const TIME: Duration = Duration::from_secs(6);
/// Fails for the soak's objects, and so has something to keep.
const KEEPS: &str = "fail";
const RECORDED: &str = "event-printer";

/// What was made.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    pub(super) state: Vec<u8>,
    pub(super) recording: Vec<u8>,
    /// What keeps its state, and what was recorded.
    pub(super) keeps: PathBuf,
    pub(super) recorded: PathBuf,
}

/// Has a host make them, if any of it is wanted.
pub(super) async fn make(options: &SiegeOptions, kubeconfig: &Path) -> anyhow::Result<Samples> {
    let keeps = options.guests.join(format!("{KEEPS}.wasm"));
    let recorded = options.plugins.join(format!("{RECORDED}.wasm"));
    let is_wanted =
        [AttackKind::State, AttackKind::Recordings].iter().any(|kind| options.kinds.contains(kind));
    if !is_wanted {
        return Ok(Samples::default());
    }
    let directory = tempfile::tempdir()?;
    let place = |name: &str| directory.path().join(name);
    std::fs::create_dir(place("plugins")).context("make a directory")?;
    for (name, file) in [(KEEPS, &keeps), (RECORDED, &recorded)] {
        std::fs::copy(file, place("plugins").join(format!("{name}.wasm")))
            .context("read a plugin")?;
    }
    let [state, recordings] = ["state", "recordings"].map(|name| place(name).display().to_string());
    let more = ["--state-dir", &state, "--record", &recordings, "--record-plugin", RECORDED];
    let mut host = Host::start(&options.program, kubeconfig, &place("plugins"), &more).await?;
    host.await_ready().await?;
    poll::pause(TIME).await;
    host.terminate(super::END_MAX)?;
    let state = std::fs::read(place("state").join(STATE_FILE)).context("read the state file")?;
    let mut files = std::fs::read_dir(place("recordings")).context("list the recordings")?;
    let file = files.next().context("there is a recording")??.path();
    let recording = std::fs::read(file).context("read the recording")?;
    Ok(Samples { state, recording, keeps, recorded })
}
