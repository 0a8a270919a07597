/* The host's part in tests without WebAssembly: see informant_testing.h. */
#include "informant_testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  informant_side side;
  const char *pointer;
  const char *json;
} field;

typedef struct block {
  struct block *next;
  max_align_t data[];
} block;

static field fields[INFORMANT_TESTING_FIELDS_MAX];
static size_t field_count;
static block *blocks;
static char *log_text;
static size_t log_len;
static int failures;

static void *checked(void *memory) {
  if (memory) return memory;
  fprintf(stderr, "no memory is left\n");
  exit(2);
}

void informant_testing_begin(void) {
  field_count = 0;
  log_len = 0;
  while (blocks) {
    block *next = blocks->next;
    free(blocks);
    blocks = next;
  }
}

void informant_testing_set(informant_side side, const char *pointer, const char *json) {
  if (field_count == INFORMANT_TESTING_FIELDS_MAX) {
    fprintf(stderr, "more than %d fields are set\n", INFORMANT_TESTING_FIELDS_MAX);
    exit(2);
  }
  fields[field_count++] = (field){side, pointer, json};
}

const char *informant_testing_log(void) {
  return log_len ? log_text : "";
}

void informant_testing_expect(const char *log) {
  const char *found = informant_testing_log();
  if (strcmp(found, log) == 0) return;
  fprintf(stderr, "logged was\n%sand expected\n%s", found, log);
  failures++;
}

void informant_testing_succeeds(informant_outcome outcome) {
  if (!outcome.is_error) return;
  informant_string message = outcome.failure.message;
  fprintf(stderr, "the call failed: %.*s\n", (int)message.len, message.data);
  failures++;
}

int informant_testing_end(void) {
  informant_testing_begin();
  free(log_text);
  log_text = NULL;
  fprintf(stderr, failures ? "%d failed\n" : "all is well\n", failures);
  return failures ? 1 : 0;
}

void *informant_alloc(size_t size) {
  block *new = checked(malloc(sizeof(block) + size));
  new->next = blocks;
  blocks = new;
  return new->data;
}

informant_string informant_concat(const informant_string *parts, size_t count) {
  size_t len = 0, at = 0;
  for (size_t i = 0; i < count; i++) len += parts[i].len;
  char *text = informant_alloc(len);
  for (size_t i = 0; i < count; at += parts[i++].len) memcpy(text + at, parts[i].data, parts[i].len);
  return (informant_string){text, len};
}

void informant_log(informant_level level, informant_string message) {
  static const char *const levels[] = {"trace", "debug", "info", "warn", "error"};
  size_t room = strlen(levels[level]) + message.len + 3;
  log_text = checked(realloc(log_text, log_len + room));
  log_len += (size_t)snprintf(log_text + log_len, room, "%s %.*s\n", levels[level], (int)message.len, message.data);
}

static const char *find(informant_side side, informant_string pointer) {
  for (size_t i = 0; i < field_count; i++) {
    const field *one = &fields[i];
    int is_it = one->side == side && strlen(one->pointer) == pointer.len;
    if (is_it && memcmp(one->pointer, pointer.data, pointer.len) == 0) return one->json;
  }
  return NULL;
}

informant_optional_string informant_field(informant_side side, informant_string pointer) {
  const char *json = find(side, pointer);
  if (!json) return (informant_optional_string){0};
  return (informant_optional_string){1, {json, strlen(json)}};
}

bool informant_changed(informant_string pointer) {
  const char *old = find(INFORMANT_OLD, pointer), *new = find(INFORMANT_NEW, pointer);
  return old && new ? strcmp(old, new) != 0 : old != new;
}
