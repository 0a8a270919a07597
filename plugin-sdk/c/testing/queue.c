/* The queue of tests: keys in the order of their addition, each once, without times. */
#include "host.h"

static void queue_allowed(informant_string key, bool is_key) {
  bool is_call = testing_in == TESTING_WORK || testing_in == TESTING_SYNCED;
  if (!is_call) testing_ends("workqueue.h is for handlers, reconcilers, timers and sync-aware functions", key);
  if (!informant_plugin.reconcile) testing_ends("workqueue.h is for plugins with INFORMANT_RECONCILER", key);
  if (is_key && (key.len < 1 || key.len > KEY_LEN_MAX)) testing_ends("keys have 1 to 512 bytes, and this has not", key);
}

void informant_host_workqueue_add(const char *data, size_t len) {
  informant_string key = testing_text(data, len);
  queue_allowed(key, true);
  for (size_t i = 0; i < key_count; i++)
    if (informant_equal(informant_text(keys[i]), key)) return;
  keys = testing_memory(keys, (key_count + 1) * sizeof *keys);
  keys[key_count++] = testing_copy(key);
}

void informant_host_workqueue_add_after(const char *data, size_t len, uint64_t ms) {
  (void)ms;
  informant_host_workqueue_add(data, len);
}

void informant_host_workqueue_add_rate_limited(const char *data, size_t len) {
  informant_host_workqueue_add(data, len);
}

void informant_host_workqueue_forget(const char *data, size_t len) {
  queue_allowed(testing_text(data, len), true);
}

/* No key has failed in a test. */
uint32_t informant_host_workqueue_num_requeues(const char *data, size_t len) {
  queue_allowed(testing_text(data, len), true);
  return 0;
}

uint32_t informant_host_workqueue_len(void) {
  queue_allowed(INFORMANT_STRING("its length"), false);
  return (uint32_t)key_count;
}

char *testing_next_key(void) {
  if (!key_count) return NULL;
  char *key = keys[0];
  key_count--;
  memmove(keys, keys + 1, key_count * sizeof *keys);
  return key;
}

const char *informant_testing_keys(void) {
  size_t len = 0;
  keys_text = testing_memory(keys_text, 1);
  for (size_t i = 0; i < key_count; i++) {
    size_t more = strlen(keys[i]);
    keys_text = testing_memory(keys_text, len + more + 2);
    if (len) keys_text[len++] = ' ';
    memcpy(keys_text + len, keys[i], more);
    len += more;
  }
  keys_text[len] = 0;
  return keys_text;
}
