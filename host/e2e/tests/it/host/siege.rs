//! A small siege with every kind of input. `make siege` runs large ones.

use std::time::Duration;

use informant_e2e::siege::input::AttackKind;
use informant_e2e::siege::{self, SiegeOptions};
use informant_e2e::{host, paths, skip};

use crate::bench::runtime;

/// Seeds that found a mistake are added here.
const SEEDS: [u64; 1] = [1];
/// The number of inputs of each kind. A host handles them in some seconds.
const INPUTS: u64 = 6;
/// The largest time of a siege. A longer one hangs.
const TIME_MAX: Duration = Duration::from_secs(180);

#[test]
fn a_siege_comes_to_nothing() {
    let Some(program) = host::program().expect("the program that is named exists") else {
        let why = "target/debug/informant is not built; `cargo build -p informant` builds it";
        return skip::say(why);
    };
    let target = paths::target_directory();
    for seed in SEEDS {
        let options = SiegeOptions {
            program: program.clone(),
            guests: target.join("test-guests"),
            plugins: target.join("plugins"),
            seed,
            time: TIME_MAX,
            kinds: AttackKind::ALL.to_vec(),
            from: 0,
            inputs: INPUTS,
            keep: target.join("siege"),
        };
        let report = runtime().block_on(siege::run(&options)).expect("it comes to its end");
        assert!(report.complaints.is_empty(), "seed {seed}: {:#?}", report.complaints);
        for kind in AttackKind::ALL {
            let ends = report.outcomes.iter().filter(|((of, _), _)| *of == kind);
            assert_eq!(ends.map(|(_, count)| count).sum::<u64>(), INPUTS, "{}", kind.name());
        }
        assert!(
            !report.probes.is_empty() && !report.delivered.is_empty() && !report.curve.is_empty()
        );
    }
}
