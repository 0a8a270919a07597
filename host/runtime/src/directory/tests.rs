//! Random changes of directories, with real files and the test's clock. After any operations and scans, the right
//! versions are wanted in the end, and never a half-written one.

#[path = "../../tests/plugin_host/operations.rs"]
mod operations;

use super::content::{CONTENT_BYTES_MAX, ContentRoom};
use super::debounce::{Debounce, Hint};
use super::plugin_files::{Look, scan};
use super::wanted::{PluginChange, Wanted};
use operations::{Operation, Site, Told};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

/// As in the program.
const RESCAN: Duration = Duration::from_secs(30);
/// The steps of one write are no slower: a writer that stops for longer counts as done.
const STEP_MAX_MS: u64 = 900;
/// Every change has ended after so many scans, or it never ends.
const LOOKS_MAX: usize = 50;

struct Life {
    site: Site,
    random: fastrand::Rng,
    wanted: Wanted,
    debounce: Debounce,
    /// Some file systems send no events.
    has_events: bool,
    now: Instant,
    look_again: Option<Instant>,
    next_rescan: Instant,
    running: BTreeMap<String, String>,
    history: Vec<String>,
}

impl Life {
    fn new(seed: u64, root: &std::path::Path) -> Self {
        let content = |version: u32| format!("version {version}, {}", "x".repeat(100)).into_bytes();
        let mut random = fastrand::Rng::with_seed(seed);
        let now = Instant::now();
        Self {
            site: Site::new(root, "", content),
            has_events: random.bool(),
            random,
            wanted: Wanted::default(),
            debounce: Debounce::default(),
            now,
            look_again: None,
            next_rescan: now,
            running: BTreeMap::new(),
            history: Vec::new(),
        }
    }

    fn live(&mut self, operations: usize) {
        // The first scan takes all files, whatever their content.
        self.rest();
        for _ in 0..operations {
            let operation = self.site.choose(&mut self.random);
            if operation.freezes() {
                self.rest();
            }
            self.history.push(format!("{operation:?}"));
            for step in self.site.steps(operation, &mut self.random) {
                let told = step.carry_out();
                self.tell(told);
                let wait = self.random.u64(..STEP_MAX_MS);
                self.wait(Duration::from_millis(wait));
            }
            if operation == Operation::HideDirectory || self.random.u8(..4) == 0 {
                self.rest();
            }
        }
        self.rest();
    }

    fn tell(&mut self, told: Told) {
        let hint = match told {
            _ if !self.has_events => return,
            Told::Nothing => return,
            Told::Writing(path) => Hint::Writing(path),
            Told::Finished(path) => Hint::Finished(path),
            Told::AllFinished => Hint::AllFinished,
        };
        self.debounce.hint(hint, self.now);
    }

    fn due(&self) -> Option<Instant> {
        self.debounce.due().into_iter().chain(self.look_again).min()
    }

    /// Time passes; scans run when they are due.
    fn wait(&mut self, wait: Duration) {
        let end = self.now + wait;
        while let Some(due) =
            Some(self.due().map_or(self.next_rescan, |due| due.min(self.next_rescan)))
            && due <= end
        {
            self.now = self.now.max(due);
            self.look();
        }
        self.now = end;
    }

    /// Waits until no change is under way, after a rescan. Then all must be right.
    #[track_caller]
    fn rest(&mut self) {
        self.wait(RESCAN);
        let mut looks = 0;
        while let Some(due) = self.due() {
            self.wait(due.saturating_duration_since(self.now));
            looks += 1;
            assert!(looks < LOOKS_MAX, "it never ends");
        }
        let hash = |(name, content): (String, Vec<u8>)| (name, sha256(&content));
        let wanted: BTreeMap<String, String> = self.site.wanted().into_iter().map(hash).collect();
        assert_eq!(self.running, wanted, "after {}", self.history.join(", "));
    }

    fn look(&mut self) {
        if self.now >= self.next_rescan {
            self.next_rescan = self.now + RESCAN;
        }
        let finished = self.debounce.take();
        let known = self.wanted.known();
        // All files are from the future, so a delay of the test makes no file look old.
        let scan = scan(&Look {
            directories: &self.site.directories(),
            known: &known,
            room: &ContentRoom::new(CONTENT_BYTES_MAX),
            now: SystemTime::UNIX_EPOCH,
        });
        let decision = self.wanted.decide(scan, &finished, self.now);
        self.look_again = decision.look_again.map(|wait| self.now + wait);
        for change in decision.changes {
            match change {
                PluginChange::Load(name, file) => {
                    let content = file.content.expect("what is to be loaded was read");
                    assert!(self.site.is_whole(&content), "{name} was loaded half-written");
                    assert_eq!(file.sha256, sha256(&content));
                    self.running.insert(name.to_string(), file.sha256);
                }
                // Another decision follows: the file comes to rest, or is removed.
                PluginChange::Refuse(name, _) => {
                    let before = self.running.insert(name.to_string(), String::new());
                    assert_eq!(before, None, "what runs goes on");
                }
                PluginChange::Configure(name, _) => panic!("{name} has no configuration"),
                PluginChange::Remove(name) => {
                    self.running.remove(name.as_str()).expect("only what ran is removed");
                }
            }
        }
    }
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn random_lives_by_the_tests_clock_end_with_the_right_versions() {
    for seed in 0..150 {
        let root = tempfile::tempdir().expect("a temporary directory");
        let mut life = Life::new(seed, root.path());
        let lived = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| life.live(10)));
        assert!(lived.is_ok(), "seed {seed} failed after {}", life.history.join(", "));
    }
}
