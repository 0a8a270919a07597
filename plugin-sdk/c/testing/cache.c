/* The cache of tests, and the objects of the event. Objects are sorted by resource and key. A cursor is the last
 * key of a page. */
#include "host.h"

#include "../informant/indexer_host.h"

typedef struct {
  char *resource, *key, *json;
} cached;

static cached *objects;
static size_t object_count;
static const char *event_objects[2]; /* by informant_side */

enum { NOT_GRANTED, UNKNOWN_RESOURCE, UNKNOWN_INDEX, INVALID = 5, LIMIT_DEFAULT = 500 };

static void free_object(cached *object) {
  free(object->resource);
  free(object->key);
  free(object->json);
}

void testing_forget_cache(void) {
  for (size_t i = 0; i < object_count; i++) free_object(&objects[i]);
  free(objects);
  objects = NULL;
  object_count = 0;
}

void testing_set_event(const char *new_object, const char *old_object) {
  event_objects[INFORMANT_NEW] = new_object;
  event_objects[INFORMANT_OLD] = old_object;
}

informant_object_key testing_key_of(const char *object) {
  informant_string json = informant_text(object), empty = INFORMANT_STRING("");
  informant_object_key key = {empty, empty};
  if (informant_json_check(json) != INFORMANT_JSON_FOUND) testing_ends("an object is no JSON", json);
  if (informant_json_find_text(json, INFORMANT_STRING("/metadata/name"), &key.name) != INFORMANT_JSON_FOUND)
    testing_ends("an object has no metadata.name", json);
  informant_json_answer answer = informant_json_find_text(json, INFORMANT_STRING("/metadata/namespace"), &key.namespace);
  if (answer == INFORMANT_JSON_OTHER) testing_ends("metadata.namespace of an object is no text", json);
  return key;
}

static int compared(const cached *object, const char *resource, const char *key) {
  int by_resource = strcmp(object->resource, resource);
  return by_resource ? by_resource : strcmp(object->key, key);
}

/* The position of an object, or the position at which it belongs. */
static size_t place_of(const char *resource, const char *key) {
  size_t place = 0;
  while (place < object_count && compared(&objects[place], resource, key) < 0) place++;
  return place;
}

void informant_testing_remove(const char *resource, const char *key) {
  size_t place = place_of(resource, key);
  if (place == object_count || compared(&objects[place], resource, key) != 0) return;
  free_object(&objects[place]);
  object_count--;
  memmove(objects + place, objects + place + 1, (object_count - place) * sizeof *objects);
}

void informant_testing_put_at(informant_testing_place at, const char *resource, const char *object) {
  informant_memory_end_call();
  testing_at = at;
  char *key = testing_copy(informant_key_text(testing_key_of(object)));
  informant_testing_remove(resource, key);
  size_t place = place_of(resource, key);
  objects = testing_memory(objects, (object_count + 1) * sizeof *objects);
  memmove(objects + place + 1, objects + place, (object_count - place) * sizeof *objects);
  objects[place] = (cached){testing_copy(informant_text(resource)), key, testing_copy(informant_text(object))};
  object_count++;
  testing_at = (informant_testing_place){0};
}

static void refuse(informant_indexer_answer *answer, uint8_t kind, informant_string text, informant_string which) {
  answer->is_error = 1;
  answer->value.error.kind = kind;
  answer->value.error.text = INFORMANT_CONCAT(text, which);
}

/* Whether the plugin may read a resource. If not, sets the error. */
static bool may_read(informant_string resource, informant_indexer_answer *answer) {
  static const char *const lists[] = {"subscriptions", "reads"};
  memset(answer, 0, sizeof *answer);
  for (size_t i = 0; i < 2; i++) {
    informant_json_walk walk = testing_descriptor(lists[i]);
    while (informant_json_next(&walk))
      if (testing_has(walk.value, "resource", resource)) return true;
  }
  refuse(answer, NOT_GRANTED, INFORMANT_STRING("the descriptor has it neither in subscriptions nor in reads: "), resource);
  return false;
}

static const char *find(informant_string resource, informant_string key) {
  for (size_t i = 0; i < object_count; i++) {
    bool is_it = informant_equal(resource, informant_text(objects[i].resource));
    if (is_it && informant_equal(key, informant_text(objects[i].key))) return objects[i].json;
  }
  return NULL;
}

static informant_optional_string value_at(const char *json, informant_string pointer) {
  informant_string value;
  if (!json || informant_json_find(informant_text(json), pointer, &value) != INFORMANT_JSON_FOUND) return INFORMANT_NONE;
  return informant_some(value);
}

static informant_optional_strings values_at(const char *json, const informant_string *pointers, size_t count) {
  informant_optional_string *values = informant_alloc(count * sizeof *values);
  for (size_t i = 0; i < count; i++) values[i] = value_at(json, testing_text(pointers[i].data, pointers[i].len));
  return (informant_optional_strings){values, count};
}

static const char *event_object(int32_t side) {
  if (!event_objects[INFORMANT_NEW] && !event_objects[INFORMANT_OLD])
    testing_ends("event_data is for handlers", INFORMANT_STRING("elsewhere it ends the instance"));
  return event_objects[side];
}

void informant_host_event_json(int32_t side, informant_optional_string *answer) {
  const char *object = event_object(side);
  *answer = object ? informant_some(informant_text(object)) : INFORMANT_NONE;
}

void informant_host_event_fields(int32_t side, const informant_string *pointers, size_t count,
                                 informant_optional_strings *answer) {
  if (count > 256) testing_ends("more than 256 pointers would end the instance", informant_unsigned_text(count));
  *answer = values_at(event_object(side), pointers, count);
}

int32_t informant_host_event_changed(const char *pointer, size_t len) {
  informant_string at = testing_text(pointer, len);
  const char *new = event_object(INFORMANT_NEW), *old = event_object(INFORMANT_OLD);
  informant_optional_string now = value_at(new, at), before = value_at(old, at);
  if (!new || !old || now.is_some != before.is_some) return 1;
  return now.is_some && !informant_equal(now.value, before.value);
}

void informant_host_indexer_get(const char *resource, size_t resource_len, const char *namespace, size_t namespace_len,
                                const char *name, size_t name_len, informant_indexer_answer *answer) {
  informant_object_key key = {testing_text(namespace, namespace_len), testing_text(name, name_len)};
  if (!may_read(testing_text(resource, resource_len), answer)) return;
  const char *json = find((informant_string){resource, resource_len}, informant_key_text(key));
  if (json) answer->value.object = informant_some(informant_text(json));
}

void informant_host_indexer_fields(const char *resource, size_t resource_len, const char *namespace,
                                   size_t namespace_len, const char *name, size_t name_len,
                                   const informant_string *pointers, size_t count, informant_indexer_answer *answer) {
  informant_object_key key = {testing_text(namespace, namespace_len), testing_text(name, name_len)};
  if (!may_read(testing_text(resource, resource_len), answer)) return;
  const char *json = find((informant_string){resource, resource_len}, informant_key_text(key));
  if (count > 256) {
    refuse(answer, INVALID, INFORMANT_STRING("more than 256 pointers"), INFORMANT_STRING(""));
  } else if (json) {
    answer->value.fields.is_some = 1;
    answer->value.fields.values = values_at(json, pointers, count);
  }
}
