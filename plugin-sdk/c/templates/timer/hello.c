/* Counts the pending pods, every minute. */
#include "informant.h"

informant_result plugin_describe(informant_string config) {
  (void)config;
  informant_string descriptor = INFORMANT_JSON({
    "version": "0.1.0",
    "reads": [{"resource": "v1/pods"}],
    "schedules": [{"name": "minute", "every": "1m"}]
  });
  return (informant_result){.text = descriptor};
}

informant_result plugin_start(informant_string config) {
  (void)config;
  return INFORMANT_OK;
}

static bool is_pending(informant_string pod) {
  informant_string phase;
  bool has_phase = informant_json_find_text(pod, INFORMANT_STRING("/status/phase"), &phase) == INFORMANT_JSON_FOUND;
  return has_phase && informant_equal(phase, INFORMANT_STRING("Pending"));
}

static informant_outcome fire(informant_string schedule, uint64_t unix_ms) {
  (void)schedule;
  (void)unix_ms;
  uint64_t count = 0;
  informant_page page = {0};
  informant_mark mark = informant_memory_mark();
  do {
    const informant_error *error =
        informant_indexer_list(INFORMANT_STRING("v1/pods"), INFORMANT_NONE, INFORMANT_STRING(""), &page);
    if (error) return informant_failed(error);
    for (size_t i = 0; i < page.items.count; i++) count += is_pending(page.items.items[i]);
    /* Only the next page's cursor stays in memory. */
    if (page.next.is_some) page.next.value = informant_memory_release(mark, page.next.value);
  } while (page.next.is_some);
  informant_log_with(INFORMANT_INFO, INFORMANT_STRING("pending pods"),
                     INFORMANT_PAIRS(INFORMANT_PAIR("count", informant_unsigned_text(count))));
  return INFORMANT_DONE;
}

INFORMANT_TIMER(fire);

void plugin_stop(void) {}
