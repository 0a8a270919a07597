/* JSON from random texts. The parser must agree with a second, different parser, and with the writer's output. No
 * byte after a text may be read. Arguments: a seed, and the number of rounds. */
#include "no_plugin.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t random_state;

/* xorshift64* */
static uint32_t random_below(uint32_t bound) {
  random_state ^= random_state >> 12;
  random_state ^= random_state << 25;
  random_state ^= random_state >> 27;
  return (uint32_t)((random_state * 2685821657736338717u) >> 33) % bound;
}

/* The second parser: recursive, one level after the other. It returns the end of a value, or NULL if there is none. */
static const char *second(const char *at, unsigned depth);

static const char *spaces(const char *at) {
  return at + strspn(at, " \t\r\n");
}

static const char *second_text(const char *at) {
  if (*at++ != '"') return NULL;
  while (*at != '"') {
    if ((unsigned char)*at < 0x20) return NULL;
    if (*at++ != '\\') continue;
    if (*at == 'u' && strspn(at + 1, "0123456789abcdefABCDEF") >= 4) at += 5;
    else if (*at && *at != 'u' && strchr("\"\\/bfnrt", *at)) at++;
    else return NULL;
  }
  return at + 1;
}

static const char *second_number(const char *at) {
  const char digits[] = "0123456789";
  at += *at == '-';
  size_t whole = strspn(at, digits);
  if (!whole) return NULL;
  at += *at == '0' ? 1 : whole;
  if (*at == '.') {
    if (!strspn(++at, digits)) return NULL;
    at += strspn(at, digits);
  }
  if (*at == 'e' || *at == 'E') {
    at++;
    at += *at == '+' || *at == '-';
    if (!strspn(at, digits)) return NULL;
    at += strspn(at, digits);
  }
  return at;
}

static const char *second_container(const char *at, unsigned depth) {
  char closing = *at == '{' ? '}' : ']';
  if (depth == 0) return NULL;
  at = spaces(at + 1);
  if (*at == closing) return at + 1;
  for (;;) {
    if (closing == '}') {
      at = second_text(spaces(at));
      if (!at || *(at = spaces(at)) != ':') return NULL;
      at++;
    }
    at = second(spaces(at), depth - 1);
    if (!at) return NULL;
    at = spaces(at);
    if (*at == closing) return at + 1;
    if (*at++ != ',') return NULL;
  }
}

static const char *second(const char *at, unsigned depth) {
  const char *const words[] = {"true", "false", "null"};
  if (*at == '{' || *at == '[') return second_container(at, depth);
  if (*at == '"') return second_text(at);
  for (size_t i = 0; i < 3; i++)
    if (strncmp(at, words[i], strlen(words[i])) == 0) return at + strlen(words[i]);
  return second_number(at);
}

static bool second_says(const char *text) {
  const char *end = second(spaces(text), INFORMANT_JSON_DEPTH_MAX);
  return end && *spaces(end) == 0;
}

/* A random value. */
static void write_random(informant_writer *writer, unsigned depth) {
  char bytes[12];
  uint32_t count = random_below(5), kind = random_below(depth ? 7 : 5);
  size_t len = random_below(sizeof bytes + 1);
  for (size_t i = 0; i < len; i++) bytes[i] = random_below(3) ? (char)random_below(256) : "\"\\/\n\t~ue0"[random_below(9)];
  informant_string text = {bytes, len};
  switch (kind) {
    case 0: informant_write_text(writer, text); return;
    case 1: informant_write_integer(writer, (int64_t)random_below(1u << 31) - (1 << 30)); return;
    case 2: informant_write_boolean(writer, random_below(2)); return;
    case 3: informant_write_null(writer); return;
    case 4: informant_write_json(writer, INFORMANT_STRING("-12.5e-3")); return;
    case 5:
      informant_write_array(writer);
      while (count--) write_random(writer, depth - 1);
      informant_write_end_array(writer);
      return;
    default:
      informant_write_object(writer);
      for (; count--; write_random(writer, depth - 1)) informant_write_name(writer, text);
      informant_write_end_object(writer);
  }
}

