/* A plugin that runs a test's function in a call, and the checks of its results. */
#ifndef PLUGIN_UNDER_TEST_H
#define PLUGIN_UNDER_TEST_H

#include "informant_testing.h"

#include <stdio.h>

#define TEXT INFORMANT_STRING
#define PODS INFORMANT_STRING("v1/pods")

static informant_outcome (*handler)(const informant_event *event);
static informant_outcome (*worker)(informant_string key, informant_optional_u64 *again_after_ms);
static informant_string kept;

informant_result plugin_describe(informant_string config) {
  if (informant_equal(config, TEXT("nothing"))) return informant_refuse(TEXT("nothing is asked for"));
  informant_string descriptor = INFORMANT_JSON({
    "version": "1",
    "subscriptions": [{"resource": "v1/pods", "withOld": true}, {"resource": "v1/nodes", "delivery": "lazy"},
                      {"resource": "v1/services", "delivery": "metadata"},
                      {"resource": "v1/configmaps", "enqueue": ["self", {"self": true, "namespace": "none", "prefix": "map/"}]},
                      {"resource": "v1/endpoints", "types": ["updated", "deleted"], "onlyIfChanged": ["/size", "/*"], "enqueue": ["self"]}],
    "reads": [{"resource": "v1/secrets"}],
    "indexes": [{"resource": "v1/pods", "name": "image", "pointer": "/spec/containers/*/image"}],
    "schedules": [{"name": "hourly", "cron": "0 * * * *"}]
  });
  return (informant_result){.text = descriptor};
}

informant_result plugin_start(informant_string config) {
  const informant_error *error = informant_state_set(TEXT("a"), TEXT("b"));
  if (!error) return informant_refuse(TEXT("a start wrote"));
  if (informant_equal(config, TEXT("refuse"))) return informant_refused(error);
  kept = INFORMANT_CONCAT(TEXT("kept "), config);
  informant_memory_keep();
  return INFORMANT_OK;
}

void plugin_stop(void) {}

static informant_outcome handle(const informant_event *event) {
  return handler(event);
}

static informant_outcome reconcile(informant_string key, uint32_t attempt, informant_optional_u64 *again_after_ms) {
  informant_testing_is("the first attempt", attempt == 1);
  return worker(key, again_after_ms);
}

static informant_outcome fire(informant_string schedule, uint64_t unix_ms) {
  informant_log_with(INFORMANT_WARN, schedule, INFORMANT_PAIRS(INFORMANT_PAIR("at", informant_unsigned_text(unix_ms))));
  return INFORMANT_DONE;
}

static informant_outcome synced(uint32_t subscription) {
  informant_workqueue_add(informant_unsigned_text(subscription));
  return INFORMANT_DONE;
}

static informant_result snapshot(informant_optional_string *data) {
  *data = informant_some(kept);
  return INFORMANT_OK;
}

static informant_result restore(informant_string from_version, informant_string data) {
  if (informant_equal(from_version, TEXT("0"))) return informant_refuse(TEXT("too old"));
  kept = data;
  informant_memory_keep();
  return INFORMANT_OK;
}

INFORMANT_HANDLER(handle);
INFORMANT_RECONCILER(reconcile);
INFORMANT_TIMER(fire);
INFORMANT_SYNC_AWARE(synced);
INFORMANT_STATEFUL(snapshot, restore);

#define POD(name, label, image)                                                                    \
  "{\"metadata\":{\"namespace\":\"shop\",\"name\":\"" name "\",\"labels\":{\"app\":\"" label "\"}}," \
  "\"spec\":{\"containers\":[{\"image\":\"proxy\"},{\"image\":\"" image "\"}]}}"

/* A call that runs `does` and logs these lines. */
static inline void check_at(informant_testing_place at, informant_outcome (*does)(const informant_event *event),
                            const char *lines) {
  handler = does;
  informant_testing_succeeds_at(at, informant_testing_add_at(at, "v1/pods", POD("web", "a", "nginx")));
  informant_testing_expect_at(at, lines);
}

static inline void fine_at(informant_testing_place at, const char *what, const informant_error *error) {
  if (error) informant_testing_same_at(at, what, informant_error_text(error), "no error");
}

static inline void wrong_at(informant_testing_place at, const informant_error *error, const char *text) {
  informant_testing_same_at(at, "an error", error ? informant_error_text(error) : TEXT("no error"), text);
}

#define check(...) check_at(INFORMANT_TESTING_HERE, __VA_ARGS__)
#define fine(...) fine_at(INFORMANT_TESTING_HERE, __VA_ARGS__)
#define wrong(...) wrong_at(INFORMANT_TESTING_HERE, __VA_ARGS__)

#endif
