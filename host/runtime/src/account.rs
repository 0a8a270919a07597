//! The account of one plugin: the memory, time, log and disk that it uses in the host, by part.
//!
//! A part with the life time of an object, such as an instance's memory, is noted in the [`Ledger`]. Every other part
//! is read from its own counter when the account is read. `limits.hostMemory` bounds the sum. A part that would exceed
//! it does not grow, and a plugin above it is stopped alone (`plugin_host/accounts.rs`).

mod held;
mod ledger;
mod watches;

pub(crate) use held::Held;
pub use held::Overdraft;
pub(crate) use ledger::{Holding, INDEXES, Ledger, Weighed};
pub(crate) use watches::Watches;

use serde_json::{Map, Value, json};
use std::time::Duration;

/// The host's memory and work for a plugin, at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Bytes of the host's memory, by part.
    pub memory: Vec<(&'static str, u64)>,
    /// The limit of their sum; `None` before a version is in charge.
    pub memory_max: Option<u64>,
    /// Time, by part.
    pub time: Vec<(&'static str, Duration)>,
    /// Bytes of the plugin's lines in the log so far.
    pub log_bytes: u64,
    /// Processor time of its calls, with their host functions and its queue.
    pub processor: Duration,
    /// Bytes of its records in the state directory. An estimate.
    pub disk_bytes: u64,
}

impl Account {
    /// The sum of all parts of the memory, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.memory.iter().fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }

    /// Bytes of one part; 0 for an unknown part.
    pub fn memory_of(&self, part: &str) -> u64 {
        self.memory.iter().find(|(name, _)| *name == part).map_or(0, |(_, bytes)| *bytes)
    }

    /// The reason for which the plugin may not go on; `None` while it is within its limit.
    pub(crate) fn overdraft(&self) -> Option<Overdraft> {
        let most = self.memory_max.filter(|most| self.memory_bytes() > *most)?;
        Some(Overdraft::new(self.memory_bytes(), most, &self.memory))
    }

    /// The account as `/plugins` shows it.
    pub(crate) fn to_json(&self) -> Value {
        let memory: Map<String, Value> =
            self.memory.iter().map(|(part, bytes)| ((*part).to_owned(), json!(bytes))).collect();
        let seconds = |(part, time): &(&'static str, Duration)| {
            ((*part).to_owned(), json!(time.as_secs_f64()))
        };
        json!({
            "memoryBytes": self.memory_bytes(),
            "memoryBytesMax": self.memory_max,
            "memory": memory,
            "seconds": self.time.iter().map(seconds).collect::<Map<String, Value>>(),
            "processorSeconds": self.processor.as_secs_f64(),
            "logBytes": self.log_bytes,
            "diskBytes": self.disk_bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(memory: &[(&'static str, u64)], most: Option<u64>, expect: Option<&str>) {
        let account = Account {
            memory: memory.to_vec(),
            memory_max: most,
            time: Vec::new(),
            log_bytes: 0,
            processor: Duration::ZERO,
            disk_bytes: 0,
        };
        let text = account.overdraft().map(|overdraft| overdraft.to_string());
        assert_eq!(text.as_deref(), expect);
    }

    #[test]
    fn a_plugin_holds_no_more_than_it_may_all_parts_together() {
        let memory = [("instances", 60 << 20), ("code", 0), ("queue", 40 << 20)];
        check(&memory, Some(100 << 20), None);
        check(&memory, None, None);
        let text = "it would hold 100 MiB of the host's memory, at most 99 MiB are allowed (limits.hostMemory): instances 60 MiB, queue 40 MiB";
        check(&memory, Some(99 << 20), Some(text));
        check(&[("instances", u64::MAX), ("queue", 1)], Some(u64::MAX), None);
    }
}
