//! The table of limits, the only place that declares them. Each entry is a field of [`Limits`], its default, a row of
//! `host/docs/limits.md` and a key below `limits` in configuration files.

use super::unit::Number;
use super::{Limit, Unit};
use std::time::Duration;

/// Reads the table. An entry has the meaning of a limit; `field: type, "name" = default, from minimum up to maximum,
/// unit`; the effect at the bound; the metric that shows how near a plugin is or that the bound was reached, empty if
/// only the plugin or the log shows it; the test at the bound.
macro_rules! limits {
    ($(
        $(#[doc = $doc:literal])+
        $field:ident: $type:ty, $name:literal = $default:expr, $(from $minimum:literal)? up to $maximum:expr, $unit:ident;
        $then:literal, $metric:literal, $test:literal;
    )+) => {
        /// The bounds that one plugin runs under.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Limits {
            $( $(#[doc = $doc])+ pub $field: $type, )+
        }

        impl Default for Limits {
            fn default() -> Self {
                Self { $( $field: <$type>::from_number($default), )+ }
            }
        }

        /// The limits that can be set.
        pub const TABLE: &[Limit] = &[
            $( Limit {
                name: $name,
                unit: Unit::$unit,
                default: $default,
                minimum: least(&[$($minimum)?]),
                maximum: $maximum,
                doc: concat!($($doc),+),
                get: |limits| limits.$field.number(),
                set: |limits, number| limits.$field = <$type>::from_number(number),
                then: $then,
                metric: $metric,
                test: $test,
            }, )+
        ];
    };
}

/// 1 without a stated minimum.
const fn least(stated: &[u64]) -> u64 {
    match stated {
        [minimum, ..] => *minimum,
        [] => 1,
    }
}

limits! {
    /// Memory of one instance, each of them if the plugin runs in several: linear memories, globals, references to functions. A Rust plugin settles at about 1 MiB.
    memory_bytes_max: usize, "memory" = 64 << 20, up to 1 << 30, Bytes;
    "the instance ends (cause `memory`)", "informant_plugin_memory_bytes", "memories_are_summed";

    /// What the host holds for the plugin, all parts of its account together: instances in all shards, stacks, code, documents, requests under
    /// way, indexes, recordings, queue, workqueue, series, state, dead letters. It is there beside the other limits: who raises those may have to raise it. A Python
    /// plugin, whose code has 33Mi for each of up to three versions, holds some 150Mi while it is reloaded.
    host_memory_max: u64, "hostMemory" = 1 << 30, up to 64 << 30, Bytes;
    "the plugin is stopped alone until its file or its configuration changes; a version is refused until the plugin holds less; a request is not sent",
    "informant_plugin_account_bytes", "a_plugin_that_holds_too_much_in_all_is_stopped_alone";

    /// Elements of all tables together. Compilers put every function whose address is taken there; ten thousand covers CPython.
    table_elements_max: usize, "tableElements" = 10_000, up to 1_000_000, Count;
    "the instance ends (cause `tables`)", "informant_plugin_restarts_total", "tables_are_summed";

    /// Core instances that a component is made of. One made from a core module has a handful, CPython with its libraries some thirty.
    instances_max: usize, "instances" = 128, up to 1_000, Count;
    "the plugin does not start", "informant_plugin_up", "more_tables_elements_or_memories_than_allowed_do_not_start";

    /// Tables, of which compilers make one for each core instance that has any.
    tables_max: usize, "tables" = 64, up to 1_000, Count;
    "the plugin does not start", "informant_plugin_up", "more_tables_elements_or_memories_than_allowed_do_not_start";

    /// Linear memories, of which compilers make one for each language in the component.
    memories_max: usize, "memories" = 16, up to 100, Count;
    "the plugin does not start", "informant_plugin_up", "more_tables_elements_or_memories_than_allowed_do_not_start";

    /// The processor's time for one `handle`.
    handle_deadline: Duration, "handleTime" = 1_000, up to 60_000, Milliseconds;
    "the instance ends (cause `deadline`); host calls count, waiting in them does not", "informant_plugin_handle_seconds",
    "a_call_ends_at_its_limit";

    /// What one call of the plugin may wait for answers from outside, by the clock, all its requests together. A plugin that is replaced or removed
    /// ends the call first.
    wait_time: Duration, "waitTime" = 10_000, up to 20_000, Milliseconds;
    "the request is given up, and the plugin is told so", "informant_plugin_cluster_write_seconds",
    "a_call_waits_for_as_long_as_it_may_in_all";

    /// Writes to the cluster a second, and at once after a pause; Kubernetes Events are bounded by themselves. Ten times what
    /// controller-runtime has a controller ask that says nothing else.
    cluster_writes_per_second: u32, "clusterWrites" = 200, up to 10_000, PerSecond;
    "the write waits, which counts as waiting for its answer", "informant_plugin_cluster_write_seconds",
    "a_plugin_writes_so_often_and_no_more";

    /// Requests over HTTP a second, those that redirects ask for among them. A second's worth may follow each other at once.
    http_requests_per_second: u32, "httpRequests" = 50, up to 10_000, PerSecond;
    "the request waits, which counts as waiting for its answer", "informant_plugin_http_request_seconds",
    "a_plugin_asks_so_often_and_no_more";

    /// The body of one request over HTTP.
    http_request_bytes_max: usize, "httpRequestBytes" = 1 << 20, up to 16 << 20, Bytes;
    "`http` answers `invalid`", "informant_plugin_http_requests_total", "a_request_is_checked_part_by_part";

    /// The body of one answer over HTTP. The host has it in its memory while the plugin waits, and the plugin then in its own.
    http_response_bytes_max: usize, "httpResponseBytes" = 1 << 20, up to 16 << 20, Bytes;
    "`http` answers `too-large`", "informant_plugin_http_requests_total", "an_answer_is_as_large_as_it_may_be";

    /// Origins and paths that the rules of `http` name, all together: each request is held against one after the other.
    http_rules_max: usize, "httpRules" = 256, up to 10_000, Count;
    "the configuration is refused", "informant_plugin_http_rules", "rules_name_as_much_as_they_may";

    /// Time for `describe` and `start`, which may set up caches, and for `snapshot` and `restore`.
    start_deadline: Duration, "startTime" = 10_000, up to 60_000, Milliseconds;
    "`describe`, `start`, `snapshot` or `restore` has failed", "informant_plugin_restarts_total", "every_export_has_a_deadline";

    /// Time for `stop`. Every plugin's is over before a pod's grace period is, whatever it does.
    stop_deadline: Duration, "stopTime" = 2_000, up to 10_000, Milliseconds;
    "the instance ends without having stopped", "", "every_export_has_a_deadline";

    /// Time for what waits when the plugin's file is removed, unless `onRemoval` is `drop`.
    drain_time: Duration, "drainTime" = 10_000, up to 60_000, Milliseconds;
    "what still waits is dropped", "", "what_waits_is_told_before_a_removed_plugin_ends";

    /// The object and the old one that an event hands over, together. The API server takes objects of up to 3 MiB.
    event_bytes_max: usize, "eventBytes" = 8 << 20, up to 64 << 20, Bytes;
    "the event becomes a dead letter", "informant_plugin_events_total", "an_event_is_handed_over_up_to_its_bound";

    /// What one host call may make the host allocate for its arguments: an event's size and some.
    hostcall_bytes_max: usize, "hostCallBytes" = 4 << 20, up to 64 << 20, Bytes;
    "the instance ends (cause `trap`)", "informant_plugin_restarts_total", "huge_return_hurts_nobody";

    /// What one answer of the indexer may hold. One object that alone is larger comes alone.
    answer_bytes_max: usize, "answerBytes" = 1 << 20, up to 16 << 20, Bytes;
    "the page ends, and has a cursor", "", "answers_keep_to_their_bytes_and_one_larger_item_comes_alone";

    /// Items in one page of the indexer at most; half of them when the plugin does not say.
    page_items_max: usize, "pageItems" = 1_000, up to 10_000, Count;
    "the page ends, and has a cursor", "", "pages_are_bounded_whatever_the_plugin_says";

    /// Log lines a second. A plugin that logs faster is slowed down between its events.
    log_lines_per_second: u32, "logLines" = 5_000, up to 100_000, PerSecond;
    "the plugin waits before its next event; more than a second's worth in one event is dropped",
    "informant_plugin_log_lines_dropped_total", "a_burst_passes_and_is_paid_for_later";

    /// Log bytes a second, with the same rule.
    log_bytes_per_second: u32, "logBytes" = 2 << 20, up to 64 << 20, BytesPerSecond;
    "the same", "informant_plugin_log_lines_dropped_total", "bytes_count_as_well_as_lines";

    /// Events that wait in order.
    queue_events_mark: usize, "queueEvents" = 10_000, up to 1_000_000, Count;
    "events of one object are merged", "informant_plugin_queue_depth", "above_the_mark_events_of_one_object_merge";

    /// Bytes that the waiting events keep alive.
    queue_bytes_mark: usize, "queueBytes" = 32 << 20, up to 1 << 30, Bytes;
    "events of one object are merged", "informant_plugin_queue_bytes", "above_the_mark_events_of_one_object_merge";

    /// Bytes of the plugin's history: its deliveries that ended last, about 65 bytes each, for `informant why`. The history has 4Ki at first and grows.
    /// 0: none is kept.
    history_bytes_max: usize, "history" = 64 << 10, from 0 up to 1 << 20, Bytes;
    "the oldest deliveries are forgotten", "informant_plugin_account_bytes", "the_oldest_deliveries_are_forgotten_above_the_bound";

    /// Keys of the plugin's workqueue, also those that are delayed or have failed.
    workqueue_keys_max: usize, "workqueueKeys" = 200_000, up to 10_000_000, Count;
    "a call that adds a key has failed; no event is taken until there is room, or, while all keys are for later, from twice as many on", "informant_plugin_workqueue_keys",
    "more_keys_or_bytes_than_fit_are_refused";

    /// Bytes that they take: their texts, and 256 for each.
    workqueue_bytes_max: usize, "workqueueBytes" = 64 << 20, up to 1 << 30, Bytes;
    "the same", "informant_plugin_workqueue_bytes", "more_keys_or_bytes_than_fit_are_refused";

    /// Series of the plugin's metrics. One that nobody has touched for an hour makes room.
    metric_series_max: usize, "metricSeries" = 1_000, up to 100_000, Count;
    "`metrics` answers with an error", "informant_plugin_metric_series",
    "series_are_bounded_and_end_when_nobody_touches_them";

    /// What the series of the plugin's metrics may take on the host's page, escaped and with all buckets: some 8,000 gauges, or 300 histograms.
    metric_bytes_max: usize, "metricBytes" = 1 << 20, up to 16 << 20, Bytes;
    "the same", "informant_plugin_metric_bytes", "what_series_take_on_the_page_is_bounded";

    /// How often an event or a firing is tried: 20 times take almost four minutes, with waits of 5 ms, doubled each time, up to 30 s. Attempts
    /// that fail because the cluster, a grant or the lead is missing do not count. A key that fails comes again without end, after 30 s at most.
    attempts_max: u32, "attempts" = 20, up to 1_000, Count;
    "the event becomes a dead letter", "informant_plugin_events_total",
    "dead_letters_are_kept_sent_again_and_thrown_away";

    /// How many instances the events of one object, or one key, may end. The next attempt comes after 1 s, then 2 s. Ends
    /// while the cluster, a grant or the lead is missing do not count; the next attempt comes after 30 s then, doubled each time, up to 10 minutes.
    crashes_per_event_max: u32, "crashesPerEvent" = 3, up to 100, Count;
    "the event becomes a dead letter, the key is given up", "informant_plugin_restarts_total", "trap_hurts_nobody";

    /// Dead letters that are kept.
    dead_letters_max: usize, "deadLetters" = 1_000, up to 100_000, Count;
    "the oldest is dropped", "informant_plugin_dead_letters", "the_oldest_go_first_above_the_bounds";

    /// Bytes of the objects that dead letters keep.
    dead_letters_bytes_max: usize, "deadLetterBytes" = 8 << 20, up to 1 << 30, Bytes;
    "the oldest is dropped", "informant_plugin_dead_letters_dropped_total", "the_oldest_go_first_above_the_bounds";

    /// Bytes of the retries that a state directory keeps. As much as may wait in order.
    kept_retries_bytes_max: usize, "keptRetryBytes" = 32 << 20, up to 1 << 30, Bytes;
    "the retry does not outlive the host", "", "what_is_above_the_bound_is_not_kept_and_counted";

    /// Keys of the plugin's `state`.
    state_keys_max: usize, "stateKeys" = 1_000, up to 100_000, Count;
    "`state` answers with an error", "", "what_is_above_the_bounds_is_refused_and_nothing_else_changes";

    /// What `snapshot` may hand to the next version. Keys and values of `state` may take as much again.
    state_bytes_max: usize, "stateBytes" = 1 << 20, up to 64 << 20, Bytes;
    "`state` answers with an error; a snapshot is not carried over", "", "a_snapshot_that_is_too_large_is_not_carried_over";

    /// Bytes that are written to the state directory for the plugin in a second, about: values, retries and dead letters, 4Ki for each of
    /// them and 32Ki for each transaction. A second's worth is written at once after a pause.
    state_writes_per_second: u32, "stateWrites" = 1 << 20, up to 64 << 20, BytesPerSecond;
    "what changes next waits, the last value of each key, and is lost if the host is killed meanwhile; calls and events go on",
    "informant_state_directory_waiting_bytes", "a_plugin_has_so_much_written_a_second_and_no_more";
}
