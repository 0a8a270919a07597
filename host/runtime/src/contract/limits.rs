//! What a plugin may use, as far as it can be set. Each limit says why it is what it is and what happens at the bound. The limits that cannot be set
//! are in `fixed_limits.rs`; `host/docs/limits.md` is both.

mod table;
mod unit;

pub use table::{Limits, TABLE};
pub use unit::Unit;

/// A limit that can be set: a row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// What it is called: in configuration files, and in `informant_plugin_limit`.
    pub name: &'static str,
    /// What it counts.
    pub unit: Unit,
    /// What it is where nothing else is said.
    pub default: u64,
    /// The least that it may be set to.
    pub minimum: u64,
    /// The most that it may be set to.
    pub maximum: u64,
    /// What it bounds, and why it is what it is.
    pub doc: &'static str,
    /// What it is set to.
    pub get: fn(&Limits) -> u64,
    /// Sets it.
    pub set: fn(&mut Limits, u64),
    /// What happens at the bound.
    pub then: &'static str,
    /// The metric that shows how near a plugin is, or that it was there; empty where only the plugin or the log is told.
    pub metric: &'static str,
    /// The test at the bound.
    pub test: &'static str,
}

/// Files beside plugins may set a limit to so many times its default where the host says nothing.
const TIMES_OF_FILES: u64 = 4;

impl Limit {
    /// The most that a file beside a plugin may set it to where the host says nothing.
    pub(crate) fn of_files(&self) -> u64 {
        self.default.saturating_mul(TIMES_OF_FILES).min(self.maximum)
    }

    /// Where it stands in a configuration.
    pub(crate) fn path(&self) -> String {
        format!("limits.{}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_limit_is_what_it_was_set_to_and_has_a_name_of_its_own() {
        let mut names = BTreeSet::new();
        for limit in TABLE {
            let mut limits = Limits::default();
            assert_eq!((limit.get)(&limits), limit.default, "{}", limit.name);
            for number in [limit.minimum, limit.maximum] {
                (limit.set)(&mut limits, number);
                assert_eq!((limit.get)(&limits), number, "{}", limit.name);
            }
            assert!(names.insert(limit.name), "{} is there twice", limit.name);
        }
    }
}
