/* The plugin's own rate-limited queue of keys, for INFORMANT_RECONCILER. Handlers, reconcilers, timers and
 * sync-aware functions may change it. Elsewhere, and in a plugin without a reconciler, all functions here end the
 * instance. Keys have 1 to 512 bytes: a call that adds an invalid key fails without a retry, whatever it returns. */
#ifndef INFORMANT_WORKQUEUE_H
#define INFORMANT_WORKQUEUE_H

#include "types.h"

/* Adds a key that is due at once, even if it failed before. Its attempts count on. */
void informant_workqueue_add(informant_string key);

/* Adds a key after this time. If a key has several times, the earliest counts. */
void informant_workqueue_add_after(informant_string key, uint64_t ms);

/* Adds a key after the rate limiter's wait for one more failure of the key. */
void informant_workqueue_add_rate_limited(informant_string key);

/* Resets the key's failures, which determine its waits. A successful key resets them itself. */
void informant_workqueue_forget(informant_string key);

/* The number of the key's failures without a wait of their own, and of its rate-limited additions, since the last
 * reset. */
uint32_t informant_workqueue_num_requeues(informant_string key);

/* The number of keys that are due. */
uint32_t informant_workqueue_len(void);

#endif
