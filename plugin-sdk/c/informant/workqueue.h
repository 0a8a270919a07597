/* The plugin's own rate-limited queue of keys, which INFORMANT_RECONCILER works on. It is changed in handlers, reconcilers,
 * timers and sync-aware functions; elsewhere, and in a plugin without a reconciler, everything here ends the instance. Keys
 * have 1 to 512 bytes: a call that adds another has failed for good, whatever it answers. */
#ifndef INFORMANT_WORKQUEUE_H
#define INFORMANT_WORKQUEUE_H

#include "types.h"

/* To be worked on at once, also if it failed before; its attempts count on. */
void informant_workqueue_add(informant_string key);

/* Of several times for a key the earliest counts. */
void informant_workqueue_add_after(informant_string key, uint64_t ms);

/* After the wait that the rate limiter gives to one more failure of the key. */
void informant_workqueue_add_rate_limited(informant_string key);

/* The key's failures count no more towards its waits. A key that succeeds is forgotten by itself. */
void informant_workqueue_forget(informant_string key);

/* How often it failed without a wait of its own, or was added rate limited, since it was last forgotten. */
uint32_t informant_workqueue_num_requeues(informant_string key);

/* Keys that could be worked on now. */
uint32_t informant_workqueue_len(void);

#endif
