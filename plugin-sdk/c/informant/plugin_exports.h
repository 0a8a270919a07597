/* The implementation of the macros of plugin.h. On wasm32 they are the exports of the canonical ABI, which return a
 * pointer to the answer; the host reads it before it calls cabi_post. In native tests they register with
 * informant_testing.c. */
#ifndef INFORMANT_PLUGIN_EXPORTS_H
#define INFORMANT_PLUGIN_EXPORTS_H

#include "memory.h"

/* The end of a macro takes the semicolon after it. */
#define INFORMANT_END_OF_EXPORT void informant_memory_end_call(void)

#ifdef __wasm__

#define INFORMANT_EXPORT(name) __attribute__((export_name(name)))

#define INFORMANT_EXPORT_POST(identifier, name)                                  \
  INFORMANT_EXPORT("cabi_post_informant:plugin/" name) void identifier(void *read); \
  void identifier(void *read) {                                                  \
    (void)read;                                                                  \
    informant_memory_end_call();                                                 \
  }

#define INFORMANT_EXPORT_HANDLER(handle)                                                        \
  INFORMANT_EXPORT("informant:plugin/handler@0.1.0#handle")                                     \
  const informant_outcome *informant_export_handle(const informant_event *event);               \
  const informant_outcome *informant_export_handle(const informant_event *event) {              \
    return informant_answer(handle(event));                                                     \
  }                                                                                             \
  INFORMANT_EXPORT_POST(informant_post_handle, "handler@0.1.0#handle")                          \
  INFORMANT_END_OF_EXPORT

#define INFORMANT_EXPORT_RECONCILER(reconcile)                                                          \
  INFORMANT_EXPORT("informant:plugin/reconciler@0.1.0#reconcile")                                       \
  const informant_reconciled *informant_export_reconcile(const char *key, size_t len, uint32_t attempt); \
  const informant_reconciled *informant_export_reconcile(const char *key, size_t len, uint32_t attempt) { \
    informant_optional_u64 again = {0};                                                                 \
    informant_outcome outcome = reconcile((informant_string){key, len}, attempt, &again);               \
    return informant_answer_reconciled(outcome, again);                                                 \
  }                                                                                                     \
  INFORMANT_EXPORT_POST(informant_post_reconcile, "reconciler@0.1.0#reconcile")                         \
  INFORMANT_END_OF_EXPORT

#define INFORMANT_EXPORT_TIMER(fire)                                                                     \
  INFORMANT_EXPORT("informant:plugin/timer@0.1.0#fire")                                                  \
  const informant_outcome *informant_export_fire(const char *schedule, size_t len, uint64_t unix_ms);    \
  const informant_outcome *informant_export_fire(const char *schedule, size_t len, uint64_t unix_ms) {   \
    return informant_answer(fire((informant_string){schedule, len}, unix_ms));                           \
  }                                                                                                      \
  INFORMANT_EXPORT_POST(informant_post_fire, "timer@0.1.0#fire")                                         \
  INFORMANT_END_OF_EXPORT

#define INFORMANT_EXPORT_SYNC_AWARE(synced)                                           \
  INFORMANT_EXPORT("informant:plugin/sync-aware@0.1.0#synced")                        \
  const informant_outcome *informant_export_synced(uint32_t subscription);            \
  const informant_outcome *informant_export_synced(uint32_t subscription) {           \
    return informant_answer(synced(subscription));                                    \
  }                                                                                   \
  INFORMANT_EXPORT_POST(informant_post_synced, "sync-aware@0.1.0#synced")             \
  INFORMANT_END_OF_EXPORT

#define INFORMANT_EXPORT_STATEFUL(snapshot, restore)                                                         \
  INFORMANT_EXPORT("informant:plugin/stateful@0.1.0#snapshot")                                               \
  const informant_snapshot *informant_export_snapshot(void);                                                 \
  const informant_snapshot *informant_export_snapshot(void) {                                                \
    informant_optional_string data = {0};                                                                    \
    informant_result result = snapshot(&data);                                                               \
    return informant_answer_snapshot(result, data);                                                          \
  }                                                                                                          \
  INFORMANT_EXPORT_POST(informant_post_snapshot, "stateful@0.1.0#snapshot")                                  \
  INFORMANT_EXPORT("informant:plugin/stateful@0.1.0#restore")                                                \
  const informant_result *informant_export_restore(const char *from, size_t from_len, const char *data, size_t len); \
  const informant_result *informant_export_restore(const char *from, size_t from_len, const char *data, size_t len) { \
    return informant_answer_result(restore((informant_string){from, from_len}, (informant_string){data, len})); \
  }                                                                                                          \
  INFORMANT_EXPORT_POST(informant_post_restore, "stateful@0.1.0#restore")                                    \
  INFORMANT_END_OF_EXPORT

/* These keep an answer until the host has read it. */
typedef struct {
  uint8_t is_error;
  union {
    informant_optional_u64 again_after_ms;
    informant_failure failure;
  } value;
} informant_reconciled;

typedef struct {
  uint8_t is_error;
  union {
    informant_optional_string data;
    informant_string error;
  } value;
} informant_snapshot;

const informant_outcome *informant_answer(informant_outcome outcome);
const informant_reconciled *informant_answer_reconciled(informant_outcome outcome, informant_optional_u64 again);
const informant_snapshot *informant_answer_snapshot(informant_result result, informant_optional_string data);
const informant_result *informant_answer_result(informant_result result);

#else

/* The functions that a plugin has named. */
typedef struct {
  informant_outcome (*handle)(const informant_event *event);
  informant_outcome (*reconcile)(informant_string key, uint32_t attempt, informant_optional_u64 *again_after_ms);
  informant_outcome (*fire)(informant_string schedule, uint64_t unix_ms);
  informant_outcome (*synced)(uint32_t subscription);
  informant_result (*snapshot)(informant_optional_string *data);
  informant_result (*restore)(informant_string from_version, informant_string data);
} informant_plugin_parts;

extern informant_plugin_parts informant_plugin;

#define INFORMANT_REGISTER(part, assignments)                                                   \
  __attribute__((constructor)) static void informant_register_##part(void) { assignments; }     \
  INFORMANT_END_OF_EXPORT

#define INFORMANT_EXPORT_HANDLER(function) INFORMANT_REGISTER(handler, informant_plugin.handle = function)
#define INFORMANT_EXPORT_RECONCILER(function) INFORMANT_REGISTER(reconciler, informant_plugin.reconcile = function)
#define INFORMANT_EXPORT_TIMER(function) INFORMANT_REGISTER(timer, informant_plugin.fire = function)
#define INFORMANT_EXPORT_SYNC_AWARE(function) INFORMANT_REGISTER(sync_aware, informant_plugin.synced = function)
#define INFORMANT_EXPORT_STATEFUL(first, second) \
  INFORMANT_REGISTER(stateful, informant_plugin.snapshot = first; informant_plugin.restore = second)

#endif
#endif
