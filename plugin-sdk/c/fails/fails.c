/* Does with every pod what the pod's annotation asks for. The host's tests of this SDK use it. */
#include "informant.h"

#define TEXT INFORMANT_STRING
#define PODS INFORMANT_STRING("v1/pods")

informant_result plugin_describe(informant_string config) {
  (void)config;
  informant_string descriptor = INFORMANT_JSON({
    "version": "0.1.0",
    "subscriptions": [{"resource": "v1/pods", "withOld": true}],
    "indexes": [{"resource": "v1/pods", "name": "app", "pointer": "/metadata/labels/app"}],
    "schedules": [{"name": "soon", "every": "1s"}]
  });
  return (informant_result){.text = descriptor};
}

informant_result plugin_start(informant_string config) {
  (void)config;
  return INFORMANT_OK;
}

/* Reads in every way, and counts the objects. */
static const informant_error *read_cache(informant_object_key key, size_t *found, bool *is_well, informant_string *name) {
  const informant_error *error;
  informant_optional_string none;
  informant_optional_strings fields;
  informant_page page = {0};
  informant_key_page keys = {0};
  informant_object_key absent = {key.namespace, TEXT("none")};
  informant_strings pointers = INFORMANT_STRINGS(TEXT("/metadata/labels/app"), TEXT("/none"));
  *found = 0;
  if ((error = informant_indexer_get(PODS, absent, &none))) return error;
  if ((error = informant_indexer_fields(PODS, key, pointers, &fields))) return error;
  *is_well = !none.is_some && fields.count == 2 && fields.items[0].is_some && !fields.items[1].is_some;
  do {
    error = informant_indexer_list(PODS, informant_some(key.namespace), TEXT("app=sdk"), &page);
    if (error) return error;
    *found += page.items.count;
  } while (page.next.is_some);
  if ((error = informant_indexer_by_index(PODS, TEXT("app"), TEXT("sdk"), &page))) return error;
  *found += page.items.count;
  if ((error = informant_indexer_index_keys(PODS, TEXT("app"), TEXT("sdk"), &keys))) return error;
  *found += keys.keys.count;
  page = (informant_page){0};
  if ((error = informant_indexer_index_values(PODS, TEXT("app"), &page))) return error;
  *found += page.items.count;
  informant_string text = fields.items[0].value;
  *is_well = *is_well && informant_json_text(text, name) == INFORMANT_JSON_FOUND;
  return NULL;
}

/* Sets a value, and changes it. */
static const informant_error *keep(informant_optional_string *value, informant_strings *keys, bool *swapped) {
  const informant_error *error = informant_state_set(TEXT("a"), TEXT("1"));
  informant_optional_string one = informant_some(TEXT("1")), two = informant_some(TEXT("2"));
  if (error || (error = informant_state_compare_and_set(TEXT("a"), one, two, swapped))) return error;
  if ((error = informant_state_set(TEXT("b"), TEXT("gone"))) || (error = informant_state_remove(TEXT("b")))) return error;
  if ((error = informant_state_get(TEXT("a"), value))) return error;
  return informant_state_keys(TEXT(""), keys);
}

static const informant_error *count(void) {
  const informant_error *error;
  informant_pairs labels = INFORMANT_PAIRS(INFORMANT_PAIR("language", TEXT("c")));
  if ((error = informant_metrics_counter_add(TEXT("sdk_total"), labels, 1))) return error;
  if ((error = informant_metrics_gauge_set(TEXT("sdk_gauge"), INFORMANT_NO_PAIRS, 2))) return error;
  return informant_metrics_histogram_observe(TEXT("sdk_seconds"), INFORMANT_NO_PAIRS, 3);
}

static informant_string is_kind(const informant_error *error, informant_error_kind kind) {
  return error ? informant_boolean_text(error->kind == kind) : TEXT("none");
}

/* The calls that the host refuses. */
typedef struct {
  informant_string refused, denied, closed;
} refusals;

static refusals ask_in_vain(informant_object_key key) {
  informant_optional_string object;
  informant_response response;
  informant_kube_target target = {.resource = PODS, .key = key};
  informant_request request = {.url = TEXT("https://example.com"),
                               .headers = INFORMANT_PAIRS(INFORMANT_PAIR("a", TEXT("b")))};
  const informant_error *unknown = informant_indexer_get(TEXT("v1/nothing"), key, &object);
  bool is_refused = unknown && (unknown->kind == INFORMANT_UNKNOWN_RESOURCE || unknown->kind == INFORMANT_NOT_GRANTED);
  const informant_error *patch = informant_kube_patch(target, INFORMANT_MERGE, TEXT("{}"), NULL);
  const informant_error *event = informant_kube_record_event(target, false, TEXT("Tried"), TEXT("in vain"));
  return (refusals){
      .refused = unknown ? informant_boolean_text(is_refused) : TEXT("none"),
      .denied = event ? is_kind(patch, INFORMANT_NOT_GRANTED) : TEXT("none"),
      .closed = is_kind(informant_http_send(&request, &response), INFORMANT_NOT_GRANTED),
  };
}

