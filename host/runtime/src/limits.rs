//! What a plugin may use. Each limit says why it is what it is and what happens at the bound; [`TABLE`](table::TABLE) has all of them,
//! also those that are fixed, and `host/docs/limits.md` is that table.

mod table;

pub use table::{Limit, TABLE, Unit};

use std::time::Duration;

/// The bounds that one plugin runs under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Linear memory of one instance in bytes. An instance that asks for more ends with
    /// [`CallError::MemoryExceeded`](crate::CallError::MemoryExceeded). A Rust plugin settles at about 1 MiB.
    pub memory_bytes_max: usize,
    /// Elements of all tables together. Compilers put every function whose address is taken there; ten
    /// thousand covers CPython. An instance that asks for more ends.
    pub table_elements_max: usize,
    /// Core instances that a component is made of. One made from a core module has a handful, CPython with
    /// its libraries some thirty. A plugin with more of these, or of the next two, does not start.
    pub instances_max: usize,
    /// Tables, of which compilers make one for each core instance that has any.
    pub tables_max: usize,
    /// Linear memories, of which compilers make one for each language in the component.
    pub memories_max: usize,
    /// Time for one `handle`, not counting what its thread spends on others. Then the instance ends with
    /// [`CallError::DeadlineExceeded`](crate::CallError::DeadlineExceeded).
    pub handle_deadline: Duration,
    /// Time for `describe` and `start`, which may set up caches.
    pub start_deadline: Duration,
    /// Time for `stop`. Every plugin's is over before a pod's grace period is, whatever it does.
    pub stop_deadline: Duration,
    /// Bytes of the object and the old one that an event hands over, together. The API server takes objects of up to 3 MiB; a larger event
    /// becomes a dead letter.
    pub event_bytes_max: usize,
    /// What one host call may make the host allocate for its arguments, in bytes: an event's size and some.
    pub hostcall_bytes_max: usize,
    /// What one answer of the indexer may hold, in bytes. One object that alone is larger comes alone.
    pub answer_bytes_max: usize,
    /// Items in one page of the indexer when the plugin does not say.
    pub page_items_default: usize,
    /// Items in one page of the indexer at most, whatever the plugin says: twice the default.
    pub page_items_max: usize,
    /// Log lines a second. A plugin that logs faster is slowed down between its events; what it logs above
    /// a second's worth inside one event is dropped and counted.
    pub log_lines_per_second: u32,
    /// Log bytes a second, with the same rule.
    pub log_bytes_per_second: u32,
    /// Events that wait in order; above it events of the same object are merged.
    pub queue_events_mark: usize,
    /// Bytes that the waiting events keep alive; above it events of the same object are merged.
    pub queue_bytes_mark: usize,
    /// How often an event is tried before it becomes a dead letter.
    pub attempts_max: u32,
    /// Dead letters that are kept; for one more the oldest is dropped and counted.
    pub dead_letters_max: usize,
    /// Bytes of the objects that dead letters keep, with the same rule.
    pub dead_letters_bytes_max: usize,
    /// Bytes of the retries that a state directory keeps of one plugin; a retry above it is made all the same and does not outlive the
    /// host, which is counted. As much as may wait in order.
    pub kept_retries_bytes_max: usize,
    /// Keys of a plugin's `state`; one more is refused.
    pub state_keys_max: usize,
    /// What `snapshot` may hand to the next version, in bytes; more is not carried over. Keys and values of `state` may take as much
    /// again; more is refused.
    pub state_bytes_max: usize,
    /// An object whose events ended this many instances is parked: its event becomes a dead letter.
    pub crashes_per_event_max: u32,
}

/// A limit that is out of its range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the limit {name} is {found}, and may be 1 to {maximum}")]
pub struct LimitError {
    name: &'static str,
    found: u64,
    maximum: u64,
}

impl Limits {
    /// An error for the first limit that is zero or above its maximum.
    pub fn check(&self) -> Result<(), LimitError> {
        let out = TABLE.iter().find(|limit| !(1..=limit.maximum).contains(&(limit.value)(self)));
        out.map_or(Ok(()), |limit| {
            let (name, maximum) = (limit.name, limit.maximum);
            Err(LimitError { name, found: (limit.value)(self), maximum })
        })
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_bytes_max: 64 << 20,
            table_elements_max: 10_000,
            instances_max: 128,
            tables_max: 64,
            memories_max: 16,
            handle_deadline: Duration::from_secs(1),
            start_deadline: Duration::from_secs(10),
            stop_deadline: Duration::from_secs(2),
            event_bytes_max: 8 << 20,
            hostcall_bytes_max: 4 << 20,
            answer_bytes_max: 1 << 20,
            page_items_default: 500,
            page_items_max: 1_000,
            log_lines_per_second: 5_000,
            log_bytes_per_second: 2 << 20,
            queue_events_mark: 10_000,
            queue_bytes_mark: 32 << 20,
            attempts_max: 10,
            kept_retries_bytes_max: 32 << 20,
            state_keys_max: 1_000,
            state_bytes_max: 1 << 20,
            dead_letters_max: 1_000,
            dead_letters_bytes_max: 8 << 20,
            crashes_per_event_max: 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(limits: &Limits, expect: Option<&str>) {
        assert_eq!(limits.check().err().map(|error| error.to_string()).as_deref(), expect);
    }

    #[test]
    fn a_limit_goes_up_to_its_maximum() {
        check(&Limits::default(), None);
        let memory = |bytes| Limits { memory_bytes_max: bytes, ..Limits::default() };
        check(&memory(1 << 30), None);
        let more = "the limit memory is 1073741825, and may be 1 to 1073741824";
        check(&memory((1 << 30) + 1), Some(more));
        check(&memory(0), Some("the limit memory is 0, and may be 1 to 1073741824"));
    }
}
