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
    /// Memory of one instance: linear memories, globals, references to functions. Each of several instances has this
    /// limit for itself. A Rust plugin settles at about 1 MiB.
    memory_bytes_max: usize, "memory" = 64 << 20, up to 1 << 30, Bytes;
    "the instance ends (cause `memory`)", "informant_plugin_memory_bytes", "memories_are_summed";

    /// Memory that the host holds for the plugin, all parts of its account together: instances in all shards, stacks,
    /// code, documents, requests under way, indexes, watches, recordings, queue, workqueue, series, state, dead
    /// letters. This limit applies beside the other limits: with higher ones, it may have to be higher too. A Python
    /// plugin has 33Mi of code for each of up to three versions, and holds some 150Mi during a reload.
    host_memory_max: u64, "hostMemory" = 1 << 30, up to 64 << 30, Bytes;
    "the plugin is stopped alone until its file or its configuration changes; a version is refused until the plugin holds less; a request is not sent",
    "informant_plugin_account_bytes", "a_plugin_that_holds_too_much_in_all_is_stopped_alone";

    /// Elements of all tables together. Compilers put every function whose address is taken into a table: CPython has
    /// ten thousand, and Go with Kubernetes' types some tens of thousands. Each takes 8 bytes of `hostMemory`.
    table_elements_max: usize, "tableElements" = 100_000, up to 1_000_000, Count;
    "the instance ends (cause `tables`)", "informant_plugin_restarts_total", "tables_are_summed";

    /// Core instances of the component. A component made from a core module has a handful; CPython with its libraries
    /// has some thirty.
    instances_max: usize, "instances" = 128, up to 1_000, Count;
    "the plugin does not start", "informant_plugin_up", "more_tables_elements_or_memories_than_allowed_do_not_start";

    /// Tables. Compilers make one for each core instance that has any.
    tables_max: usize, "tables" = 64, up to 1_000, Count;
    "the plugin does not start", "informant_plugin_up", "more_tables_elements_or_memories_than_allowed_do_not_start";

    /// Linear memories. Compilers make one for each language in the component.
    memories_max: usize, "memories" = 16, up to 100, Count;
    "the plugin does not start", "informant_plugin_up", "more_tables_elements_or_memories_than_allowed_do_not_start";

    /// Processor time of one `handle`.
    handle_deadline: Duration, "handleTime" = 1_000, up to 60_000, Milliseconds;
    "the instance ends (cause `deadline`); host calls count, waits in them do not", "informant_plugin_handle_seconds",
    "a_call_ends_at_its_limit";

    /// Time by the clock that one call of the plugin may wait for answers from outside, all its requests together. The
    /// replacement or removal of the plugin ends the call earlier.
    wait_time: Duration, "waitTime" = 10_000, up to 20_000, Milliseconds;
    "the request ends, and the plugin gets an error", "informant_plugin_cluster_write_seconds",
    "a_call_waits_for_as_long_as_it_may_in_all";

    /// Writes to the cluster a second. After a pause as many may follow each other at once. Kubernetes Events have
    /// their own bound. The default is ten times the default of a controller with controller-runtime.
    cluster_writes_per_second: u32, "clusterWrites" = 200, up to 10_000, PerSecond;
    "the write waits, which counts as waiting for its answer", "informant_plugin_cluster_write_seconds",
    "a_plugin_writes_so_often_and_no_more";

    /// HTTP requests a second, with those that follow redirects. After a pause the requests of one second may follow
    /// each other at once.
    http_requests_per_second: u32, "httpRequests" = 50, up to 10_000, PerSecond;
    "the request waits, which counts as waiting for its answer", "informant_plugin_http_request_seconds",
    "a_plugin_asks_so_often_and_no_more";

    /// Bytes of the body of one HTTP request.
    http_request_bytes_max: usize, "httpRequestBytes" = 1 << 20, up to 16 << 20, Bytes;
    "`http` answers `invalid`", "informant_plugin_http_requests_total", "a_request_is_checked_part_by_part";

    /// Bytes of the body of one HTTP answer. The host holds the body while the plugin waits; then the plugin holds it.
    http_response_bytes_max: usize, "httpResponseBytes" = 1 << 20, up to 16 << 20, Bytes;
    "`http` answers `too-large`", "informant_plugin_http_requests_total", "an_answer_is_as_large_as_it_may_be";

    /// Origins and paths in all rules of `http` together. The host compares each request with one rule after the other.
    http_rules_max: usize, "httpRules" = 256, up to 10_000, Count;
    "the configuration is refused", "informant_plugin_http_rules", "rules_name_as_much_as_they_may";

    /// Time of `describe` and of `start`, which may set up caches, and of `snapshot` and `restore`.
    start_deadline: Duration, "startTime" = 10_000, up to 60_000, Milliseconds;
    "`describe`, `start`, `snapshot` or `restore` fails", "informant_plugin_restarts_total", "every_export_has_a_deadline";

    /// Time of `stop`. When the host ends, all plugins together have 5 s for it.
    stop_deadline: Duration, "stopTime" = 2_000, up to 10_000, Milliseconds;
    "the instance ends before the end of `stop`", "", "every_export_has_a_deadline";

    /// Time for the delivery of waiting events after the removal of the plugin's file, unless `onRemoval` is `drop`.
    drain_time: Duration, "drainTime" = 10_000, up to 60_000, Milliseconds;
    "the rest is dropped", "", "what_waits_is_told_before_a_removed_plugin_ends";

    /// Bytes of the object and the old object of one event, together. The API server takes objects of up to 3 MiB.
    event_bytes_max: usize, "eventBytes" = 8 << 20, up to 64 << 20, Bytes;
    "the event becomes a dead letter", "informant_plugin_events_total", "an_event_is_handed_over_up_to_its_bound";

    /// Bytes that the host may allocate for the arguments of one host call: the size of an event and some more.
    hostcall_bytes_max: usize, "hostCallBytes" = 4 << 20, up to 64 << 20, Bytes;
    "the instance ends (cause `trap`)", "informant_plugin_restarts_total", "huge_return_hurts_nobody";

    /// Bytes of one answer of the indexer. A single larger object comes alone.
    answer_bytes_max: usize, "answerBytes" = 1 << 20, up to 16 << 20, Bytes;
    "the page ends, and has a cursor", "", "answers_keep_to_their_bytes_and_one_larger_item_comes_alone";

    /// Items in one page of the indexer. A page without a limit from the plugin has at most half of them.
    page_items_max: usize, "pageItems" = 1_000, up to 10_000, Count;
    "the page ends, and has a cursor", "", "pages_are_bounded_whatever_the_plugin_says";

    /// Log lines a second, with those of the host about its calls. The host slows a faster plugin down between its events.
    log_lines_per_second: u32, "logLines" = 5_000, up to 100_000, PerSecond;
    "the plugin waits before its next event; more than a second's worth in one event is dropped",
    "informant_plugin_log_lines_dropped_total", "a_burst_passes_and_is_paid_for_later";

    /// Log bytes a second, with the same rule.
    log_bytes_per_second: u32, "logBytes" = 2 << 20, up to 64 << 20, BytesPerSecond;
    "the same", "informant_plugin_log_lines_dropped_total", "bytes_count_as_well_as_lines";

    /// Events that wait in order.
    queue_events_mark: usize, "queueEvents" = 10_000, up to 1_000_000, Count;
    "events of one object are merged", "informant_plugin_queue_depth", "above_the_mark_events_of_one_object_merge";

    /// Bytes that the waiting events keep in memory.
    queue_bytes_mark: usize, "queueBytes" = 32 << 20, up to 1 << 30, Bytes;
    "events of one object are merged", "informant_plugin_queue_bytes", "above_the_mark_events_of_one_object_merge";

    /// Bytes of the plugin's history for `informant why`: the deliveries that ended last, about 50 bytes each. The
    /// history has 4Ki at first and grows. With 0 there is no history.
    history_bytes_max: usize, "history" = 64 << 10, from 0 up to 1 << 20, Bytes;
    "the oldest deliveries are forgotten", "informant_plugin_account_bytes", "the_oldest_deliveries_are_forgotten_above_the_bound";

    /// Bytes of the plugin's last log lines, for `informant tail` and the dashboard: each takes its JSON and 64 bytes.
    /// With 0 no line is kept.
    log_tail_bytes_max: usize, "logTail" = 64 << 10, from 0 up to 1 << 20, Bytes;
    "the oldest lines are forgotten", "informant_plugin_account_bytes", "the_oldest_lines_are_forgotten_above_the_bound";

    /// Keys of the plugin's workqueue, with the delayed and the failed ones.
    workqueue_keys_max: usize, "workqueueKeys" = 200_000, up to 10_000_000, Count;
    "a call that adds a key fails; no event is taken until there is room; if all keys are delayed, from twice this number on", "informant_plugin_workqueue_keys",
    "more_keys_or_bytes_than_fit_are_refused";

    /// Bytes of the workqueue's keys: their texts, and 256 for each key.
    workqueue_bytes_max: usize, "workqueueBytes" = 64 << 20, up to 1 << 30, Bytes;
    "the same; while the number of shards changes, the keys take up to twice their memory",
    "informant_plugin_workqueue_bytes", "more_keys_or_bytes_than_fit_are_refused";

    /// Series of the plugin's metrics. A series ends an hour after its last use.
    metric_series_max: usize, "metricSeries" = 1_000, up to 100_000, Count;
    "`metrics` answers with an error", "informant_plugin_metric_series",
    "series_are_bounded_and_end_when_nobody_touches_them";

    /// Bytes of the plugin's series on the host's page, escaped and with all buckets: some 8,000 gauges, or 300
    /// histograms.
    metric_bytes_max: usize, "metricBytes" = 1 << 20, up to 16 << 20, Bytes;
    "the same", "informant_plugin_metric_bytes", "what_series_take_on_the_page_is_bounded";

    /// Attempts of an event or a firing. Twenty take almost four minutes, with waits of 5 ms, doubled each time, up to
    /// 30 s. An attempt does not count if the cluster, a grant or the lead is missing. A failed key is retried without
    /// end, after 30 s at most.
    attempts_max: u32, "attempts" = 20, up to 1_000, Count;
    "the event becomes a dead letter", "informant_plugin_events_total",
    "dead_letters_are_kept_sent_again_and_thrown_away";

    /// Instances that the events of one object, or one key, may end. The next attempt comes after 1 s, then 2 s. An end
    /// does not count if the cluster, a grant or the lead is missing. The next attempt then comes after 30 s, doubled
    /// each time, up to 10 minutes.
    crashes_per_event_max: u32, "crashesPerEvent" = 3, up to 100, Count;
    "the event becomes a dead letter, the key is given up", "informant_plugin_restarts_total", "trap_hurts_nobody";

    /// Dead letters of the plugin.
    dead_letters_max: usize, "deadLetters" = 1_000, up to 100_000, Count;
    "the oldest is dropped", "informant_plugin_dead_letters", "the_oldest_go_first_above_the_bounds";

    /// Bytes of the objects in dead letters.
    dead_letters_bytes_max: usize, "deadLetterBytes" = 8 << 20, up to 1 << 30, Bytes;
    "the oldest is dropped", "informant_plugin_dead_letters_dropped_total", "the_oldest_go_first_above_the_bounds";

    /// Bytes of the retries in the state directory. The default is that of `queueBytes`.
    kept_retries_bytes_max: usize, "keptRetryBytes" = 32 << 20, up to 1 << 30, Bytes;
    "the retry does not outlive the host", "", "what_is_above_the_bound_is_not_kept_and_counted";

    /// Keys of the plugin's `state`.
    state_keys_max: usize, "stateKeys" = 1_000, up to 100_000, Count;
    "`state` answers with an error", "", "what_is_above_the_bounds_is_refused_and_nothing_else_changes";

    /// Bytes of a snapshot for the next version. Keys and values of `state` may take as much again.
    state_bytes_max: usize, "stateBytes" = 1 << 20, up to 64 << 20, Bytes;
    "`state` answers with an error; a snapshot is not carried over", "", "a_snapshot_that_is_too_large_is_not_carried_over";

    /// Bytes a second that the host writes to the state directory for the plugin, about: values, retries and dead
    /// letters, 4Ki for each and 32Ki for each transaction. After a pause the host writes the bytes of one second at
    /// once.
    state_writes_per_second: u32, "stateWrites" = 1 << 20, up to 64 << 20, BytesPerSecond;
    "later changes wait, with the last value of each key, and are lost if the host is killed meanwhile; calls and events go on",
    "informant_state_directory_waiting_bytes", "a_plugin_has_so_much_written_a_second_and_no_more";
}
