/* The golden plugin in C. Its twins in the other languages do the same, call by call. */
#include "informant.h"

#define TEXT INFORMANT_STRING
#define PODS TEXT("v1/pods")
#define APP TEXT("/metadata/labels/app")

informant_result plugin_describe(informant_string config) {
  (void)config;
  informant_string descriptor = INFORMANT_JSON({
    "version": "0.1.0",
    "subscriptions": [
      {"resource": "v1/pods", "withOld": true},
      {"resource": "v1/configmaps", "enqueue": [{"self": true, "prefix": "config/"}]}
    ],
    "indexes": [{"resource": "v1/pods", "name": "app", "pointer": "/metadata/labels/app"}],
    "writes": [{"resource": "v1/pods", "verbs": ["patch"]}],
    "http": [{"origins": ["https://golden.example"], "methods": ["POST"]}],
    "schedules": [{"name": "minutely", "every": "60s"}]
  });
  return (informant_result){.text = descriptor};
}

informant_result plugin_start(informant_string config) {
  informant_string greeting = {0};
  if (informant_json_find_text(config, TEXT("/greeting"), &greeting) != INFORMANT_JSON_FOUND)
    return informant_refuse(TEXT("the configuration has no greeting: write config: {greeting: hello}"));
  informant_log_with(INFORMANT_INFO, TEXT("started"), INFORMANT_PAIRS(INFORMANT_PAIR("greeting", greeting)));
  return INFORMANT_OK;
}

/* How many there are of what the cache answers in pages. */
typedef struct {
  size_t listed, filed, keys, values;
  uint64_t pods;
} counts;

static const informant_error *count_pages(counts *found) {
  const informant_error *error;
  informant_page listed = {0}, filed = {0}, values = {0};
  informant_key_page keys = {0};
  do {
    error = informant_indexer_list(PODS, informant_some(TEXT("shop")), TEXT("app=web"), &listed);
    if (error) return error;
    found->listed += listed.items.count;
  } while (listed.next.is_some);
  do {
    if ((error = informant_indexer_by_index(PODS, TEXT("app"), TEXT("web"), &filed))) return error;
    found->filed += filed.items.count;
  } while (filed.next.is_some);
  do {
    if ((error = informant_indexer_index_keys(PODS, TEXT("app"), TEXT("web"), &keys))) return error;
    found->keys += keys.keys.count;
  } while (keys.next.is_some);
  do {
    if ((error = informant_indexer_index_values(PODS, TEXT("app"), &values))) return error;
    found->values += values.items.count;
  } while (values.next.is_some);
  return informant_indexer_count(PODS, INFORMANT_NONE, &found->pods);
}

/* Whether there is nothing where nothing should be. */
static const informant_error *look_for_none(informant_object_key key, bool *is_none) {
  informant_optional_string absent;
  informant_optional_strings fields;
  informant_object_key nobody = {TEXT("shop"), TEXT("absent")};
  const informant_error *error = informant_indexer_get(PODS, nobody, &absent);
  if (error) return error;
  if ((error = informant_indexer_fields(PODS, key, INFORMANT_STRINGS(APP, TEXT("/none")), &fields))) return error;
  *is_none = !absent.is_some && fields.count == 2 && fields.items[0].is_some && !fields.items[1].is_some;
  return NULL;
}

/* Counts in the plugin's state. */
static const informant_error *remember(int64_t *seen, size_t *kept) {
  informant_optional_string known;
  informant_strings keys;
  const informant_error *error = informant_state_get(TEXT("seen"), &known);
  if (error) return error;
  if (!known.is_some || !informant_integer(known.value, seen)) *seen = 0;
  if ((error = informant_state_set(TEXT("seen"), informant_integer_text(++*seen)))) return error;
  if ((error = informant_state_keys(TEXT(""), &keys))) return error;
  *kept = keys.count;
  return NULL;
}

static const informant_error *measure(informant_string app) {
  const informant_error *error;
  informant_pairs labels = INFORMANT_PAIRS(INFORMANT_PAIR("app", app));
  if ((error = informant_metrics_counter_add(TEXT("golden_total"), labels, 1))) return error;
  if ((error = informant_metrics_gauge_set(TEXT("golden_pods"), INFORMANT_NO_PAIRS, 2))) return error;
  return informant_metrics_histogram_observe(TEXT("golden_seconds"), INFORMANT_NO_PAIRS, 0.5);
}

