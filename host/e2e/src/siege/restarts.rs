//! Starts a host on each damaged copy of a state directory: it serves, or says why not and ends.

use super::copies;
use super::ground::Ground;
use super::input::AttackKind;
use super::samples::{STATE_FILE, Samples};
use crate::host::{Host, Line};
use crate::{poll, process_stats};
use anyhow::Context;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::runtime::Handle;

/// What such a host may take.
const PEAK_BYTES_MAX: u64 = 300 << 20;
/// And until it is ready, or has said why not.
const READY_MAX: Duration = Duration::from_secs(30);
/// Words of the format.
const WORDS: &[&str] = &["redb\x1a\x0a", "letters", "retries", "\0\0\0\0\0\0\0\0", "\u{1}"];

/// The thread that does so, where it is wanted.
pub(super) fn start(
    ground: &Arc<Ground>,
    kubeconfig: &Path,
    samples: &Samples,
) -> Vec<JoinHandle<()>> {
    if !ground.options.kinds.contains(&AttackKind::State) {
        return Vec::new();
    }
    let (ground, kubeconfig, samples) = (ground.clone(), kubeconfig.to_owned(), samples.clone());
    let runtime = Handle::current();
    vec![std::thread::spawn(move || runtime.block_on(run(&ground, &kubeconfig, &samples)))]
}

async fn run(ground: &Ground, kubeconfig: &Path, samples: &Samples) {
    while let Some(input) = ground.next(AttackKind::State) {
        let copy = copies::damaged(&samples.state, WORDS, &mut input.rng(ground.options.seed));
        ground.begin(input, &copy);
        match restart(ground, kubeconfig, samples, &copy).await {
            Ok(outcome) => ground.end(input, &outcome),
            Err(error) => return ground.complain(format!("{}: {error:#}", input.name())),
        }
    }
}

async fn restart(
    ground: &Ground,
    kubeconfig: &Path,
    samples: &Samples,
    copy: &[u8],
) -> anyhow::Result<String> {
    let directory = tempfile::tempdir()?;
    let place = |name: &str| directory.path().join(name);
    for (name, mode) in [("state", 0o700), ("plugins", 0o755)] {
        std::fs::create_dir(place(name)).context("make a directory")?;
        std::fs::set_permissions(place(name), Permissions::from_mode(mode))?;
    }
    let file = place("state").join(STATE_FILE);
    std::fs::write(&file, copy).context("write the state file")?;
    std::fs::set_permissions(&file, Permissions::from_mode(0o600))?;
    std::fs::copy(&samples.keeps, place("plugins").join("keeps.wasm")).context("read a plugin")?;
    let state = place("state").display().to_string();
    let more = ["--state-dir", &state];
    let mut host =
        match Host::start(&ground.options.program, kubeconfig, &place("plugins"), &more).await {
            Ok(host) => host,
            Err(error) => return refused(&format!("{error:#}")),
        };
    let ready = poll::until("the host to be ready or to end", READY_MAX, async || {
        let ended = host.check_running().err();
        let is_ready = || host.get("/readyz").is_ok_and(|answer| answer.status == 200);
        ended.map(Err).or_else(|| is_ready().then_some(Ok(())))
    });
    if let Err(error) = ready.await? {
        return refused(&format!("{error:#}"));
    }
    let peak = process_stats::peak(host.id())?;
    anyhow::ensure!(peak < PEAK_BYTES_MAX, "the host has taken {} MiB", peak >> 20);
    let status = host.terminate(super::END_MAX)?;
    let panicked = host.lines().into_iter().find(Line::is_panic);
    anyhow::ensure!(panicked.is_none(), "it has panicked: {:?}", panicked.map(|line| line.text));
    anyhow::ensure!(status.success(), "it ended with {status}: {}", host.tail());
    Ok("serves".to_owned())
}

/// A host that has ended by itself in order, with what it said last.
fn refused(error: &str) -> anyhow::Result<String> {
    let in_order = error.contains("(exit status: 1)") && !error.contains("panicked");
    anyhow::ensure!(in_order, "{error}");
    let reason = error.rsplit("error: ").next().unwrap_or(error);
    let reason = reason.rsplit(STATE_FILE).next().unwrap_or(reason);
    Ok(format!("refused: {reason}"))
}
