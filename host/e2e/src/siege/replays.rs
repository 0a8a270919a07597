//! Has the program replay damaged copies of a recording: it does, or says why not.

use super::copies;
use super::ground::Ground;
use super::input::{AttackKind, Input};
use super::samples::Samples;
use crate::child::Child;
use crate::{host, process_stats};
use anyhow::Context;
use std::fs::File;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What a replay may take of time and memory.
const TIME_MAX: Duration = Duration::from_secs(60);
const PEAK_BYTES_MAX: u64 = 300 << 20;
/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Words of the format.
const WORDS: &[&str] = &[
    "\"line\":\"asked\"",
    "\"line\":\"called\"",
    "\"function\":",
    "indexer.get",
    "null",
    "\"at\":",
    "{\"line\":\"begun\"}\n",
    "18446744073709551616",
];

/// The thread that does so, where it is wanted.
pub(super) fn start(
    ground: &Arc<Ground>,
    samples: &Samples,
) -> anyhow::Result<Vec<JoinHandle<()>>> {
    if !ground.options.kinds.contains(&AttackKind::Recordings) {
        return Ok(Vec::new());
    }
    let directory = tempfile::tempdir()?;
    let (ground, samples) = (ground.clone(), samples.clone());
    Ok(vec![std::thread::spawn(move || {
        while let Some(input) = ground.next(AttackKind::Recordings) {
            let copy =
                copies::damaged(&samples.recording, WORDS, &mut input.rng(ground.options.seed));
            ground.begin(input, &copy);
            match replay(&ground, &samples, &copy, directory.path(), input) {
                Ok(outcome) => ground.end(input, &outcome),
                Err(error) => ground.complain(format!("{}: {error:#}", input.name())),
            }
        }
    })])
}

fn replay(
    ground: &Ground,
    samples: &Samples,
    copy: &[u8],
    directory: &Path,
    input: Input,
) -> anyhow::Result<String> {
    let file = directory.join("event-printer.rec");
    std::fs::write(&file, copy).context("write a recording")?;
    let mut command = host::informant(&ground.options.program);
    command.arg("replay").args([&file, &samples.recorded]);
    let said = directory.join("said");
    let out = File::create(&said)?;
    command.stdout(out.try_clone()?).stderr(out);
    let mut child = Child::spawn(&input.name(), &mut command)?;
    let Some(status) = watched(&mut child, ground)? else { return Ok("cut off".to_owned()) };
    let said = std::fs::read(&said)?;
    let said = String::from_utf8_lossy(&said[..said.len().min(1 << 20)]).into_owned();
    let in_order = status.code().is_some_and(|code| code <= 2) && !said.contains("panicked");
    anyhow::ensure!(in_order, "it ended with {status}: {said}");
    let error = said.lines().find_map(|line| line.strip_prefix("error: "));
    Ok(error.map_or("replayed", |error| error.rsplit(".rec ").next().unwrap_or(error)).to_owned())
}

/// The end of a child that keeps within its bounds; none where everything stops before.
fn watched(child: &mut Child, ground: &Ground) -> anyhow::Result<Option<ExitStatus>> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.ended()? {
            return Ok(Some(status));
        }
        // It may end at this very moment.
        let peak = process_stats::peak(child.id()).unwrap_or_default();
        anyhow::ensure!(peak < PEAK_BYTES_MAX, "it has taken {} MiB", peak >> 20);
        anyhow::ensure!(began.elapsed() < TIME_MAX, "it still runs after {TIME_MAX:?}");
        if !ground.pause(LOOK_EVERY) {
            return Ok(None);
        }
    }
}
