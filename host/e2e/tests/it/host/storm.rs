//! Small storms: a plugin's file is replaced while its objects change, its host may be killed meanwhile, and no event
//! is lost. `make storm` runs large ones.

use std::time::Duration;

use informant_e2e::storm::{self, StormOptions, StormReport};
use informant_e2e::{host, skip};

use crate::bench::runtime;
use crate::host::bench::built_plugin;

/// A seed with which some versions are refused. Seeds that find a mistake are added here.
const SEEDS: [u64; 1] = [2];

/// A storm for this guest with this number of instances and of replacements. `None` if the program is not built.
fn storm(seed: u64, guest: &str, shards: usize, replacements: u32) -> Option<StormOptions> {
    let program = host::program().expect("the program that is named exists");
    if program.is_none() {
        skip::say("target/debug/informant is not built; `cargo build -p informant` builds it");
    }
    Some(StormOptions {
        program: program?,
        guest: built_plugin(guest),
        seed,
        objects: 50,
        changes_per_second: 100,
        replacements,
        pause_max: Duration::from_millis(100),
        shards,
        kills: 0,
    })
}

#[track_caller]
fn check(options: &StormOptions) -> StormReport {
    let seed = options.seed;
    let report = runtime().block_on(storm::run(options)).expect("the storm rages to its end");
    let complaints = &report.verdict.complaints;
    assert!(complaints.is_empty(), "seed {seed}: {complaints:#?}");
    report
}

#[test]
fn storm_hurts_nobody() {
    for seed in SEEDS {
        let Some(options) = storm(seed, "storm", 1, 8) else { return };
        let report = check(&options);
        assert!(report.verdict.versions > 1 && report.not_loaded > 0, "seed {seed}: {report:?}");
    }
}

#[test]
fn storm_in_shards_hurts_nobody() {
    let Some(options) = storm(2, "storm-in-shards", 3, 8) else { return };
    let report = check(&options);
    assert!(report.verdict.versions > 1, "{report:?}");
}

#[test]
#[ignore = "takes half a minute: `make slow-tests`"]
fn hosts_that_are_killed_in_a_storm_lose_nothing_that_was_on_the_disk() {
    for (seed, guest, shards) in [(2, "storm", 1), (3, "storm-in-shards", 2)] {
        let Some(options) = storm(seed, guest, shards, 5) else { return };
        let pause_max = Duration::from_secs(3);
        let report = check(&StormOptions { kills: 3, pause_max, ..options });
        let kills = report.kills.expect("some were killed");
        assert!(kills.complaints.is_empty(), "seed {seed}: {:#?}", kills.complaints);
        assert!(kills.owed > 0 && kills.letters > 0, "seed {seed}: {kills:?}");
    }
}
