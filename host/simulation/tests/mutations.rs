//! The deliberate mistakes match the present sources. `make mutants` builds them all and shows that each is noticed.

use informant_simulation::Mutation;
use std::path::Path;

#[test]
fn every_mutation_applies_to_the_sources() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mutations = Mutation::read_all(&here.join("mutations")).expect("they can be read");
    assert!(mutations.len() >= 12, "they were found");
    let problems = mutations.iter().filter_map(|mutation| {
        let path = here.join("../..").join(&mutation.file);
        let source = std::fs::read_to_string(&path).unwrap_or_default();
        mutation.apply(&source).err()
    });
    assert_eq!(problems.collect::<Vec<_>>(), [""; 0]);
}
