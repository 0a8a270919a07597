/* Tests of plugins in C without WebAssembly. Compile informant_testing.c along instead of informant.c, with any C
 * compiler (GCC, clang) and its libc. It is informant.c with a host of one plugin: a cache, a queue, a state, and
 * answers to writes and requests. A test starts the plugin, makes its calls, and checks the results.
 *
 * Names of resources, keys and texts are ordinary strings here; objects are JSON. An error that would end the
 * instance in a host ends the test. The memory of a call is freed when the next one begins: build with
 * -fsanitize=address to find memory that a plugin should have kept. The descriptor is only checked for valid JSON:
 * `informant plugin build` checks it.
 *
 * A failure is printed with its place in the test. Tests call informant_testing_add and similar macros at the end
 * of this file. The macros pass their own place to the function with _at. A function that checks for several tests
 * takes its caller's place (INFORMANT_TESTING_HERE) and calls the functions with _at. */
#ifndef INFORMANT_TESTING_H
#define INFORMANT_TESTING_H

#include "informant.h"

/* A place in a test, and the present place. */
typedef struct {
  const char *file;
  int line;
} informant_testing_place;

#define INFORMANT_TESTING_HERE ((informant_testing_place){__FILE__, __LINE__})

/* Forgets everything but the plugin's own variables, describes the plugin and starts it with this configuration
 * (JSON; NULL means none). The first function fails the test if the plugin refuses it. The second fails the test if
 * the plugin does not, or with another text. */
void informant_testing_starts_at(informant_testing_place at, const char *config);
void informant_testing_refuses_at(informant_testing_place at, const char *config, const char *message);

/* Puts an object into the cache, or removes it, without an event. A key is `namespace/name`, or `name`. */
void informant_testing_put_at(informant_testing_place at, const char *resource, const char *object);
void informant_testing_remove(const char *resource, const char *key);

/* Delivers an added, changed or deleted object to the plugin, for the first of its subscriptions to the resource
 * (`delivery`, `withOld`, `types`, `onlyIfChanged`; the object is in the view, and passes the filter). The cache contains the object, too. If the subscription has `enqueue` rules, the
 * object's key waits instead, as in a host. Of these rules, only `self` is supported here. */
informant_outcome informant_testing_add_at(informant_testing_place at, const char *resource, const char *object);
informant_outcome informant_testing_update_at(informant_testing_place at, const char *resource, const char *before,
                                              const char *after);
informant_outcome informant_testing_delete_at(informant_testing_place at, const char *resource, const char *object);

/* Adds a key, as other `enqueue` rules would. */
void informant_testing_enqueue_at(informant_testing_place at, const char *key);

/* Works on the key that has waited longest. Fails the test if there is none. A delayed key waits like any other. */
informant_outcome informant_testing_reconcile_at(informant_testing_place at);

/* Calls fire; calls synced: the initial objects of the subscription to a resource were delivered. */
informant_outcome informant_testing_fire_at(informant_testing_place at, const char *schedule, uint64_t unix_ms);
informant_outcome informant_testing_synced_at(informant_testing_place at, const char *resource);

/* Takes a snapshot of the plugin, and passes it to the same plugin as the next version. */
informant_result informant_testing_reload_at(informant_testing_place at, const char *from_version);

/* Sets the answer to a write: an object, or the API server's refusal with a status (0 means no time until the next
 * try). The verb is `create`, `update`, `patch`, `delete` or `record-event`; a resource may have its subresource:
 * `v1/pods/status`. The newest answer counts, for any number of writes. A write without an answer is not granted. */
void informant_testing_answer_write(const char *verb, const char *resource, const char *key, const char *object);
void informant_testing_refuse_write(const char *verb, const char *resource, const char *key, int code,
                                    const char *reason, const char *message, uint64_t retry_after_ms);

/* The same for HTTP requests. A broken one has no answer (INFORMANT_TRANSPORT). */
void informant_testing_answer_request(const char *method, const char *url, int status, const char *body);
void informant_testing_break_request(const char *method, const char *url, const char *message);

/* Sets whether this host leads. By default it does; otherwise every write and request is INFORMANT_NOT_LEADER. */
void informant_testing_lead(bool is_leader);

/* Checks the plugin's actions since its start or since the last call of this function, one line for each action:
 *
 *   info message name=value name=value
 *   kube.patch v1/pods shop/web merge {"metadata":{}}
 *   kube.record-event v1/pods shop/web warning Reason message
 *   http.send POST https://hooks.example.com/x name=value body
 *
 * Fails the test if the actions differ. */
void informant_testing_expect_at(informant_testing_place at, const char *lines);

/* The waiting keys, longest first, with a space between them. */
const char *informant_testing_keys(void);

/* The value of a key. NULL if there is none. */
const char *informant_testing_state(const char *key);

/* A series by its name and labels, such as `pods_total{app=web}` or `pods_total`: the counted, set or observed sum;
 * 0 if it does not exist. */
double informant_testing_series(const char *series);

/* Checks, which print a failure to standard error: the call succeeded, it failed with this text, these two are
 * equal, this is true. */
void informant_testing_succeeds_at(informant_testing_place at, informant_outcome outcome);
void informant_testing_fails_at(informant_testing_place at, informant_outcome outcome, const char *message);
void informant_testing_same_at(informant_testing_place at, const char *what, informant_string found, const char *expected);
void informant_testing_is_at(informant_testing_place at, const char *what, bool is);

/* Frees everything. 0 if nothing failed: the result of main. */
int informant_testing_end(void);

/* The macros that tests call. Each passes its own place. */
#define informant_testing_starts(...) informant_testing_starts_at(INFORMANT_TESTING_HERE, __VA_ARGS__)
#define informant_testing_refuses(...) informant_testing_refuses_at(INFORMANT_TESTING_HERE, __VA_ARGS__)
#define informant_testing_put(...) informant_testing_put_at(INFORMANT_TESTING_HERE, __VA_ARGS__)
#define informant_testing_enqueue(...) informant_testing_enqueue_at(INFORMANT_TESTING_HERE, __VA_ARGS__)
#define informant_testing_add(...) informant_testing_add_at(INFORMANT_TESTING_HERE, __VA_ARGS__)
#define informant_testing_update(...) informant_testing_update_at(INFORMANT_TESTING_HERE, __VA_ARGS__)
#define informant_testing_delete(...) informant_testing_delete_at(INFORMANT_TESTING_HERE, __VA_ARGS__)
#define informant_testing_reconcile() informant_testing_reconcile_at(INFORMANT_TESTING_HERE)
#define informant_testing_fire(...) informant_testing_fire_at(INFORMANT_TESTING_HERE, __VA_ARGS__)
#define informant_testing_synced(...) informant_testing_synced_at(INFORMANT_TESTING_HERE, __VA_ARGS__)
#define informant_testing_reload(...) informant_testing_reload_at(INFORMANT_TESTING_HERE, __VA_ARGS__)
#define informant_testing_expect(...) informant_testing_expect_at(INFORMANT_TESTING_HERE, __VA_ARGS__)
#define informant_testing_succeeds(...) informant_testing_succeeds_at(INFORMANT_TESTING_HERE, __VA_ARGS__)
#define informant_testing_fails(...) informant_testing_fails_at(INFORMANT_TESTING_HERE, __VA_ARGS__)
#define informant_testing_same(...) informant_testing_same_at(INFORMANT_TESTING_HERE, __VA_ARGS__)
#define informant_testing_is(...) informant_testing_is_at(INFORMANT_TESTING_HERE, __VA_ARGS__)

#endif
