/* Does what the golden plugins in Rust, Go, JavaScript and Python do, call by call: as golden.wasm it is held to
 * plugins/golden/0.1.0/everything.golden. */
#include "informant.h"

#define TEXT INFORMANT_STRING
#define PAIR INFORMANT_PAIR
#define PODS INFORMANT_STRING("v1/pods")
#define APP INFORMANT_STRING("/metadata/labels/app")

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
    return informant_refuse(TEXT("the configuration has no greeting"));
  informant_log_with(INFORMANT_INFO, TEXT("started"), INFORMANT_PAIRS(PAIR("greeting", greeting)));
  return INFORMANT_OK;
}

static const informant_error *remember(int64_t *seen, size_t *kept) {
  informant_optional_string known;
  informant_strings keys;
  const informant_error *error = informant_state_get(TEXT("seen"), &known);
  if (error) return error;
  if (!known.is_some || !informant_integer(known.value, seen)) *seen = 0;
  error = informant_state_set(TEXT("seen"), informant_integer_text(++*seen));
  if (error || (error = informant_state_keys(TEXT(""), &keys))) return error;
  *kept = keys.count;
  return NULL;
}

/* How many there are, page by page in the same memory. */
static const informant_error *list(size_t *listed) {
  informant_page page = {.limit = 1};
  informant_mark mark = informant_memory_mark();
  *listed = 0;
  do {
    const informant_error *error = informant_indexer_list(PODS, informant_some(TEXT("shop")), TEXT("app=web"), &page);
    if (error) return error;
    *listed += page.items.count;
    page.next.value = informant_memory_release(mark, page.next.value);
  } while (page.next.is_some);
  return NULL;
}

/* The same, asked in five ways. */
static const informant_error *look(informant_string *found) {
  const informant_error *error;
  size_t listed;
  informant_page filed = {0}, values = {0};
  informant_key_page keys = {0};
  uint64_t count;
  if ((error = list(&listed))) return error;
  if ((error = informant_indexer_by_index(PODS, TEXT("app"), TEXT("web"), &filed))) return error;
  if ((error = informant_indexer_index_keys(PODS, TEXT("app"), TEXT("web"), &keys))) return error;
  if ((error = informant_indexer_index_values(PODS, TEXT("app"), &values))) return error;
  if ((error = informant_indexer_count(PODS, INFORMANT_NONE, &count))) return error;
  informant_string space = TEXT(" ");
  *found = INFORMANT_CONCAT(informant_unsigned_text(listed), space, informant_unsigned_text(filed.items.count), space,
                            informant_unsigned_text(keys.keys.count), space, informant_unsigned_text(values.items.count), space,
                            informant_unsigned_text(count));
  return NULL;
}

static const informant_error *measure(informant_string app) {
  const informant_error *error;
  informant_pairs labels = INFORMANT_PAIRS(PAIR("app", app));
  if ((error = informant_metrics_counter_add(TEXT("golden_total"), labels, 1))) return error;
  if ((error = informant_metrics_gauge_set(TEXT("golden_pods"), INFORMANT_NO_PAIRS, 2))) return error;
  return informant_metrics_histogram_observe(TEXT("golden_seconds"), INFORMANT_NO_PAIRS, 0.5);
}

/* Everything that reads and counts. */
static informant_outcome read_all(const informant_event *event) {
  const informant_error *error;
  informant_string app = informant_field_text(INFORMANT_NEW, APP).value, found;
  informant_optional_strings fields;
  informant_optional_string absent;
  informant_object_key none = {TEXT("shop"), TEXT("absent")};
  bool is_synced;
  int64_t seen;
  size_t kept;
  if ((error = informant_indexer_fields(PODS, event->key, INFORMANT_STRINGS(APP, TEXT("/none")), &fields))) return informant_failed(error);
  if ((error = informant_indexer_get(PODS, none, &absent)) || (error = look(&found))) return informant_failed(error);
  if ((error = informant_indexer_has_synced(PODS, &is_synced))) return informant_failed(error);
  if ((error = remember(&seen, &kept)) || (error = measure(app))) return informant_failed(error);
  informant_workqueue_add(informant_key_text(event->key));
  informant_log_with(INFORMANT_INFO, TEXT("read"),
                     INFORMANT_PAIRS(PAIR("app", app), PAIR("found", found),
                                     PAIR("absent", !absent.is_some && !fields.items[1].is_some ? TEXT("none") : TEXT("there")),
                                     PAIR("synced", is_synced ? TEXT("yes") : TEXT("no")), PAIR("seen", informant_integer_text(seen)),
                                     PAIR("kept", informant_unsigned_text(kept)), PAIR("plugin", informant_plugin_name())));
  return INFORMANT_DONE;
}

