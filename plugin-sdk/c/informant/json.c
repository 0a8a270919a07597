/* The reader of JSON: see json.h. */
#include "json.h"

#include "json_scan.h"
#include "json_text.h"
#include "text.h"

static informant_string piece(const char *at, const char *end) {
  return (informant_string){at, (size_t)(end - at)};
}

/* Removes the space around the text. `data` is NULL if the text is not exactly one value. */
static informant_string whole(informant_string json) {
  if (!json.len) return (informant_string){NULL, 0};
  const char *end = json.data + json.len;
  const char *at = informant_json_skip_space(json.data, end);
  const char *behind = informant_json_skip_value(at, end);
  if (!behind || informant_json_skip_space(behind, end) != end) return (informant_string){NULL, 0};
  return piece(at, behind);
}

informant_json_answer informant_json_check(informant_string json) {
  return whole(json).data ? INFORMANT_JSON_FOUND : INFORMANT_JSON_MALFORMED;
}

informant_json_walk informant_json_walk_of(informant_string value) {
  const char *begin = value.len ? value.data : "", *end = begin + value.len;
  const char *at = informant_json_skip_space(begin, end);
  informant_json_walk walk = {.at = at, .end = end, .answer = INFORMANT_JSON_FOUND};
  if (at < end && (*at == '{' || *at == '[')) {
    walk.is_object = *at == '{';
    return walk;
  }
  walk.answer = informant_json_check(value) == INFORMANT_JSON_FOUND ? INFORMANT_JSON_OTHER : INFORMANT_JSON_MALFORMED;
  return walk;
}

static bool malformed(informant_json_walk *walk) {
  walk->answer = INFORMANT_JSON_MALFORMED;
  walk->at = NULL;
  return false;
}

/* Steps to the next name or value. NULL if there is none, or if the text is malformed. */
static const char *next_begins(informant_json_walk *walk) {
  char closing = walk->is_object ? '}' : ']';
  const char *at = walk->has_begun ? informant_json_skip_space(walk->at, walk->end) : walk->at;
  if (at == walk->end) return malformed(walk), NULL;
  bool is_end = *at == closing, goes_on = !walk->has_begun || *at == ',';
  if (!is_end && !goes_on) return malformed(walk), NULL;
  if (!is_end) {
    at = informant_json_skip_space(at + 1, walk->end);
    is_end = !walk->has_begun && at < walk->end && *at == closing;
  }
  if (!is_end) return at;
  walk->at = NULL;
  return NULL;
}

bool informant_json_next(informant_json_walk *walk) {
  if (!walk->at || walk->answer != INFORMANT_JSON_FOUND) return false;
  const char *at = next_begins(walk);
  if (!at) return false;
  if (walk->is_object) {
    const char *behind = informant_json_skip_string(at, walk->end);
    if (!behind) return malformed(walk);
    walk->name = informant_json_unquoted(piece(at, behind));
    at = informant_json_skip_space(behind, walk->end);
    if (at == walk->end || *at != ':') return malformed(walk);
    at = informant_json_skip_space(at + 1, walk->end);
  }
  const char *behind = informant_json_skip_value(at, walk->end);
  if (!behind) return malformed(walk);
  walk->value = piece(at, behind);
  walk->index = walk->has_begun ? walk->index + 1 : 0;
  walk->has_begun = true;
  walk->at = behind;
  return true;
}

/* Whether a step of a pointer, in which ~ escapes, equals this name. */
static bool is_step(informant_string step, informant_string name) {
  size_t at = 0;
  for (size_t i = 0; i < step.len; i++, at++) {
    char one = step.data[i];
    if (one == '~') {
      if (++i == step.len || (step.data[i] != '0' && step.data[i] != '1')) return false;
      one = step.data[i] == '0' ? '~' : '/';
    }
    if (at == name.len || name.data[at] != one) return false;
  }
  return at == name.len;
}

/* The index that a step of a pointer names; -1 if it names none. */
static int64_t index_of(informant_string step) {
  int64_t index;
  bool is_padded = step.len > 1 && step.data[0] == '0';
  return !is_padded && informant_integer(step, &index) && step.data[0] != '-' ? index : -1;
}

/* The value one step inside `json`. */
static informant_json_answer into(informant_string json, informant_string step, informant_string *value) {
  informant_json_walk walk = informant_json_walk_of(json);
  int64_t index = walk.is_object ? -1 : index_of(step);
  while (informant_json_next(&walk)) {
    if (walk.is_object ? !is_step(step, walk.name) : (int64_t)walk.index != index) continue;
    *value = walk.value;
    return INFORMANT_JSON_FOUND;
  }
  /* Other values contain no values. */
  return walk.answer == INFORMANT_JSON_MALFORMED ? INFORMANT_JSON_MALFORMED : INFORMANT_JSON_ABSENT;
}

informant_json_answer informant_json_find(informant_string json, informant_string pointer, informant_string *value) {
  *value = (informant_string){"", 0};
  informant_string found = json;
  if (!pointer.len) {
    found = whole(json);
    if (!found.data) return INFORMANT_JSON_MALFORMED;
  } else if (pointer.data[0] != '/') {
    return INFORMANT_JSON_ABSENT;
  }
  for (size_t at = 0; at < pointer.len;) {
    size_t begins = ++at;
    while (at < pointer.len && pointer.data[at] != '/') at++;
    informant_json_answer answer = into(found, (informant_string){pointer.data + begins, at - begins}, &found);
    if (answer != INFORMANT_JSON_FOUND) return answer;
  }
  *value = found;
  return INFORMANT_JSON_FOUND;
}
