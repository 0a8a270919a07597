//! The table of limits: one row for each, those that are fixed included.

use super::Limits;
use crate::descriptor::{self, INDEXES_MAX, READS_MAX, SUBSCRIPTIONS_MAX};
use crate::directory::{FILE_BYTES_MAX, PLUGINS_MAX};
use crate::host_functions::{MESSAGE_BYTES_MAX, SELECTOR_BYTES_MAX, fields};

/// One limit.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// What it is called, also in `informant_plugin_limit`.
    pub name: &'static str,
    /// What it counts.
    pub unit: Unit,
    /// What it may be set to; a fixed one is at its maximum.
    pub maximum: u64,
    /// What it is set to.
    pub value: fn(&Limits) -> u64,
    /// The metric that shows how near a plugin is, or that it was there; empty where only the plugin or the log is told.
    pub metric: &'static str,
    /// What happens at the bound.
    pub then: &'static str,
    /// The test at the bound.
    pub test: &'static str,
}

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Things.
    Count,
    /// Bytes.
    Bytes,
    /// Milliseconds.
    Milliseconds,
    /// Things or bytes in a second.
    PerSecond,
}

const fn row(
    name: &'static str,
    (unit, maximum): (Unit, u64),
    value: fn(&Limits) -> u64,
    metric: &'static str,
    then: &'static str,
    test: &'static str,
) -> Limit {
    Limit { name, unit, maximum, value, metric, then, test }
}

