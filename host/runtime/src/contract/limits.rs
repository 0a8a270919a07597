//! The settable limits of a plugin. Each limit has the reason for its value and the effect at the bound.
//! `fixed_limits.rs` has the fixed limits; `host/docs/limits.md` has both.

mod table;
mod unit;

use crate::log_budget::LogRates;
pub use table::{Limits, TABLE};
pub use unit::Unit;

/// A limit that can be set: a row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// Its name in configuration files, and in `informant_plugin_limit`.
    pub name: &'static str,
    /// The unit of the value.
    pub unit: Unit,
    /// The value without a setting.
    pub default: u64,
    /// The least value.
    pub minimum: u64,
    /// The highest value.
    pub maximum: u64,
    /// The bounded quantity, and the reason for the value.
    pub doc: &'static str,
    /// Reads the value.
    pub get: fn(&Limits) -> u64,
    /// Sets it.
    pub set: fn(&mut Limits, u64),
    /// The effect at the bound.
    pub then: &'static str,
    /// The metric that shows how near a plugin is, or that the bound was reached; empty if only the plugin or the log
    /// shows it.
    pub metric: &'static str,
    /// The test at the bound.
    pub test: &'static str,
}

/// Without a host's setting, files beside plugins may set a limit to so many times its default.
const TIMES_OF_FILES: u64 = 4;

impl Limit {
    /// The highest value that a file beside a plugin may set without a host's setting.
    pub(crate) fn of_files(&self) -> u64 {
        self.default.saturating_mul(TIMES_OF_FILES).min(self.maximum)
    }

    /// The path of the limit in a configuration.
    pub(crate) fn path(&self) -> String {
        format!("limits.{}", self.name)
    }
}

impl From<&Limits> for LogRates {
    fn from(limits: &Limits) -> Self {
        let (lines, bytes) = (limits.log_lines_per_second, limits.log_bytes_per_second);
        Self { lines_per_second: lines, bytes_per_second: bytes }
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
