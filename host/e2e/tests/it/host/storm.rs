//! A small storm: a plugin's file is replaced while its objects change, and nothing is lost. `make storm` lets the large one rage.

use std::time::Duration;

use informant_e2e::storm::{self, Options};
use informant_e2e::{host, skip};

use crate::bench::runtime;
use crate::host::bench::built_plugin;

/// Any will do; a seed that found something is added here.
const SEEDS: [u64; 2] = [2, 3];

#[test]
fn storm_hurts_nobody() {
    let Some(program) = host::program().expect("the program that is named exists") else {
        return skip::say(
            "target/debug/informant is not built; `cargo build -p informant` builds it",
        );
    };
    for seed in SEEDS {
        let options = Options {
            program: program.clone(),
            guest: built_plugin("storm"),
            seed,
            objects: 50,
            changes_per_second: 100,
            replacements: 8,
            pause_max: Duration::from_millis(100),
        };
        let report = runtime().block_on(storm::run(&options)).expect("the storm rages to its end");
        let complaints = &report.verdict.complaints;
        assert!(complaints.is_empty(), "seed {seed}: {complaints:#?}");
        assert!(report.verdict.versions > 1 && report.not_loaded > 0, "seed {seed}: {report:?}");
    }
}