/* Calls every function for a text, so that a sanitizer sees the bytes that it reads. */
static void ask_everything(informant_string json) {
  static const char *const pointers[] = {"", "/", "/a", "/0", "/0/0", "/1/", "//", "/~0", "/~", "/e/0"};
  informant_string text;
  int64_t integer;
  double number;
  bool is;
  for (size_t i = 0; i < sizeof pointers / sizeof *pointers; i++) {
    informant_string pointer = informant_text(pointers[i]), value = {0};
    informant_json_answer answer = informant_json_find(json, pointer, &value);
    bool is_piece = value.data >= json.data && value.data + value.len <= json.data + json.len;
    if (answer == INFORMANT_JSON_FOUND && !is_piece) informant_testing_is("a value is a piece of its text", false);
    if (informant_json_find_text(json, pointer, &text) == INFORMANT_JSON_FOUND) {
      informant_string again = {0}, quoted = informant_json_quoted(text);
      bool is_read = informant_json_text(quoted, &again) == INFORMANT_JSON_FOUND;
      if (!is_read || !informant_equal(again, informant_utf8(text)))
        informant_testing_same("a text, quoted and read again", quoted, "another");
    }
    if (informant_json_find_integer(json, pointer, &integer) == INFORMANT_JSON_FOUND &&
        informant_json_find_number(json, pointer, &number) != INFORMANT_JSON_FOUND)
      informant_testing_is("an integer is a number", false);
    if (informant_json_find_boolean(json, pointer, &is) == INFORMANT_JSON_FOUND && informant_json_is_null(value))
      informant_testing_is("a boolean is not null", false);
  }
  informant_json_walk walk = informant_json_walk_of(json);
  while (informant_json_next(&walk))
    if (informant_json_check(walk.value) != INFORMANT_JSON_FOUND) informant_testing_is("what is walked over is JSON", false);
}

/* Checks a text in memory that ends with the text. */
static void check(informant_string text) {
  char *terminated = malloc(text.len + 1), *exact = malloc(text.len ? text.len : 1);
  if (!terminated || !exact) exit(2);
  memcpy(terminated, text.data, text.len);
  memcpy(exact, text.data, text.len);
  terminated[text.len] = 0;
  informant_string json = {exact, text.len};
  bool is_good = informant_json_check(json) == INFORMANT_JSON_FOUND;
  /* A zero in the text ends it for the second parser, and is malformed for both. */
  bool is_good_again = strlen(terminated) == text.len && second_says(terminated);
  if (is_good != is_good_again) informant_testing_same("whether this is JSON", text, is_good_again ? "(it is)" : "(it is not)");
  ask_everything(json);
  free(terminated);
  free(exact);
}

/* Removes, inserts or exchanges a byte, or cuts off the end. */
static informant_string changed(informant_string text) {
  char *data = informant_alloc(text.len + 1);
  size_t len = text.len, at = len ? random_below((uint32_t)len) : 0;
  char one = random_below(4) ? "{}[]\",:\\0e-.u \nt"[random_below(16)] : (char)random_below(256);
  memcpy(data, text.data, len);
  switch (random_below(4)) {
    case 0:
      if (len) memmove(data + at, data + at + 1, --len - at);
      break;
    case 1:
      memmove(data + at + 1, data + at, len++ - at);
      data[at] = one;
      break;
    case 2:
      if (len) data[at] = one;
      break;
    default: len = at;
  }
  return (informant_string){data, len};
}

int main(int count, char **arguments) {
  uint64_t seed = count > 1 ? strtoull(arguments[1], NULL, 10) : 1;
  unsigned rounds = count > 2 ? (unsigned)strtoul(arguments[2], NULL, 10) : 20000;
  random_state = seed * 0x9e3779b97f4a7c15u + 1;
  unsigned good = 0;
  for (unsigned round = 0; round < rounds; round++) {
    informant_writer writer = {0};
    write_random(&writer, 5);
    informant_string text = informant_written(&writer);
    if (informant_json_check(text) != INFORMANT_JSON_FOUND) informant_testing_same("what was written", text, "JSON");
    check(text);
    for (uint32_t changes = random_below(6); changes--;) {
      text = changed(text);
      check(text);
      good += informant_json_check(text) == INFORMANT_JSON_FOUND;
    }
    informant_memory_end_call();
  }
  fprintf(stderr, "seed %" PRIu64 ", %u rounds; of the changed texts %u were still JSON\n", seed, rounds, good);
  informant_testing_is("some changed texts are still JSON", good > rounds / 20);
  return informant_testing_end();
}