/* Everything that reads and counts. */
static informant_outcome read(const informant_event *event) {
  counts found = {0};
  bool is_none, synced;
  int64_t seen;
  size_t kept;
  const informant_error *error;
  informant_optional_string app = informant_field_text(INFORMANT_NEW, APP);
  if ((error = look_for_none(event->key, &is_none)) || (error = count_pages(&found))) return informant_failed(error);
  if ((error = informant_indexer_has_synced(PODS, &synced))) return informant_failed(error);
  if ((error = remember(&seen, &kept)) || (error = measure(app.value))) return informant_failed(error);
  informant_workqueue_add(informant_key_text(event->key));
  informant_string space = TEXT(" ");
  informant_string numbers = INFORMANT_CONCAT(
      informant_unsigned_text(found.listed), space, informant_unsigned_text(found.filed), space,
      informant_unsigned_text(found.keys), space, informant_unsigned_text(found.values), space,
      informant_unsigned_text(found.pods));
  informant_log_with(
      INFORMANT_INFO, TEXT("read"),
      INFORMANT_PAIRS(INFORMANT_PAIR("app", app.value), INFORMANT_PAIR("found", numbers),
                      INFORMANT_PAIR("absent", is_none ? TEXT("none") : TEXT("there")),
                      INFORMANT_PAIR("synced", synced ? TEXT("yes") : TEXT("no")),
                      INFORMANT_PAIR("seen", informant_integer_text(seen)),
                      INFORMANT_PAIR("kept", informant_unsigned_text(kept)),
                      INFORMANT_PAIR("plugin", informant_plugin_name())));
  return INFORMANT_DONE;
}

/* Everything that is sent. */
static informant_outcome write(const informant_event *event) {
  informant_response answer;
  informant_kube_target pod = {.resource = PODS, .key = event->key};
  informant_request request = {.method = TEXT("POST"),
                               .url = TEXT("https://golden.example/pods"),
                               .body = informant_key_text(event->key)};
  informant_string changed = informant_changed(TEXT("/metadata/labels")) ? TEXT("changed") : TEXT("the same");
  informant_string patch = INFORMANT_JSON({"metadata":{"annotations":{"golden":"seen"}}});
  const informant_error *error = informant_kube_patch(pod, INFORMANT_MERGE, patch, NULL);
  if (error || (error = informant_http_send(&request, &answer))) return informant_failed(error);
  informant_log_with(INFORMANT_WARN, TEXT("sent"),
                     INFORMANT_PAIRS(INFORMANT_PAIR("labels", changed),
                                     INFORMANT_PAIR("status", informant_unsigned_text(answer.status)),
                                     INFORMANT_PAIR("answer", informant_utf8(answer.body))));
  return INFORMANT_DONE;
}

static informant_outcome handle(const informant_event *event) {
  if (informant_equal(event->key.name, TEXT("fails")) && event->attempt == 1)
    return informant_fail_after(TEXT("asked to fail"), 50);
  if (informant_equal(event->key.name, TEXT("gives-up"))) return informant_give_up(TEXT("asked to give up"));
  informant_log_with(INFORMANT_INFO, TEXT("told"),
                     INFORMANT_PAIRS(INFORMANT_PAIR("change", informant_change_text(event->change)),
                                     INFORMANT_PAIR("reason", informant_reason_text(event->reason)),
                                     INFORMANT_PAIR("key", informant_key_text(event->key)),
                                     INFORMANT_PAIR("old", event->old.is_some ? TEXT("there") : TEXT("none"))));
  if (event->change == INFORMANT_ADDED) return read(event);
  if (event->change == INFORMANT_UPDATED) return write(event);
  return INFORMANT_DONE;
}

static informant_outcome reconcile(informant_string key, uint32_t attempt, informant_optional_u64 *again_after_ms) {
  informant_optional_string known;
  informant_string once = INFORMANT_CONCAT(TEXT("once/"), key), number = informant_unsigned_text(attempt);
  informant_log_with(INFORMANT_INFO, TEXT("reconciled"),
                     INFORMANT_PAIRS(INFORMANT_PAIR("key", key), INFORMANT_PAIR("attempt", number),
                                     INFORMANT_PAIR("waiting", informant_unsigned_text(informant_workqueue_len()))));
  const informant_error *error = informant_state_get(once, &known);
  if (error) return informant_failed(error);
  if (known.is_some) return INFORMANT_DONE;
  if ((error = informant_state_set(once, number))) return informant_failed(error);
  *again_after_ms = (informant_optional_u64){1, 1000};
  return INFORMANT_DONE;
}

static informant_outcome fire(informant_string schedule, uint64_t unix_ms) {
  informant_log_with(INFORMANT_INFO, TEXT("fired"),
                     INFORMANT_PAIRS(INFORMANT_PAIR("schedule", schedule),
                                     INFORMANT_PAIR("at", informant_unsigned_text(unix_ms))));
  return INFORMANT_DONE;
}

static informant_outcome synced(uint32_t subscription) {
  informant_log_with(INFORMANT_INFO, TEXT("synced"),
                     INFORMANT_PAIRS(INFORMANT_PAIR("subscription", informant_unsigned_text(subscription))));
  return INFORMANT_DONE;
}

static informant_result snapshot(informant_optional_string *data) {
  *data = informant_some(TEXT("\"carried\""));
  return (informant_result){0};
}

static informant_result restore(informant_string from_version, informant_string data) {
  (void)data;
  informant_log_with(INFORMANT_INFO, TEXT("restored"), INFORMANT_PAIRS(INFORMANT_PAIR("from", from_version)));
  return (informant_result){0};
}

INFORMANT_HANDLER(handle);
INFORMANT_RECONCILER(reconcile);
INFORMANT_TIMER(fire);
INFORMANT_SYNC_AWARE(synced);
INFORMANT_STATEFUL(snapshot, restore);

void plugin_stop(void) {
  informant_log(INFORMANT_INFO, TEXT("stopped"));
}
