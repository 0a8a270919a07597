/* The plugin's data in tests: its state, its queue, its series, and its name. */
#include "host.h"

#include "../informant/import.h"
#include "../informant/state_host.h"

enum { KEYS_MAX = 1000, KEY_LEN_MAX = 512, STATE_BYTES_MAX = 1 << 20 };

typedef struct {
  char *name, *value;
  size_t len;
} entry;

typedef struct {
  entry *items;
  size_t count;
} entries;

static entries state, state_before;
static char **keys;
static size_t key_count;
static char *keys_text;

typedef struct {
  char *name;
  double value;
} series;

static series *metrics;
static size_t metric_count;
static bool is_leading = true;

static void free_entries(entries *list) {
  for (size_t i = 0; i < list->count; i++) {
    free(list->items[i].name);
    free(list->items[i].value);
  }
  free(list->items);
  *list = (entries){NULL, 0};
}

static void copy_entries(entries *to, const entries *from) {
  free_entries(to);
  if (!from->count) return;
  to->items = testing_memory(NULL, from->count * sizeof *to->items);
  for (; to->count < from->count; to->count++) {
    const entry *one = &from->items[to->count];
    char *value = testing_copy((informant_string){one->value, one->len});
    to->items[to->count] = (entry){testing_copy(informant_text(one->name)), value, one->len};
  }
}

void testing_state_begin(void) {
  copy_entries(&state_before, &state);
}

void testing_state_end(bool is_kept) {
  if (!is_kept) copy_entries(&state, &state_before);
  free_entries(&state_before);
}

void testing_forget_stores(void) {
  free_entries(&state);
  for (size_t i = 0; i < key_count; i++) free(keys[i]);
  free(keys);
  keys = NULL;
  key_count = 0;
  for (size_t i = 0; i < metric_count; i++) free(metrics[i].name);
  free(metrics);
  metrics = NULL;
  metric_count = 0;
  free(keys_text);
  keys_text = NULL;
}

/* The position of an entry, or the position at which it belongs. Entries are sorted. */
static size_t entry_place(informant_string name, bool *is_there) {
  size_t place = 0;
  char *wanted = testing_copy(name);
  while (place < state.count && strcmp(state.items[place].name, wanted) < 0) place++;
  *is_there = place < state.count && strcmp(state.items[place].name, wanted) == 0;
  free(wanted);
  return place;
}

static void take_entry(size_t place) {
  free(state.items[place].name);
  free(state.items[place].value);
  state.count--;
  memmove(state.items + place, state.items + place + 1, (state.count - place) * sizeof *state.items);
}

static void put_entry(size_t place, informant_string name, informant_string value) {
  state.items = testing_memory(state.items, (state.count + 1) * sizeof *state.items);
  memmove(state.items + place + 1, state.items + place, (state.count - place) * sizeof *state.items);
  state.items[place] = (entry){testing_copy(name), testing_copy(value), value.len};
  state.count++;
}

static bool state_fails(informant_state_answer *answer, bool is_so, informant_string error) {
  if (!is_so) return false;
  memset(answer, 0, sizeof *answer);
  answer->is_error = 1;
  answer->value.error = error;
  return true;
}

static bool may_use_state(informant_string key, informant_state_answer *answer) {
  memset(answer, 0, sizeof *answer);
  testing_text(key.data, key.len);
  return !state_fails(answer, testing_in == TESTING_DESCRIBE, INFORMANT_STRING("plugin_describe has no state")) &&
         !state_fails(answer, key.len < 1 || key.len > KEY_LEN_MAX, INFORMANT_STRING("keys have 1 to 512 bytes"));
}

static bool is_full(informant_string key, informant_string value, bool is_there) {
  size_t bytes = key.len + value.len;
  for (size_t i = 0; i < state.count; i++) {
    informant_string name = informant_text(state.items[i].name);
    if (!informant_equal(name, key)) bytes += name.len + state.items[i].len;
  }
  return bytes > STATE_BYTES_MAX || (!is_there && state.count == KEYS_MAX);
}

void informant_host_state_get(const char *key, size_t len, informant_state_answer *answer) {
  bool is_there;
  if (!may_use_state((informant_string){key, len}, answer)) return;
  size_t place = entry_place((informant_string){key, len}, &is_there);
  if (!is_there) return;
  informant_string value = {state.items[place].value, state.items[place].len};
  answer->value.value = informant_some(informant_concat(&value, 1));
}

void informant_host_state_set(const char *key, size_t len, int32_t has_value, const char *data, size_t value_len,
                              informant_state_answer *answer) {
  bool is_there;
  informant_string name = {key, len}, value = {data, value_len};
  if (!may_use_state(name, answer)) return;
  if (state_fails(answer, testing_in != TESTING_WORK,
                  INFORMANT_STRING("state is written in handlers, reconcilers and timers only")))
    return;
  size_t place = entry_place(name, &is_there);
  if (state_fails(answer, has_value && is_full(name, value, is_there),
                  INFORMANT_STRING("there would be more than 1000 keys, or 1 MiB of keys and values")))
    return;
  if (is_there) take_entry(place);
  if (has_value) put_entry(place, name, value);
}

void informant_host_state_compare_and_set(const char *key, size_t len, int32_t has_expected, const char *expected,
                                          size_t expected_len, int32_t has_value, const char *value, size_t value_len,
                                          informant_state_answer *answer) {
  bool is_there;
  if (!may_use_state((informant_string){key, len}, answer)) return;
  size_t place = entry_place((informant_string){key, len}, &is_there);
  bool is_expected = is_there == (has_expected != 0);
  if (is_there && is_expected) {
    informant_string found = {state.items[place].value, state.items[place].len};
    is_expected = informant_equal(found, (informant_string){expected, expected_len});
  }
  if (!is_expected) return;
  informant_host_state_set(key, len, has_value, value, value_len, answer);
  if (!answer->is_error) answer->value.was_set = 1;
}

void informant_host_state_keys(const char *prefix, size_t len, informant_state_answer *answer) {
  memset(answer, 0, sizeof *answer);
  if (state_fails(answer, testing_in == TESTING_DESCRIBE, INFORMANT_STRING("plugin_describe has no state"))) return;
  informant_string beginning = testing_text(prefix, len);
  informant_string *items = informant_alloc(state.count * sizeof *items);
  size_t count = 0;
  for (size_t i = 0; i < state.count; i++) {
    informant_string name = informant_text(state.items[i].name);
    if (informant_starts_with(name, beginning)) items[count++] = informant_concat(&name, 1);
  }
  answer->value.keys = (informant_strings){items, count};
}

const char *informant_testing_state(const char *key) {
  bool is_there;
  size_t place = entry_place(informant_text(key), &is_there);
  return is_there ? state.items[place].value : NULL;
}
