/* Calls into the plugin, in the form of the host's calls. */
#include "host.h"

informant_plugin_parts informant_plugin;
testing_call testing_in;

static char *descriptor;
static uint64_t seq;

void testing_describe(informant_string text) {
  free(descriptor);
  descriptor = text.data ? testing_copy(text) : NULL;
}

informant_json_walk testing_descriptor(const char *list) {
  informant_string pointer = INFORMANT_CONCAT(INFORMANT_STRING("/"), informant_text(list)), value;
  informant_string json = descriptor ? informant_text(descriptor) : INFORMANT_STRING("{}");
  bool is_there = informant_json_find(json, pointer, &value) == INFORMANT_JSON_FOUND;
  return informant_json_walk_of(is_there ? value : INFORMANT_STRING("[]"));
}

bool testing_has(informant_string entry, const char *name, informant_string text) {
  informant_string pointer = INFORMANT_CONCAT(INFORMANT_STRING("/"), informant_text(name)), found;
  return informant_json_find_text(entry, pointer, &found) == INFORMANT_JSON_FOUND && informant_equal(found, text);
}

static void call_begins(testing_call call, informant_testing_place at) {
  informant_memory_end_call();
  testing_at = at;
  testing_in = call;
}

static informant_outcome call_ends(informant_outcome outcome) {
  testing_in = TESTING_NONE;
  if (outcome.is_error) testing_text(outcome.failure.message.data, outcome.failure.message.len);
  testing_at = (informant_testing_place){0};
  return outcome;
}

static informant_result call_answers(informant_result result) {
  testing_in = TESTING_NONE;
  testing_text(result.text.data, result.text.len);
  testing_at = (informant_testing_place){0};
  return result;
}

/* The entries of a list in the descriptor: `a, b`, for the text of an error. */
static informant_string known(const char *list, const char *member) {
  informant_string pointer = INFORMANT_CONCAT(INFORMANT_STRING("/"), informant_text(member)), all = {0}, name;
  informant_json_walk walk = testing_descriptor(list);
  while (informant_json_next(&walk)) {
    if (informant_json_find_text(walk.value, pointer, &name) != INFORMANT_JSON_FOUND) continue;
    all = all.len ? INFORMANT_CONCAT(all, INFORMANT_STRING(", "), name) : name;
  }
  return all.len ? all : INFORMANT_STRING("none");
}

/* The configuration is memory of the host, which is freed after the call. */
static informant_string handed(const char *text) {
  informant_string all = informant_text(text ? text : "");
  return informant_concat(&all, 1);
}

static informant_result start(informant_testing_place at, const char *config) {
  testing_forget_cache();
  testing_forget_stores();
  testing_forget_answers();
  testing_forget_lines();
  testing_forget_memory();
  informant_testing_lead(true);
  seq = 0;
  call_begins(TESTING_DESCRIBE, at);
  informant_result described = plugin_describe(handed(config));
  if (!described.is_error && informant_json_check(described.text) != INFORMANT_JSON_FOUND)
    testing_ends("the descriptor is no JSON", testing_text(described.text.data, described.text.len));
  described = call_answers(described);
  if (described.is_error) return described;
  testing_describe(described.text);
  call_begins(TESTING_START, at);
  return call_answers(plugin_start(handed(config)));
}

void informant_testing_starts_at(informant_testing_place at, const char *config) {
  informant_result result = start(at, config);
  if (result.is_error) testing_failure(at, "the plugin does not start", result.text);
}

void informant_testing_refuses_at(informant_testing_place at, const char *config, const char *message) {
  informant_result result = start(at, config);
  if (!result.is_error) testing_failure(at, "the plugin starts, and was to refuse", informant_text(message));
  else informant_testing_same_at(at, "what the plugin refuses with", result.text, message);
}

/* The first subscription to a resource. */
static informant_string subscription(const char *resource, uint32_t *place) {
  informant_json_walk walk = testing_descriptor("subscriptions");
  while (informant_json_next(&walk)) {
    if (!testing_has(walk.value, "resource", informant_text(resource))) continue;
    *place = (uint32_t)walk.index;
    return walk.value;
  }
  informant_string others = known("subscriptions", "resource");
  testing_ends("the plugin does not subscribe to",
               INFORMANT_CONCAT(informant_text(resource), INFORMANT_STRING("; it does to "), others));
}

static informant_string metadata_of(const char *object) {
  static const char *const names[] = {"apiVersion", "kind", "metadata"};
  informant_writer writer = {0};
  informant_write_object(&writer);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    informant_string name = informant_text(names[i]), value;
    informant_string pointer = INFORMANT_CONCAT(INFORMANT_STRING("/"), name);
    if (informant_json_find(informant_text(object), pointer, &value) != INFORMANT_JSON_FOUND) continue;
    informant_write_name(&writer, name);
    informant_write_json(&writer, value);
  }
  informant_write_end_object(&writer);
  return informant_written(&writer);
}

