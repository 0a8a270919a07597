//! The input that is being run, for the cases in which its run does not come back.
//!
//! A stack that overflows or memory that runs out ends the process without a word: the input is in a file. A run
//! that does not end is noticed by a thread of its own.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::corpus;

/// No input of a few kilobytes takes so long, however busy the machine is.
const RUN_TIME_MAX: Duration = Duration::from_secs(20);

/// How often the sentry looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);

pub(crate) struct Running {
    /// None where nothing is kept.
    file: Option<PathBuf>,
    /// Stays open, and is written over: making a file anew costs more than most runs.
    open: Option<File>,
    current: Arc<Mutex<Current>>,
    sentry: Option<JoinHandle<()>>,
}

struct Current {
    /// None: the session is over.
    begun: Option<Instant>,
    input: Vec<u8>,
}

/// The file's content: the input's length, then the input, then what is left of longer ones.
fn framed(input: &[u8]) -> Vec<u8> {
    [&(input.len() as u64).to_le_bytes()[..], input].concat()
}

fn unframed(file: &[u8]) -> Option<Vec<u8>> {
    let (length, rest) = file.split_first_chunk()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    rest.get(..length).map(<[u8]>::to_vec)
}

impl Running {
    /// Watches the runs of the target `name`; keeps their inputs in `file`.
    pub(crate) fn new(name: &'static str, file: Option<PathBuf>) -> Self {
        let current = Current { begun: Some(Instant::now()), input: Vec::new() };
        let current = Arc::new(Mutex::new(current));
        let watched = Arc::clone(&current);
        let sentry = std::thread::spawn(move || watch(name, &watched));
        Self { file, open: None, current, sentry: Some(sentry) }
    }

    /// The input within which an earlier process ended.
    pub(crate) fn left_behind(&self) -> Option<Vec<u8>> {
        unframed(&std::fs::read(self.file.as_ref()?).ok()?)
    }

    /// A run with this input begins.
    pub(crate) fn begin(&mut self, input: &[u8]) {
        if let Some(path) = &self.file {
            let file = self.open.take().map_or_else(|| File::create(path), Ok);
            let written = file.and_then(|mut file| {
                file.seek(SeekFrom::Start(0))?;
                file.write_all(&framed(input))?;
                Ok(file)
            });
            self.open = Some(written.expect("the fuzzing directory can be written"));
        }
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.begun = Some(Instant::now());
        current.input.clear();
        current.input.extend_from_slice(input);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).begun = None;
        if let Some(sentry) = self.sentry.take() {
            sentry.thread().unpark();
            // It does not panic, and nothing is lost if it did.
            let _ = sentry.join();
        }
        if let Some(file) = &self.file {
            let _ = std::fs::remove_file(file);
        }
    }
}

/// Ends the process when a run takes too long: nothing less ends a loop in the same process.
#[expect(clippy::print_stderr, reason = "the process ends here, and has to say why")]
fn watch(name: &str, current: &Mutex<Current>) {
    loop {
        std::thread::park_timeout(LOOK_EVERY);
        let current = current.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(begun) = current.begun else { return };
        if begun.elapsed() > RUN_TIME_MAX {
            let input = corpus::escape(&current.input);
            eprintln!(
                "fuzz target {name} runs for more than {RUN_TIME_MAX:?} with this input:\n{input}"
            );
            std::process::abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_left_behind_only_where_its_run_did_not_come_back() {
        let file = std::env::temp_dir().join(format!("informant-fuzz-{}", std::process::id()));
        let mut running = Running::new("test", Some(file.clone()));
        assert_eq!(running.left_behind(), None);
        running.begin(b"the first");
        running.begin(b"second");
        // What another process would find if this one ended now.
        assert_eq!(Running::new("test", Some(file)).left_behind().as_deref(), Some(&b"second"[..]));
        drop(running);
    }
}
