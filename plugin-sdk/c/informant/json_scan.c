/* The grammar of JSON: see json_scan.h. The nesting is a bounded stack of bits, without recursion. */
#include "json_scan.h"

#include "json.h"

static bool is_digit(const char *at, const char *end) {
  return at < end && *at >= '0' && *at <= '9';
}

const char *informant_json_skip_space(const char *at, const char *end) {
  while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')) at++;
  return at;
}

static bool is_hex(char one) {
  return (one >= '0' && one <= '9') || (one >= 'a' && one <= 'f') || (one >= 'A' && one <= 'F');
}

/* Starts after the backslash. */
static const char *skip_escape(const char *at, const char *end) {
  if (at == end) return NULL;
  switch (*at++) {
    case '"': case '\\': case '/': case 'b': case 'f': case 'n': case 'r': case 't': return at;
    case 'u':
      if (end - at < 4) return NULL;
      for (int i = 0; i < 4; i++)
        if (!is_hex(*at++)) return NULL;
      return at;
    default: return NULL;
  }
}

const char *informant_json_skip_string(const char *at, const char *end) {
  if (at == end || *at++ != '"') return NULL;
  while (at && at < end) {
    if (*at == '"') return at + 1;
    if ((unsigned char)*at < 0x20) return NULL;
    at = *at == '\\' ? skip_escape(at + 1, end) : at + 1;
  }
  return NULL;
}

const char *informant_json_skip_number(const char *at, const char *end) {
  if (at < end && *at == '-') at++;
  if (!is_digit(at, end)) return NULL;
  if (*at == '0') at++;
  else while (is_digit(at, end)) at++;
  if (at < end && *at == '.') {
    at++;
    if (!is_digit(at, end)) return NULL;
    while (is_digit(at, end)) at++;
  }
  if (at < end && (*at == 'e' || *at == 'E')) {
    at++;
    if (at < end && (*at == '+' || *at == '-')) at++;
    if (!is_digit(at, end)) return NULL;
    while (is_digit(at, end)) at++;
  }
  return at;
}

static const char *skip_word(const char *at, const char *end, const char *word) {
  for (; *word; word++)
    if (at == end || *at++ != *word) return NULL;
  return at;
}

static const char *skip_scalar(const char *at, const char *end) {
  if (at == end) return NULL;
  switch (*at) {
    case '"': return informant_json_skip_string(at, end);
    case 't': return skip_word(at, end, "true");
    case 'f': return skip_word(at, end, "false");
    case 'n': return skip_word(at, end, "null");
    default: return informant_json_skip_number(at, end);
  }
}

/* Skips a member's name, up to its value. */
static const char *skip_name(const char *at, const char *end) {
  at = informant_json_skip_string(at, end);
  if (!at) return NULL;
  at = informant_json_skip_space(at, end);
  if (at == end || *at != ':') return NULL;
  return informant_json_skip_space(at + 1, end);
}

typedef struct {
  uint32_t is_object[INFORMANT_JSON_DEPTH_MAX / 32];
  unsigned depth;
} nesting;

static bool is_in_object(const nesting *in) {
  unsigned top = in->depth - 1;
  return in->is_object[top / 32] >> top % 32 & 1;
}

static bool enter(nesting *in, bool is_object) {
  if (in->depth == INFORMANT_JSON_DEPTH_MAX) return false;
  uint32_t bit = (uint32_t)1 << in->depth % 32, *word = &in->is_object[in->depth / 32];
  *word = is_object ? *word | bit : *word & ~bit;
  in->depth++;
  return true;
}

/* From the start of a value to the end of the first complete one: an empty container or a scalar, at any depth. */
static const char *begin(nesting *in, const char *at, const char *end) {
  while (at && at < end && (*at == '{' || *at == '[')) {
    bool is_object = *at == '{';
    if (!enter(in, is_object)) return NULL;
    at = informant_json_skip_space(at + 1, end);
    if (at < end && *at == (is_object ? '}' : ']')) {
      in->depth--;
      return at + 1;
    }
    if (is_object) at = skip_name(at, end);
  }
  return at ? skip_scalar(at, end) : NULL;
}

const char *informant_json_skip_value(const char *at, const char *end) {
  nesting in = {{0}, 0};
  at = begin(&in, at, end);
  while (at && in.depth) {
    bool is_object = is_in_object(&in);
    at = informant_json_skip_space(at, end);
    if (at == end) return NULL;
    if (*at == (is_object ? '}' : ']')) {
      in.depth--;
      at++;
    } else if (*at == ',') {
      at = informant_json_skip_space(at + 1, end);
      at = is_object ? skip_name(at, end) : at;
      at = at ? begin(&in, at, end) : NULL;
    } else {
      return NULL;
    }
  }
  return at;
}
