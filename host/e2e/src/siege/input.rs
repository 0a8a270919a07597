//! One generated input: of which kind it is, and the random numbers that it is made of. The same seed, kind and number make the same input.

use fastrand::Rng;

/// What a host is attacked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, clap::ValueEnum)]
pub enum AttackKind {
    /// Generated core modules and components in plugins' places.
    Modules,
    /// Mutations of real plugin files.
    Mutants,
    /// Plugins whose descriptors are generated.
    Descriptors,
    /// Generated files beside a plugin that runs.
    Settings,
    /// Requests to the ports.
    Requests,
    /// Mutations of a state directory's file, on each of which a host starts.
    State,
    /// Mutations of a recording, each of which is replayed.
    Recordings,
}

impl AttackKind {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Modules,
        Self::Mutants,
        Self::Descriptors,
        Self::Settings,
        Self::Requests,
        Self::State,
        Self::Recordings,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Modules => "modules",
            Self::Mutants => "mutants",
            Self::Descriptors => "descriptors",
            Self::Settings => "settings",
            Self::Requests => "requests",
            Self::State => "state",
            Self::Recordings => "recordings",
        }
    }
}

/// An input by its number among those of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Input {
    /// What it is.
    pub kind: AttackKind,
    /// From 0.
    pub number: u64,
}

impl Input {
    /// What it is called in files' names and on the terminal.
    pub fn name(self) -> String {
        format!("{}-{}", self.kind.name(), self.number)
    }

    /// The numbers that it is made of.
    pub fn rng(self, seed: u64) -> Rng {
        let mut rng = Rng::with_seed(seed);
        let of_kind = rng.u64(..) ^ ((self.kind as u64) << 56);
        let mut rng = Rng::with_seed(of_kind);
        Rng::with_seed(rng.u64(..) ^ self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn inputs_differ_by_seed_kind_and_number_and_come_again() {
        let mut seen = BTreeSet::new();
        for seed in 0..10 {
            for kind in AttackKind::ALL {
                for number in 0..10 {
                    let input = Input { kind, number };
                    let first = input.rng(seed).u64(..);
                    assert_eq!(input.rng(seed).u64(..), first);
                    seen.insert(first);
                }
            }
        }
        assert_eq!(seen.len(), 10 * AttackKind::ALL.len() * 10);
    }
}