/* Everything that is sent. */
static informant_outcome write_all(const informant_event *event) {
  informant_string changed = informant_changed(TEXT("/metadata/labels")) ? TEXT("changed") : TEXT("the same");
  informant_kube_target pod = {.resource = PODS, .key = event->key};
  informant_string patch = TEXT("{\"metadata\":{\"annotations\":{\"golden\":\"seen\"}}}");
  const informant_error *error = informant_kube_patch(pod, INFORMANT_MERGE, patch, NULL);
  if (error) return informant_failed(error);
  informant_request request = {.method = TEXT("POST"), .url = TEXT("https://golden.example/pods"), .body = informant_key_text(event->key)};
  informant_response answer;
  if ((error = informant_http_send(&request, &answer))) return informant_failed(error);
  informant_log_with(INFORMANT_WARN, TEXT("sent"),
                     INFORMANT_PAIRS(PAIR("labels", changed), PAIR("status", informant_unsigned_text(answer.status)),
                                     PAIR("answer", informant_utf8(answer.body))));
  return INFORMANT_DONE;
}

static informant_string reason_text(uint8_t reason) {
  return reason == INFORMANT_INITIAL ? TEXT("initial") : TEXT("watch");
}

static informant_outcome handle(const informant_event *event) {
  if (informant_equal(event->key.name, TEXT("fails")) && event->attempt == 1) return informant_fail_after(TEXT("asked to fail"), 50);
  if (informant_equal(event->key.name, TEXT("gives-up"))) return informant_give_up(TEXT("asked to give up"));
  informant_log_with(INFORMANT_INFO, TEXT("told"),
                     INFORMANT_PAIRS(PAIR("change", informant_change_text(event->change)), PAIR("reason", reason_text(event->reason)),
                                     PAIR("key", informant_key_text(event->key)),
                                     PAIR("old", event->old.is_some ? TEXT("there") : TEXT("none"))));
  if (event->change == INFORMANT_ADDED) return read_all(event);
  return event->change == INFORMANT_UPDATED ? write_all(event) : INFORMANT_DONE;
}

static informant_outcome reconcile(informant_string key, uint32_t attempt, informant_optional_u64 *again_after_ms) {
  informant_log_with(INFORMANT_INFO, TEXT("reconciled"),
                     INFORMANT_PAIRS(PAIR("key", key), PAIR("attempt", informant_unsigned_text(attempt)),
                                     PAIR("waiting", informant_unsigned_text(informant_workqueue_len()))));
  informant_string once = INFORMANT_CONCAT(TEXT("once/"), key);
  informant_optional_string known;
  const informant_error *error = informant_state_get(once, &known);
  if (error) return informant_failed(error);
  if (known.is_some) return INFORMANT_DONE;
  *again_after_ms = (informant_optional_u64){1, 1000};
  error = informant_state_set(once, informant_unsigned_text(attempt));
  return error ? informant_failed(error) : INFORMANT_DONE;
}

static informant_outcome fire(informant_string schedule, uint64_t unix_ms) {
  informant_log_with(INFORMANT_INFO, TEXT("fired"),
                     INFORMANT_PAIRS(PAIR("schedule", schedule), PAIR("at", informant_unsigned_text(unix_ms))));
  return INFORMANT_DONE;
}

static informant_outcome synced(uint32_t subscription) {
  informant_log_with(INFORMANT_INFO, TEXT("synced"), INFORMANT_PAIRS(PAIR("subscription", informant_unsigned_text(subscription))));
  return INFORMANT_DONE;
}

static informant_result snapshot(informant_optional_string *data) {
  *data = informant_some(TEXT("\"carried\""));
  return INFORMANT_OK;
}

static informant_result restore(informant_string from_version, informant_string data) {
  (void)data;
  informant_log_with(INFORMANT_INFO, TEXT("restored"), INFORMANT_PAIRS(PAIR("from", from_version)));
  return INFORMANT_OK;
}

void plugin_stop(void) {
  informant_log(INFORMANT_INFO, TEXT("stopped"));
}

INFORMANT_HANDLER(handle);
INFORMANT_RECONCILER(reconcile);
INFORMANT_TIMER(fire);
INFORMANT_SYNC_AWARE(synced);
INFORMANT_STATEFUL(snapshot, restore);
