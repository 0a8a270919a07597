//! The deliberate mistakes are of these sources. That each is noticed shows `make mutants`, which builds them all.

use informant_simulation::Mutation;
use std::path::Path;

#[test]
fn every_mutation_applies_to_the_sources() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mutations = Mutation::read_all(&here.join("mutations")).expect("they can be read");
    assert!(mutations.len() >= 12, "they were found");
    for mutation in mutations {
        let path = here.join("../..").join(&mutation.file);
        let source = std::fs::read_to_string(&path).unwrap_or_default();
        let mutated = mutation.apply(&source).unwrap_or_else(|error| panic!("{error}"));
        assert_ne!(mutated, source, "{} changes something", mutation.name);
    }
}