static informant_optional_string delivered(const char *object, informant_string of, bool is_wanted) {
  if (!object || !is_wanted || testing_has(of, "delivery", INFORMANT_STRING("lazy"))) return INFORMANT_NONE;
  bool is_whole = !testing_has(of, "delivery", INFORMANT_STRING("metadata"));
  return informant_some(is_whole ? handed(object) : metadata_of(object));
}

static bool is_listed(informant_string list, informant_string text) {
  informant_json_walk walk = informant_json_walk_of(list);
  informant_string found;
  while (informant_json_next(&walk))
    if (informant_json_text(walk.value, &found) == INFORMANT_JSON_FOUND && informant_equal(found, text)) return true;
  return false;
}

static bool differs(const char *new, const char *old, informant_string pointer) {
  informant_string here, there;
  bool is_here = informant_json_find(informant_text(new), pointer, &here) == INFORMANT_JSON_FOUND;
  bool is_there = informant_json_find(informant_text(old), pointer, &there) == INFORMANT_JSON_FOUND;
  return is_here != is_there || (is_here && !informant_equal(here, there));
}

/* Whether a subscription to the object has the change: by its `types`, and of an update by `onlyIfChanged`. */
static bool is_wanted(informant_string of, informant_change change, const char *new, const char *old) {
  static const char *const words[] = {"added", "updated", "deleted"};
  informant_string list, pointer;
  if (informant_json_find(of, INFORMANT_STRING("/types"), &list) == INFORMANT_JSON_FOUND && !is_listed(list, informant_text(words[change])))
    return false;
  bool is_bound = informant_json_find(of, INFORMANT_STRING("/onlyIfChanged"), &list) == INFORMANT_JSON_FOUND;
  if (change != INFORMANT_UPDATED || !is_bound) return true;
  informant_json_walk walk = informant_json_walk_of(list);
  bool has_pointers = false;
  while (informant_json_next(&walk)) {
    has_pointers = true;
    if (informant_json_text(walk.value, &pointer) == INFORMANT_JSON_FOUND && differs(new, old, pointer)) return true;
  }
  return !has_pointers;
}

/* For a subscription with `enqueue` rules, an event adds keys instead of a call of the handler. */
static void enqueue(informant_string rules, informant_object_key key) {
  informant_json_walk walk = informant_json_walk_of(rules);
  while (informant_json_next(&walk)) {
    informant_string word = {0}, prefix = INFORMANT_STRING(""), namespace = INFORMANT_STRING("object");
    bool is_self = false;
    informant_json_answer answers[] = {
        informant_json_text(walk.value, &word),
        informant_json_find_boolean(walk.value, INFORMANT_STRING("/self"), &is_self),
        informant_json_find_text(walk.value, INFORMANT_STRING("/prefix"), &prefix),
        informant_json_find_text(walk.value, INFORMANT_STRING("/namespace"), &namespace),
    };
    for (size_t i = 1; i < sizeof answers / sizeof *answers; i++)
      if (answers[i] == INFORMANT_JSON_OTHER) testing_ends("an enqueue rule is not as the descriptor's schema has it", walk.value);
    bool has_object = informant_equal(namespace, INFORMANT_STRING("object"));
    is_self = is_self || informant_equal(word, INFORMANT_STRING("self"));
    if (!is_self || (!has_object && !informant_equal(namespace, INFORMANT_STRING("none"))))
      testing_ends("tests know enqueue rules of self; for others: informant_testing_put and informant_testing_enqueue", walk.value);
    informant_string text = has_object ? informant_key_text(key) : key.name;
    informant_workqueue_add(INFORMANT_CONCAT(prefix, text));
  }
}

void informant_testing_enqueue_at(informant_testing_place at, const char *key) {
  call_begins(TESTING_WORK, at);
  informant_workqueue_add(informant_text(key));
  call_ends(INFORMANT_DONE);
}

