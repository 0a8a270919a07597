/* Tests of plugins in C without WebAssembly: compile informant_testing.c along instead of informant.c, with any C compiler
 * (GCC, clang) and its libc. It is informant.c with a host of one plugin beneath it: a cache, a queue, a state, what is
 * answered to writes and requests. A test starts the plugin, tells it what happens, and says what is expected of it.
 *
 * Names of resources, keys and texts are ordinary strings here; objects are JSON. What would end the instance in a host
 * ends the test. Memory of a call is given back when the next one begins: build with -fsanitize=address and what a plugin
 * should have kept is found. The descriptor is not judged here, but for being JSON: `informant plugin build` does that.
 *
 * What fails is said with its place in the test. Tests call informant_testing_add and its like: macros at the end of this
 * file, which hand over their own place to the function with _at. A function that checks for several tests takes its caller's
 * place (INFORMANT_TESTING_HERE) and calls the functions with _at. */
#ifndef INFORMANT_TESTING_H
#define INFORMANT_TESTING_H

#include "informant.h"

/* A place in a test, and the one where this stands. */
typedef struct {
  const char *file;
  int line;
} informant_testing_place;

#define INFORMANT_TESTING_HERE ((informant_testing_place){__FILE__, __LINE__})

/* Forgets everything but the plugin's own variables, describes the plugin and starts it with this configuration (JSON; NULL
 * for none). It is a failure of the test if that is refused; with the second, if it is not, or with other words. */
void informant_testing_starts_at(informant_testing_place at, const char *config);
void informant_testing_refuses_at(informant_testing_place at, const char *config, const char *message);

/* Puts an object into the cache, in the place of the one before, or takes it out, without telling the plugin. A key is
 * `namespace/name`, or `name`. */
void informant_testing_put_at(informant_testing_place at, const char *resource, const char *object);
void informant_testing_remove(const char *resource, const char *key);

/* Tells the plugin of an object that came, changed or went, as the first of its subscriptions to the resource has it
 * (`delivery`, `withOld`); the cache has it as well. With `enqueue` rules the object's key waits instead, as in a host; of
 * those rules only `self` is known here. */
informant_outcome informant_testing_add_at(informant_testing_place at, const char *resource, const char *object);
informant_outcome informant_testing_update_at(informant_testing_place at, const char *resource, const char *before,
                                              const char *after);
informant_outcome informant_testing_delete_at(informant_testing_place at, const char *resource, const char *object);

/* Has a key wait, as other `enqueue` rules would. */
void informant_testing_enqueue_at(informant_testing_place at, const char *key);

/* Has the plugin work on the key that has waited longest; it is a failure of the test if none does. A key to be worked on
 * later waits like any other. */
informant_outcome informant_testing_reconcile_at(informant_testing_place at);

/* Calls the plugin as the clock would, and as when the first objects of the subscription to a resource have been told. */
informant_outcome informant_testing_fire_at(informant_testing_place at, const char *schedule, uint64_t unix_ms);
informant_outcome informant_testing_synced_at(informant_testing_place at, const char *resource);

/* Asks the plugin for its snapshot, and hands it to the same plugin as the next version. */
informant_result informant_testing_reload_at(informant_testing_place at, const char *from_version);

/* Has a write answered with an object, or refused by the API server with a status (0 for no time to retry after). The verb
 * is `create`, `update`, `patch`, `delete` or `record-event`; a resource may have its subresource: `v1/pods/status`. The
 * newest answer counts, for any number of writes; one without an answer is not granted. */
void informant_testing_answer_write(const char *verb, const char *resource, const char *key, const char *object);
void informant_testing_refuse_write(const char *verb, const char *resource, const char *key, int code,
                                    const char *reason, const char *message, uint64_t retry_after_ms);

/* The same for requests over HTTP. One that breaks has no answer (INFORMANT_TRANSPORT). */
void informant_testing_answer_request(const char *method, const char *url, int status, const char *body);
void informant_testing_break_request(const char *method, const char *url, const char *message);

/* Whether this host leads. It does; else every write and request is INFORMANT_NOT_LEADER. */
void informant_testing_lead(bool is_leader);

/* Says what the plugin did since the plugin was started or this was last called, a line each:
 *
 *   info message name=value name=value
 *   kube.patch v1/pods shop/web merge {"metadata":{}}
 *   kube.record-event v1/pods shop/web warning Reason message
 *   http.send POST https://hooks.example.com/x name=value body
 *
 * It is a failure of the test if that is something else. */
void informant_testing_expect_at(informant_testing_place at, const char *lines);

/* The keys that wait, longest first, with a space between them. */
const char *informant_testing_keys(void);

/* What is kept under a key; NULL if nothing is. */
const char *informant_testing_state(const char *key);

/* A series by its name and labels, as `pods_total{app=web}` or `pods_total`: what was counted, set, or observed in all; 0
 * if it is not there. */
double informant_testing_series(const char *series);

/* Failures of the test, said on the standard error: unless the call succeeded, unless it failed with these words, unless
 * these two are the same, unless this is so. */
void informant_testing_succeeds_at(informant_testing_place at, informant_outcome outcome);
void informant_testing_fails_at(informant_testing_place at, informant_outcome outcome, const char *message);
void informant_testing_same_at(informant_testing_place at, const char *what, informant_string found, const char *expected);
void informant_testing_is_at(informant_testing_place at, const char *what, bool is);

/* Gives everything back. 0 if nothing failed: what main returns. */
int informant_testing_end(void);

/* What tests call: each hands over its own place. */
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
