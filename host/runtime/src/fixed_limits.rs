//! Limits that no configuration can change. Each has its value in the code that keeps it, and a
//! line here. With the limits of [`limits`] they are the page `host/docs/limits.md`.
//!
//! [`limits`]: crate::limits

use crate::contract::component::{
    FILE_NAME_BYTES_MAX, FILE_NAMES_MAX, FILE_TYPE_BYTES_MAX, FILE_TYPES_MAX,
    FUNCTION_NAME_BYTES_MAX,
};
use crate::contract::configuration::RULE_ENTRIES_MAX;
use crate::contract::coverage::NAMESPACES_WATCHED_MAX;
use crate::contract::descriptor::{
    CRON_BYTES_MAX, DESCRIPTOR_BYTES_MAX, DURATION_BYTES_MAX, ENQUEUE_RULES_MAX,
    ENQUEUE_TEXT_BYTES_MAX, FILTERS_BYTES_MAX, HTTP_MAX, HTTP_ORIGIN_BYTES_MAX, INDEXES_MAX,
    LIST_MAX, NAME_BYTES_MAX, NAMESPACE_SELECTORS_MAX, NAMESPACES_MAX, POINTER_BYTES_MAX,
    POINTERS_MAX, READS_MAX, REQUIREMENTS_OF_RESOURCE_MAX, SCHEDULES_MAX, SUBSCRIPTIONS_MAX,
    SUBSCRIPTIONS_OF_RESOURCE_MAX, VERSION_BYTES_MAX, WATCHES_MAX, WRITES_MAX,
};
use crate::contract::filter::TEXT_BYTES_MAX as FILTER_BYTES_MAX;
use crate::contract::limits::Unit;
use crate::contract::selectors::{
    FIELD_REQUIREMENTS_MAX, FIELD_STEPS_MAX, LABEL_REQUIREMENTS_MAX, LABEL_VALUES_MAX,
    SELECTOR_BYTES_MAX,
};
use crate::delivery::key_queue::KEY_BYTES_MAX;
use crate::directory::{FILE_BYTES_MAX, PLUGINS_MAX};
use crate::guest::guest_state::POLLABLES_MAX;
use crate::guest::host_functions::fields;
use crate::guest::host_functions::wasi::{RANDOM_BYTES_MAX, WRITE_BYTES_MAX as OUTPUT_BYTES_MAX};
use crate::guest::instance::HANDLES_MAX;
use crate::guest::json_pointer_index::VALUES_MAX;
use crate::guest::memory_room::{BESIDE_OF_ONE, MEMORIES_MAX};
use crate::log_budget::MESSAGE_BYTES_MAX;
use crate::outside::outbound::{
    HEADER_BYTES_MAX, HEADERS_MAX, PATH_BYTES_MAX, REDIRECTS_MAX, URL_BYTES_MAX,
};
use crate::outside::turns::{AT_ONCE, AT_ONCE_OF_ONE, FOR_OTHERS};
use crate::outside::write::WRITE_BYTES_MAX;
use crate::plugin_host::STOPS_TIME_MAX;
use crate::powers::access::{ASKS_MAX, ASKS_OF_ACCOUNT_MAX};
use crate::powers::exchange::HEAD_BYTES_MAX;
use crate::shard::{MORE_INSTANCES_MAX, SHARDS_MAX};
use informant_cache::Projection;

/// A limit that cannot be set.
#[derive(Clone, Copy, Debug)]
pub struct FixedLimit {
    /// Its name.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Its value.
    pub value: u64,
    /// The effect at the bound.
    pub then: &'static str,
    /// The metric that shows that the bound was reached; empty if only the plugin or the log shows it.
    pub metric: &'static str,
    /// The test at the bound.
    pub test: &'static str,
}

const fn fixed(
    name: &'static str,
    (unit, value): (Unit, u64),
    then: &'static str,
    metric: &'static str,
    test: &'static str,
) -> FixedLimit {
    FixedLimit { name, unit, value, then, metric, test }
}

/// A bound of the descriptor; one test checks all of them.
const fn of_descriptor(name: &'static str, value: (Unit, usize)) -> FixedLimit {
    let (unit, value) = value;
    let then = "the descriptor is refused";
    fixed(name, (unit, value as u64), then, UP, "every_field_is_bounded")
}

/// The same for selectors, which calls and requests also have.
const fn of_selector(name: &'static str, value: (Unit, usize)) -> FixedLimit {
    let (unit, value) = value;
    let then =
        "the descriptor is refused, `indexer` answers with an error, the HTTP API with status 400";
    fixed(name, (unit, value as u64), then, UP, "every_field_is_bounded")
}