/// All limits of a plugin.
pub const TABLE: &[Limit] = &[
    row(
        "memory",
        (Unit::Bytes, 1 << 30),
        |limits| limits.memory_bytes_max as u64,
        "informant_plugin_memory_bytes",
        "the instance ends (cause `memory`)",
        "memories_are_summed",
    ),
    row(
        "table-elements",
        (Unit::Count, 1_000_000),
        |limits| limits.table_elements_max as u64,
        "informant_plugin_restarts_total",
        "the instance ends (cause `tables`)",
        "tables_are_summed",
    ),
    row(
        "instances",
        (Unit::Count, 1_000),
        |limits| limits.instances_max as u64,
        "informant_plugin_up",
        "the plugin does not start",
        "more_tables_elements_or_memories_than_allowed_do_not_start",
    ),
    row(
        "tables",
        (Unit::Count, 1_000),
        |limits| limits.tables_max as u64,
        "informant_plugin_up",
        "the plugin does not start",
        "more_tables_elements_or_memories_than_allowed_do_not_start",
    ),
    row(
        "memories",
        (Unit::Count, 100),
        |limits| limits.memories_max as u64,
        "informant_plugin_up",
        "the plugin does not start",
        "more_tables_elements_or_memories_than_allowed_do_not_start",
    ),
    row(
        "handle-time",
        (Unit::Milliseconds, 60_000),
        |limits| limits.handle_deadline.as_millis() as u64,
        "informant_plugin_handle_seconds",
        "the instance ends (cause `deadline`); host calls count, none of them waits",
        "a_call_ends_at_its_limit",
    ),
    row(
        "start-time",
        (Unit::Milliseconds, 60_000),
        |limits| limits.start_deadline.as_millis() as u64,
        "informant_plugin_restarts_total",
        "`describe`, `start`, `snapshot` or `restore` has failed",
        "every_export_has_a_deadline",
    ),
    row(
        "stop-time",
        (Unit::Milliseconds, 10_000),
        |limits| limits.stop_deadline.as_millis() as u64,
        "",
        "the instance ends without having stopped",
        "every_export_has_a_deadline",
    ),
    row(
        "event-bytes",
        (Unit::Bytes, 64 << 20),
        |limits| limits.event_bytes_max as u64,
        "informant_plugin_events_total",
        "the event becomes a dead letter",
        "an_event_is_handed_over_up_to_its_bound",
    ),
    row(
        "host-call-bytes",
        (Unit::Bytes, 64 << 20),
        |limits| limits.hostcall_bytes_max as u64,
        "informant_plugin_restarts_total",
        "the instance ends (cause `trap`)",
        "huge_return_hurts_nobody",
    ),
    row(
        "answer-bytes",
        (Unit::Bytes, 16 << 20),
        |limits| limits.answer_bytes_max as u64,
        "",
        "the page ends, and has a cursor",
        "answers_keep_to_their_bytes_and_one_larger_item_comes_alone",
    ),
    row(
        "page-items",
        (Unit::Count, 10_000),
        |limits| limits.page_items_max as u64,
        "",
        "the page ends, and has a cursor",
        "pages_are_bounded_whatever_the_plugin_says",
    ),
    row(
        "log-lines",
        (Unit::PerSecond, 100_000),
        |limits| u64::from(limits.log_lines_per_second),
        "informant_plugin_log_lines_dropped_total",
        "the plugin waits before its next event; more than a second's worth in one event is dropped",
        "a_burst_passes_and_is_paid_for_later",
    ),
    row(
        "log-bytes",
        (Unit::PerSecond, 64 << 20),
        |limits| u64::from(limits.log_bytes_per_second),
        "informant_plugin_log_lines_dropped_total",
        "the same",
        "bytes_count_as_well_as_lines",
    ),
    row(
        "queue-events",
        (Unit::Count, 1_000_000),
        |limits| limits.queue_events_mark as u64,
        "informant_plugin_queue_depth",
        "events of one object are merged",
        "above_the_mark_events_of_one_object_merge",
    ),
    row(
        "queue-bytes",
        (Unit::Bytes, 1 << 30),
        |limits| limits.queue_bytes_mark as u64,
        "informant_plugin_queue_bytes",
        "events of one object are merged",
        "above_the_mark_events_of_one_object_merge",
    ),
    row(
        "attempts",
        (Unit::Count, 1_000),
        |limits| u64::from(limits.attempts_max),
        "informant_plugin_events_total",
        "the event becomes a dead letter",
        "dead_letters_are_kept_sent_again_and_thrown_away",
    ),
    row(
        "crashes-per-event",
        (Unit::Count, 100),
        |limits| u64::from(limits.crashes_per_event_max),
        "informant_plugin_restarts_total",
        "the event becomes a dead letter",
        "trap_hurts_nobody",
    ),
    row(
        "dead-letters",
        (Unit::Count, 100_000),
        |limits| limits.dead_letters_max as u64,
        "informant_plugin_dead_letters",
        "the oldest is dropped",
        "the_oldest_go_first_above_the_bounds",
    ),
    row(
        "dead-letter-bytes",
        (Unit::Bytes, 1 << 30),
        |limits| limits.dead_letters_bytes_max as u64,
        "informant_plugin_dead_letters_dropped_total",
        "the oldest is dropped",
        "the_oldest_go_first_above_the_bounds",
    ),
    row(
        "kept-retry-bytes",
        (Unit::Bytes, 1 << 30),
        |limits| limits.kept_retries_bytes_max as u64,
        "",
        "the retry does not outlive the host",
        "what_is_above_the_bound_is_not_kept_and_counted",
    ),
    row(
        "state-keys",
        (Unit::Count, 100_000),
        |limits| limits.state_keys_max as u64,
        "",
        "`state` answers with an error",
        "what_is_above_the_bounds_is_refused_and_nothing_else_changes",
    ),
    row(
        "state-bytes",
        (Unit::Bytes, 64 << 20),
        |limits| limits.state_bytes_max as u64,
        "",
        "`state` answers with an error; a snapshot is not carried over",
        "a_snapshot_that_is_too_large_is_not_carried_over",
    ),
    row(
        "log-line-bytes",
        (Unit::Bytes, MESSAGE_BYTES_MAX as u64),
        |_| MESSAGE_BYTES_MAX as u64,
        "",
        "the line is cut and says so",
        "fields_above_the_bound_are_counted_not_written",
    ),
    row(
        "subscriptions",
        (Unit::Count, SUBSCRIPTIONS_MAX as u64),
        |_| SUBSCRIPTIONS_MAX as u64,
        "informant_plugin_up",
        "the descriptor is refused",
        "lists_are_bounded",
    ),
    row(
        "pointers-per-subscription",
        (Unit::Count, descriptor::POINTERS_MAX as u64),
        |_| descriptor::POINTERS_MAX as u64,
        "informant_plugin_up",
        "the descriptor is refused",
        "lists_are_bounded",
    ),
    row(
        "indexes",
        (Unit::Count, INDEXES_MAX as u64),
        |_| INDEXES_MAX as u64,
        "informant_plugin_up",
        "the descriptor is refused",
        "lists_are_bounded",
    ),
    row(
        "reads",
        (Unit::Count, READS_MAX as u64),
        |_| READS_MAX as u64,
        "informant_plugin_up",
        "the descriptor is refused",
        "lists_are_bounded",
    ),
    row(
        "fields-per-call",
        (Unit::Count, fields::POINTERS_MAX as u64),
        |_| fields::POINTERS_MAX as u64,
        "informant_plugin_restarts_total",
        "`indexer` answers with an error; in `event-data` the instance ends",
        "pointers_are_bounded",
    ),
    row(
        "selector-bytes",
        (Unit::Bytes, SELECTOR_BYTES_MAX as u64),
        |_| SELECTOR_BYTES_MAX as u64,
        "",
        "`indexer` answers with an error",
        "selectors_are_bounded",
    ),
    row(
        "plugins",
        (Unit::Count, PLUGINS_MAX as u64),
        |_| PLUGINS_MAX as u64,
        "informant_plugin_up",
        "no more files are loaded; the log says which",
        "more_plugins_than_fit_are_left_alone",
    ),
    row(
        "file-bytes",
        (Unit::Bytes, FILE_BYTES_MAX),
        |_| FILE_BYTES_MAX,
        "informant_plugin_up",
        "the file is refused",
        "a_file_that_is_too_large_is_not_read",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect_file;

    /// As Kubernetes writes it.
    fn shown(value: u64, unit: Unit) -> String {
        let (kibi, mebi): (u64, u64) = (1 << 10, 1 << 20);
        match unit {
            Unit::Bytes if value.is_multiple_of(mebi) => format!("{}Mi", value / mebi),
            Unit::Bytes if value.is_multiple_of(kibi) => format!("{}Ki", value / kibi),
            Unit::Milliseconds if value.is_multiple_of(1_000) => format!("{}s", value / 1_000),
            Unit::Milliseconds => format!("{value}ms"),
            Unit::PerSecond if value.is_multiple_of(mebi) => format!("{}Mi/s", value / mebi),
            Unit::PerSecond => format!("{value}/s"),
            Unit::Count | Unit::Bytes => value.to_string(),
        }
    }

    #[test]
    fn the_page_is_the_table() {
        let defaults = Limits::default();
        let mut page = include_str!("head.md").to_owned();
        for Limit { name, unit, maximum, value, metric, then, test } in TABLE {
            let value = value(&defaults);
            let default = shown(value, *unit);
            let maximum = match value == *maximum {
                true => "fixed".to_owned(),
                false => shown(*maximum, *unit),
            };
            let metric = match *metric {
                "" => "the answer, or the log".to_owned(),
                metric => format!("`{metric}`"),
            };
            page += &format!("| {name} | {default} | {maximum} | {then} | {metric} | `{test}` |\n");
        }
        expect_file!["../../../docs/limits.md"].assert_eq(&page);
    }
}
