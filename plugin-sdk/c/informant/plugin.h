/* The functions that the host calls. Every plugin defines the three plugin_* functions. It names its other
 * functions with one macro each, in one of its files: at least one of handler, reconciler and timer. A function
 * without a macro is not exported, and a function with a wrong type does not compile. Make these functions static:
 * then the compiler reports one without a macro. */
#ifndef INFORMANT_PLUGIN_H
#define INFORMANT_PLUGIN_H

#include "error.h"

typedef enum { INFORMANT_ADDED, INFORMANT_UPDATED, INFORMANT_DELETED } informant_change;

typedef enum {
  INFORMANT_INITIAL, /* it was there before the plugin subscribed */
  INFORMANT_WATCH,
  INFORMANT_RELIST, /* a relist found what the watch had missed */
  INFORMANT_RESYNC, /* nothing changed */
  INFORMANT_RELOAD, /* this version took over and asked for its objects again */
  INFORMANT_REDRIVE /* a person sent a dead letter again */
} informant_reason;

typedef enum { INFORMANT_GONE_DELETED, INFORMANT_LEFT_VIEW, INFORMANT_UNKNOWN } informant_gone;

typedef struct {
  uint64_t seq;
  uint32_t subscription; /* its place in the descriptor's `subscriptions` */
  uint8_t change;        /* informant_change */
  uint8_t reason;        /* informant_reason */
  informant_object_key key;
  informant_string uid;
  informant_string resource_version;
  uint8_t has_gone; /* only with INFORMANT_DELETED */
  uint8_t gone;     /* informant_gone */
  uint32_t coalesced;
  uint32_t attempt;                 /* 1 for the first delivery */
  informant_optional_string object; /* JSON; none with INFORMANT_DELETED, or if the delivery is lazy */
  informant_optional_string old;    /* JSON */
} informant_event;

/* Texts for logs, of the fields with these names: "added", "updated", "deleted"; "initial", "watch", "relist",
 * "resync", "reload", "redrive"; "deleted", "left-view", "unknown". */
informant_string informant_change_text(uint8_t change);
informant_string informant_reason_text(uint8_t reason);
informant_string informant_gone_text(uint8_t gone);

/* The result of plugin_describe and others: a text that is the answer or the error. All zeros mean success. */
typedef struct {
  uint8_t is_error;
  informant_string text;
} informant_result;

/* Success without a value, and an error. */
#define INFORMANT_OK ((informant_result){0})
informant_result informant_refuse(informant_string message);
informant_result informant_refused(const informant_error *error);

typedef enum { INFORMANT_BACKOFF, INFORMANT_AFTER_MS, INFORMANT_NEVER } informant_retry;

typedef struct {
  informant_string message; /* for people: the host shows it with the plugin and in dead letters */
  uint8_t retry;            /* informant_retry */
  uint64_t after_ms;        /* with INFORMANT_AFTER_MS */
} informant_failure;

/* The result of a call. All zeros mean success. After a failure the instance continues. */
typedef struct {
  uint8_t is_error;
  informant_failure failure;
} informant_outcome;

#define INFORMANT_DONE ((informant_outcome){0})

/* The event comes again: with growing waits, after a time, or never. */
informant_outcome informant_fail(informant_string message);
informant_outcome informant_fail_after(informant_string message, uint64_t ms);
informant_outcome informant_give_up(informant_string message);

/* The host's own error: the event comes again, after the API server's time if it has one. */
informant_outcome informant_failed(const informant_error *error);

/* Every plugin has these functions. plugin_describe returns the descriptor, as JSON of
 * plugin-sdk/descriptor.schema.json: see INFORMANT_JSON. The configuration is JSON, or empty. An error of
 * plugin_start keeps this version from running. plugin_stop is the last call; it does not happen after a trap. */
informant_result plugin_describe(informant_string config);
informant_result plugin_start(informant_string config);
void plugin_stop(void);

/* informant_outcome handle(const informant_event *event): gets changes, one at a time and in order for each object. */
#define INFORMANT_HANDLER(handle) INFORMANT_EXPORT_HANDLER(handle)

/* informant_outcome reconcile(informant_string key, uint32_t attempt, informant_optional_u64 *again_after_ms):
 * works on keys of workqueue.h and of `enqueue` rules. After `*again_after_ms = (informant_optional_u64){1, 500}` a
 * successful key comes again. After a failure the key comes again without a limit of attempts, unless the failure
 * has no retry. */
#define INFORMANT_RECONCILER(reconcile) INFORMANT_EXPORT_RECONCILER(reconcile)

/* informant_outcome fire(informant_string schedule, uint64_t unix_ms): called at the moments of the descriptor's
 * `schedules`. */
#define INFORMANT_TIMER(fire) INFORMANT_EXPORT_TIMER(fire)

/* informant_outcome synced(uint32_t subscription): the initial objects of a subscription were delivered. */
#define INFORMANT_SYNC_AWARE(synced) INFORMANT_EXPORT_SYNC_AWARE(synced)

/* informant_result snapshot(informant_optional_string *data), informant_result restore(informant_string
 * from_version, informant_string data): carries memory over a reload. Without data, or with more than 1 MiB,
 * nothing is carried over. An error of restore keeps the new version from taking over. restore must copy or keep
 * the data that it needs later: informant_memory_keep. */
#define INFORMANT_STATEFUL(snapshot, restore) INFORMANT_EXPORT_STATEFUL(snapshot, restore)

#include "plugin_exports.h"

#endif