static informant_outcome tell(informant_testing_place at, const char *resource, informant_change change, const char *new,
                              const char *old) {
  uint32_t place;
  bool with_old = false;
  informant_string rules;
  call_begins(TESTING_WORK, at);
  informant_string of = subscription(resource, &place);
  informant_json_answer answer = informant_json_find_boolean(of, INFORMANT_STRING("/withOld"), &with_old);
  if (answer == INFORMANT_JSON_OTHER) testing_ends("withOld is true or false in the subscription to", informant_text(resource));
  informant_object_key key = testing_key_of(new ? new : old);
  if (!is_wanted(of, change, new, old)) return call_ends(INFORMANT_DONE);
  if (informant_json_find(of, INFORMANT_STRING("/enqueue"), &rules) == INFORMANT_JSON_FOUND) {
    enqueue(rules, key);
    return call_ends(INFORMANT_DONE);
  }
  if (!informant_plugin.handle) testing_ends("the plugin has no INFORMANT_HANDLER to tell of", informant_text(resource));
  seq++;
  informant_event event = {
      .seq = seq,
      .subscription = place,
      .change = change,
      .reason = INFORMANT_WATCH,
      .key = key,
      .resource_version = informant_unsigned_text(seq),
      .has_gone = change == INFORMANT_DELETED,
      .gone = INFORMANT_GONE_DELETED,
      .attempt = 1,
      .object = delivered(new, of, true),
      .old = delivered(old, of, with_old || change == INFORMANT_DELETED),
  };
  testing_set_event(new, old);
  testing_state_begin();
  informant_outcome outcome = call_ends(informant_plugin.handle(&event));
  testing_state_end(!outcome.is_error);
  testing_set_event(NULL, NULL);
  return outcome;
}

informant_outcome informant_testing_add_at(informant_testing_place at, const char *resource, const char *object) {
  informant_testing_put_at(at, resource, object);
  return tell(at, resource, INFORMANT_ADDED, object, NULL);
}

informant_outcome informant_testing_update_at(informant_testing_place at, const char *resource, const char *before,
                                              const char *after) {
  informant_testing_put_at(at, resource, after);
  return tell(at, resource, INFORMANT_UPDATED, after, before);
}

informant_outcome informant_testing_delete_at(informant_testing_place at, const char *resource, const char *object) {
  informant_memory_end_call();
  testing_at = at;
  char *key = testing_copy(informant_key_text(testing_key_of(object)));
  informant_testing_remove(resource, key);
  free(key);
  return tell(at, resource, INFORMANT_DELETED, NULL, object);
}

informant_outcome informant_testing_reconcile_at(informant_testing_place at) {
  informant_optional_u64 again = {0};
  call_begins(TESTING_WORK, at);
  if (!informant_plugin.reconcile) testing_ends("the plugin has no", INFORMANT_STRING("INFORMANT_RECONCILER"));
  char *key = testing_next_key();
  if (!key) {
    testing_failure(at, "there is nothing to reconcile", INFORMANT_STRING("no key waits"));
    return call_ends(INFORMANT_DONE);
  }
  testing_state_begin();
  informant_outcome outcome = informant_plugin.reconcile(handed(key), 1, &again);
  testing_state_end(!outcome.is_error);
  bool comes_again = outcome.is_error ? outcome.failure.retry != INFORMANT_NEVER : again.is_some;
  if (comes_again) informant_workqueue_add(informant_text(key));
  free(key);
  return call_ends(outcome);
}

informant_outcome informant_testing_fire_at(informant_testing_place at, const char *schedule, uint64_t unix_ms) {
  call_begins(TESTING_WORK, at);
  if (!informant_plugin.fire) testing_ends("the plugin has no INFORMANT_TIMER for", informant_text(schedule));
  informant_json_walk walk = testing_descriptor("schedules");
  bool is_there = false;
  while (informant_json_next(&walk)) is_there |= testing_has(walk.value, "name", informant_text(schedule));
  informant_string others = known("schedules", "name");
  if (!is_there)
    testing_ends("the plugin has no schedule",
                 INFORMANT_CONCAT(informant_text(schedule), INFORMANT_STRING("; it has "), others));
  testing_state_begin();
  informant_outcome outcome = call_ends(informant_plugin.fire(handed(schedule), unix_ms));
  testing_state_end(!outcome.is_error);
  return outcome;
}

informant_outcome informant_testing_synced_at(informant_testing_place at, const char *resource) {
  uint32_t place;
  call_begins(TESTING_SYNCED, at);
  if (!informant_plugin.synced) testing_ends("the plugin has no INFORMANT_SYNC_AWARE to tell of", informant_text(resource));
  subscription(resource, &place);
  return call_ends(informant_plugin.synced(place));
}

informant_result informant_testing_reload_at(informant_testing_place at, const char *from_version) {
  informant_optional_string data = {0};
  call_begins(TESTING_CARRY, at);
  if (!informant_plugin.snapshot) testing_ends("the plugin has no", INFORMANT_STRING("INFORMANT_STATEFUL"));
  informant_result result = call_answers(informant_plugin.snapshot(&data));
  if (result.is_error || !data.is_some) return result;
  char *carried = testing_copy(data.value);
  size_t len = data.value.len;
  call_begins(TESTING_CARRY, at);
  informant_string handed_over = {carried, len};
  result = call_answers(informant_plugin.restore(handed(from_version), informant_concat(&handed_over, 1)));
  free(carried);
  return result;
}