/// A bound of a file's declarations in all of its modules and components together.
const fn of_file(name: &'static str, value: (Unit, usize)) -> FixedLimit {
    let (unit, value) = value;
    fixed(
        name,
        (unit, value as u64),
        "the file is refused",
        UP,
        "types_and_names_of_a_file_are_bounded",
    )
}

const UP: &str = "informant_plugin_up";
const RESTARTS: &str = "informant_plugin_restarts_total";
const HTTP: &str = "informant_plugin_http_requests_total";

/// All fixed limits.
pub const FIXED: &[FixedLimit] = &[
    fixed(
        "workqueueKeyBytes",
        (Unit::Bytes, KEY_BYTES_MAX as u64),
        "a call that adds the key has failed; one of an `enqueue` rule is not added",
        "informant_plugin_keys_total",
        "more_keys_or_bytes_than_fit_are_refused",
    ),
    fixed(
        "logLineBytes",
        (Unit::Bytes, MESSAGE_BYTES_MAX as u64),
        "the line is cut and says so",
        "",
        "fields_above_the_bound_are_counted_not_written",
    ),
    fixed(
        "ruleEntries",
        (Unit::Count, RULE_ENTRIES_MAX as u64),
        "in all lists of `reads`, or of `writes`, of a file beside a plugin; the file is refused",
        "",
        "entries_of_rules_beside_a_plugin_are_bounded",
    ),
    of_descriptor("descriptorBytes", (Unit::Bytes, DESCRIPTOR_BYTES_MAX)),
    of_descriptor("versionBytes", (Unit::Bytes, VERSION_BYTES_MAX)),
    of_descriptor("nameBytes", (Unit::Bytes, NAME_BYTES_MAX)),
    of_descriptor("listEntries", (Unit::Count, LIST_MAX)),
    of_descriptor("subscriptions", (Unit::Count, SUBSCRIPTIONS_MAX)),
    fixed(
        "subscriptionsOfResource",
        (Unit::Count, SUBSCRIPTIONS_OF_RESOURCE_MAX as u64),
        "to one resource, in all its versions; the descriptor is refused",
        UP,
        "subscriptions_are_bounded_for_each_resource",
    ),
    fixed(
        "labelRequirementsOfResource",
        (Unit::Count, REQUIREMENTS_OF_RESOURCE_MAX as u64),
        "in all selectors of labels for one resource; the descriptor is refused",
        UP,
        "requirements_for_labels_are_bounded_for_each_resource",
    ),
    fixed(
        "namespaceSelectors",
        (Unit::Count, NAMESPACE_SELECTORS_MAX as u64),
        "in subscriptions and reads; the descriptor is refused",
        UP,
        "selectors_of_namespaces_are_bounded_for_a_plugin",
    ),
    fixed(
        "filtersBytes",
        (Unit::Bytes, FILTERS_BYTES_MAX as u64),
        "of all filters of a plugin; the descriptor is refused",
        UP,
        "filters_are_bounded_in_all",
    ),
    of_descriptor("pointersPerSubscription", (Unit::Count, POINTERS_MAX)),
    of_descriptor("pointerBytes", (Unit::Bytes, POINTER_BYTES_MAX)),
    of_descriptor("pointerSteps", (Unit::Count, Projection::STEPS_MAX)),
    of_descriptor("namespacesPerView", (Unit::Count, NAMESPACES_MAX)),
    of_descriptor("filterBytes", (Unit::Bytes, FILTER_BYTES_MAX)),
    of_descriptor("enqueueRules", (Unit::Count, ENQUEUE_RULES_MAX)),
    of_descriptor("enqueueTextBytes", (Unit::Bytes, ENQUEUE_TEXT_BYTES_MAX)),
    of_descriptor("indexes", (Unit::Count, INDEXES_MAX)),
    fixed(
        "indexValues",
        (Unit::Count, VALUES_MAX as u64),
        "of one object in all of the plugin's indexes of a resource, in equal shares; the object is filed under its first values",
        "informant_index_values_cut_total",
        "values_of_one_object_are_bounded_and_counted",
    ),
    of_descriptor("reads", (Unit::Count, READS_MAX)),
    of_descriptor("schedules", (Unit::Count, SCHEDULES_MAX)),
    of_descriptor("cronBytes", (Unit::Bytes, CRON_BYTES_MAX)),
    of_descriptor("durationBytes", (Unit::Bytes, DURATION_BYTES_MAX)),
    of_descriptor("writes", (Unit::Count, WRITES_MAX)),
    fixed(
        "writeBytes",
        (Unit::Bytes, WRITE_BYTES_MAX as u64),
        "`kube` answers with an error",
        "informant_plugin_cluster_writes_total",
        "a_body_goes_up_to_its_bound",
    ),
    of_descriptor("http", (Unit::Count, HTTP_MAX)),
    of_descriptor("httpOriginBytes", (Unit::Bytes, HTTP_ORIGIN_BYTES_MAX)),
    of_descriptor("httpPathBytes", (Unit::Bytes, PATH_BYTES_MAX)),
    fixed(
        "httpUrlBytes",
        (Unit::Bytes, URL_BYTES_MAX as u64),
        "`http` answers `invalid`",
        HTTP,
        "urls_are_bounded",
    ),
    fixed(
        "httpHeaders",
        (Unit::Count, HEADERS_MAX as u64),
        "`http` answers `invalid`",
        HTTP,
        "fields_are_bounded",
    ),
    fixed(
        "httpHeaderBytes",
        (Unit::Bytes, HEADER_BYTES_MAX as u64),
        "`http` answers `invalid`",
        HTTP,
        "fields_are_bounded",
    ),
    fixed(
        "httpAnswerHeadBytes",
        (Unit::Bytes, HEAD_BYTES_MAX as u64),
        "`http` answers `too-large`",
        HTTP,
        "a_head_is_as_large_as_it_may_be",
    ),
    fixed(
        "httpRedirects",
        (Unit::Count, REDIRECTS_MAX as u64),
        "`http` answers `transport`",
        HTTP,
        "redirects_are_followed_so_far_and_no_farther",
    ),
    fixed(
        "requestsAtOnce",
        (Unit::Count, AT_ONCE as u64),
        "of all plugins' writes, and of all plugins' requests over HTTP; the next waits for its turn, which counts as waiting for its answer",
        "informant_plugin_http_request_seconds",
        "so_many_are_under_way_at_once_and_others_wait",
    ),
    fixed(
        "requestsAtOnceOfOne",
        (Unit::Count, AT_ONCE_OF_ONE as u64),
        "of one plugin's writes, and of its requests over HTTP, in all its instances together; the next waits as above",
        "informant_plugin_http_request_seconds",
        "one_plugin_has_so_many_under_way_at_once",
    ),
    fixed(
        "requestsForOthers",
        (Unit::Count, FOR_OTHERS as u64),
        "of the requests at once of all plugins, for plugins with none under way; the next of the others goes to the plugin with the fewest",
        "informant_plugin_http_request_seconds",
        "plugins_in_many_shards_leave_turns_for_those_that_have_none",
    ),
    fixed(
        "permissions",
        (Unit::Count, ASKS_MAX as u64),
        "of all plugins' service accounts, each for a resource in a namespace or in all; further permissions are not allowed",
        "informant_access_permissions",
        "so_many_reviews_are_under_way_and_so_many_are_begun",
    ),
    fixed(
        "permissionsOfOne",
        (Unit::Count, ASKS_OF_ACCOUNT_MAX as u64),
        "the same, of one service account",
        "informant_access_permissions",
        "one_account_leaves_room_for_another",
    ),
    fixed(
        "namespacesWatched",
        (Unit::Count, NAMESPACES_WATCHED_MAX as u64),
        "of one view, each watched by itself; for a view with more, the host watches all namespaces at once, and needs a role for that",
        "informant_informer_synced",
        "few_namespaces_are_watched_each_by_itself",
    ),
    fixed(
        "watches",
        (Unit::Count, WATCHES_MAX as u64),
        "of a plugin: a list and watch for each resource, or for each of its namespaces that is watched by itself; the descriptor is refused",
        UP,
        "lists_and_watches_of_a_plugin_are_bounded",
    ),
    fixed(
        "fieldsPerCall",
        (Unit::Count, fields::POINTERS_MAX as u64),
        "`indexer` answers with an error; in `event-data` the instance ends",
        "informant_plugin_restarts_total",
        "pointers_are_bounded",
    ),
    fixed(
        "handles",
        (Unit::Count, HANDLES_MAX as u64),
        "the instance ends (cause `trap`)",
        RESTARTS,
        "handles_of_resources_are_bounded",
    ),
    fixed(
        "functionNameBytes",
        (Unit::Bytes, FUNCTION_NAME_BYTES_MAX as u64),
        "the file is refused",
        UP,
        "names_of_functions_are_bounded",
    ),
    fixed(
        "wasiPollables",
        (Unit::Count, POLLABLES_MAX as u64),
        "the instance ends (cause `trap`)",
        RESTARTS,
        "moments_to_wait_for_are_bounded",
    ),
    fixed(
        "wasiWriteBytes",
        (Unit::Bytes, OUTPUT_BYTES_MAX),
        "the instance ends (cause `trap`)",
        RESTARTS,
        "bytes_written_at_once_are_bounded",
    ),
    fixed(
        "wasiRandomBytes",
        (Unit::Bytes, RANDOM_BYTES_MAX),
        "the instance ends (cause `trap`)",
        RESTARTS,
        "random_bytes_at_once_are_bounded",
    ),
    of_selector("selectorBytes", (Unit::Bytes, SELECTOR_BYTES_MAX)),
    of_selector("labelRequirements", (Unit::Count, LABEL_REQUIREMENTS_MAX)),
    of_selector("labelValues", (Unit::Count, LABEL_VALUES_MAX)),
    of_selector("fieldRequirements", (Unit::Count, FIELD_REQUIREMENTS_MAX)),
    of_selector("fieldSteps", (Unit::Count, FIELD_STEPS_MAX)),
    fixed(
        "plugins",
        (Unit::Count, PLUGINS_MAX as u64),
        "no more files are loaded; the log names them",
        UP,
        "more_plugins_than_fit_are_left_alone",
    ),
    fixed(
        "shards",
        (Unit::Count, SHARDS_MAX as u64),
        "the configuration or the descriptor is refused",
        "informant_plugin_shards",
        "a_plugin_asks_for_one_shard_or_up_to_the_bound",
    ),
    fixed(
        "instancesBesideFirst",
        (Unit::Count, MORE_INSTANCES_MAX as u64),
        "a version with more is refused",
        "informant_plugin_shards",
        "instances_of_all_plugins_are_bounded_and_each_has_one",
    ),
    fixed(
        "endTime",
        (Unit::Milliseconds, STOPS_TIME_MAX.as_millis() as u64),
        "of all plugins together when the host ends, for calls under way and `stop`; plugins that have not ended are cut off, and the log names them",
        "",
        "the_stops_of_all_plugins_have_one_deadline",
    ),
    fixed(
        "memoriesOfAll",
        (Unit::Count, MEMORIES_MAX as u64),
        "of all plugins' instances together, each 4Gi of the address space; an instance with more does not start, but each plugin has room for 4",
        UP,
        "memories_of_all_plugins_are_bounded_and_each_has_room_for_some",
    ),
    fixed(
        "memoriesOfOne",
        (Unit::Count, BESIDE_OF_ONE as u64),
        "of one plugin's instances together beside those 4; an instance with more does not start",
        UP,
        "one_plugin_has_so_many_memories_and_not_all",
    ),
    fixed(
        "fileBytes",
        (Unit::Bytes, FILE_BYTES_MAX),
        "the file is refused",
        UP,
        "a_file_that_is_too_large_is_not_read",
    ),
    of_file("fileTypes", (Unit::Count, FILE_TYPES_MAX)),
    of_file("fileTypeBytes", (Unit::Bytes, FILE_TYPE_BYTES_MAX)),
    of_file("fileNames", (Unit::Count, FILE_NAMES_MAX)),
    of_file("fileNameBytes", (Unit::Bytes, FILE_NAME_BYTES_MAX)),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::limits::{Limit, TABLE};
    use expect_test::expect_file;

    fn row(name: &str, values: (&str, &str), then: &str, metric: &str, test: &str) -> String {
        let metric = match metric {
            "" => "the answer, or the log".to_owned(),
            metric => format!("`{metric}`"),
        };
        format!("| {name} | {} | {} | {then} | {metric} | `{test}` |\n", values.0, values.1)
    }

    #[test]
    fn the_page_is_the_table() {
        let shown = |unit: Unit, number| match unit {
            Unit::PerSecond | Unit::BytesPerSecond => format!("{}/s", unit.show(number)),
            _ => unit.show(number),
        };
        let mut page = include_str!("fixed_limits/head.md").to_owned();
        for Limit { name, unit, default, maximum, metric, then, test, .. } in TABLE {
            let values = (&*shown(*unit, *default), &*shown(*unit, *maximum));
            page += &row(name, values, then, metric, test);
        }
        for FixedLimit { name, unit, value, metric, then, test } in FIXED {
            page += &row(name, (&shown(*unit, *value), "fixed"), then, metric, test);
        }
        expect_file!["../../docs/limits.md"].assert_eq(&page);
    }
}
