/* The interface `workqueue`: see workqueue.h. */
#include "workqueue.h"

#include "import.h"

INFORMANT_IMPORT("workqueue", "add")
void informant_host_workqueue_add(const char *key, size_t len);
INFORMANT_IMPORT("workqueue", "add-after")
void informant_host_workqueue_add_after(const char *key, size_t len, uint64_t ms);
INFORMANT_IMPORT("workqueue", "add-rate-limited")
void informant_host_workqueue_add_rate_limited(const char *key, size_t len);
INFORMANT_IMPORT("workqueue", "forget")
void informant_host_workqueue_forget(const char *key, size_t len);
INFORMANT_IMPORT("workqueue", "num-requeues")
uint32_t informant_host_workqueue_num_requeues(const char *key, size_t len);
INFORMANT_IMPORT("workqueue", "len")
uint32_t informant_host_workqueue_len(void);

void informant_workqueue_add(informant_string key) {
  informant_host_workqueue_add(INFORMANT_TEXT(key));
}

void informant_workqueue_add_after(informant_string key, uint64_t ms) {
  informant_host_workqueue_add_after(INFORMANT_TEXT(key), ms);
}

void informant_workqueue_add_rate_limited(informant_string key) {
  informant_host_workqueue_add_rate_limited(INFORMANT_TEXT(key));
}

void informant_workqueue_forget(informant_string key) {
  informant_host_workqueue_forget(INFORMANT_TEXT(key));
}

uint32_t informant_workqueue_num_requeues(informant_string key) {
  return informant_host_workqueue_num_requeues(INFORMANT_TEXT(key));
}

uint32_t informant_workqueue_len(void) {
  return informant_host_workqueue_len();
}