/* Calls every function of the host once. */
static informant_outcome use(const informant_event *event) {
  size_t found;
  uint64_t pods;
  bool is_well, swapped, synced;
  informant_string app = {0};
  informant_optional_string value;
  informant_strings keys;
  const informant_error *error;
  if ((error = read_cache(event->key, &found, &is_well, &app))) return informant_failed(error);
  if ((error = keep(&value, &keys, &swapped)) || (error = count())) return informant_failed(error);
  if ((error = informant_indexer_count(PODS, INFORMANT_NONE, &pods))) return informant_failed(error);
  if ((error = informant_indexer_has_synced(PODS, &synced))) return informant_failed(error);
  informant_optional_string name = informant_field_text(INFORMANT_NEW, TEXT("/metadata/name"));
  refusals said = ask_in_vain(event->key);
  informant_workqueue_add(informant_key_text(event->key));
  informant_log_with(
      INFORMANT_INFO, TEXT("used"),
      INFORMANT_PAIRS(
          INFORMANT_PAIR("name", name.value), INFORMANT_PAIR("ok", informant_boolean_text(name.is_some)),
          INFORMANT_PAIR("none", informant_boolean_text(is_well)), INFORMANT_PAIR("app", app),
          INFORMANT_PAIR("found", informant_boolean_text(found > 3)),
          INFORMANT_PAIR("swapped", informant_boolean_text(swapped)), INFORMANT_PAIR("value", value.value),
          INFORMANT_PAIR("keys", informant_unsigned_text(keys.count)),
          INFORMANT_PAIR("pods", informant_boolean_text(pods > 0)),
          INFORMANT_PAIR("synced", informant_boolean_text(synced)),
          INFORMANT_PAIR("leader", informant_boolean_text(informant_is_leader())),
          INFORMANT_PAIR("plugin", informant_plugin_name()),
          INFORMANT_PAIR("shards", informant_unsigned_text(informant_shard().count)),
          INFORMANT_PAIR("version", informant_boolean_text(informant_host_version().len > 0)),
          INFORMANT_PAIR("old", informant_boolean_text(!informant_object(INFORMANT_OLD).is_some)),
          INFORMANT_PAIR("changed", informant_boolean_text(informant_changed(TEXT("/metadata/name")))),
          INFORMANT_PAIR("debug", informant_boolean_text(informant_log_enabled(INFORMANT_DEBUG))),
          INFORMANT_PAIR("refused", said.refused), INFORMANT_PAIR("denied", said.denied),
          INFORMANT_PAIR("closed", said.closed)));
  return INFORMANT_DONE;
}

static informant_outcome handle(const informant_event *event) {
  informant_string does = {0};
  informant_string object = event->object.is_some ? event->object.value : TEXT("");
  if (event->change != INFORMANT_ADDED) return INFORMANT_DONE;
  informant_json_answer answer = informant_json_find_text(object, TEXT("/metadata/annotations/does"), &does);
  if (answer == INFORMANT_JSON_MALFORMED) return informant_give_up(TEXT("the pod is no JSON"));
  if (informant_equal(does, TEXT("fail"))) return informant_give_up(TEXT("asked to fail"));
  if (informant_equal(does, TEXT("panic"))) informant_panic(INFORMANT_CONCAT(TEXT("asked to panic by "), event->key.name));
  if (informant_equal(does, TEXT("exhaust")))
    for (;;) informant_alloc(1 << 20);
  if (informant_equal(does, TEXT("use"))) return use(event);
  informant_log_with(INFORMANT_INFO, TEXT("well"), INFORMANT_PAIRS(INFORMANT_PAIR("pod", informant_key_text(event->key))));
  return INFORMANT_DONE;
}

static informant_outcome reconcile(informant_string key, uint32_t attempt, informant_optional_u64 *again_after_ms) {
  (void)key, (void)again_after_ms;
  informant_log_with(INFORMANT_INFO, TEXT("reconciled"),
                     INFORMANT_PAIRS(INFORMANT_PAIR("attempt", informant_unsigned_text(attempt)),
                                     INFORMANT_PAIR("waiting", informant_unsigned_text(informant_workqueue_len()))));
  return INFORMANT_DONE;
}

static informant_outcome fire(informant_string schedule, uint64_t unix_ms) {
  static bool has_fired;
  if (!has_fired)
    informant_log_with(INFORMANT_INFO, TEXT("fired"),
                       INFORMANT_PAIRS(INFORMANT_PAIR("schedule", schedule),
                                       INFORMANT_PAIR("at", informant_unsigned_text(unix_ms))));
  has_fired = true;
  return INFORMANT_DONE;
}

static informant_outcome synced(uint32_t subscription) {
  informant_log_with(INFORMANT_INFO, TEXT("synced"),
                     INFORMANT_PAIRS(INFORMANT_PAIR("subscription", informant_unsigned_text(subscription))));
  return INFORMANT_DONE;
}

static informant_result snapshot(informant_optional_string *data) {
  *data = informant_some(TEXT("carried"));
  return INFORMANT_OK;
}

static informant_result restore(informant_string from_version, informant_string data) {
  informant_log_with(INFORMANT_INFO, TEXT("restored"),
                     INFORMANT_PAIRS(INFORMANT_PAIR("from", from_version), INFORMANT_PAIR("data", data)));
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
