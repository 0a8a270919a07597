/* The plugin's actions, line by line, and their checks. */
#include "host.h"

#include "../informant/import.h"

static char *lines;
static size_t lines_len;
static int failures;

informant_testing_place testing_at;

static void say_place(informant_testing_place at) {
  if (at.file) fprintf(stderr, "%s:%d: ", at.file, at.line);
}

_Noreturn void testing_ends(const char *what, informant_string which) {
  say_place(testing_at);
  fprintf(stderr, "%s: %.*s\n", what, (int)which.len, which.data ? which.data : "");
  exit(2);
}

void testing_failure(informant_testing_place at, const char *what, informant_string which) {
  say_place(at);
  fprintf(stderr, "%s: %.*s\n", what, (int)which.len, which.data ? which.data : "");
  failures++;
}

informant_string testing_text(const char *data, size_t len) {
  informant_string text = {data, len};
  for (size_t at = 0; at < len;) {
    size_t step = informant_utf8_len((informant_string){data + at, len - at});
    if (!step) testing_ends("a text that is not UTF-8 would end the instance; informant_utf8 makes one of it", text);
    at += step;
  }
  return text;
}

informant_string testing_pairs(const informant_pair *items, size_t count) {
  informant_string text = INFORMANT_STRING("");
  for (size_t i = 0; i < count; i++) {
    informant_string name = testing_text(items[i].name.data, items[i].name.len);
    informant_string value = testing_text(items[i].value.data, items[i].value.len);
    text = INFORMANT_CONCAT(text, INFORMANT_STRING(" "), name, INFORMANT_STRING("="), value);
  }
  return text;
}

void testing_line(const informant_string *parts, size_t count) {
  informant_string line = informant_concat(parts, count);
  lines = testing_memory(lines, lines_len + line.len + 2);
  memcpy(lines + lines_len, line.data, line.len);
  lines_len += line.len;
  lines[lines_len++] = '\n';
  lines[lines_len] = 0;
}

int32_t informant_host_log_enabled(int32_t level) {
  return level >= INFORMANT_DEBUG;
}

void informant_host_log(int32_t level, const char *message, size_t len, const informant_pair *fields, size_t count) {
  static const char *const levels[] = {"trace", "debug", "info", "warn", "error"};
  if (level < 0 || level > INFORMANT_ERROR) testing_ends("log", INFORMANT_STRING("there is no such level"));
  TESTING_LINE(informant_text(levels[level]), INFORMANT_STRING(" "), testing_text(message, len),
               testing_pairs(fields, count));
}

void informant_testing_expect_at(informant_testing_place at, const char *expected) {
  const char *found = lines_len ? lines : "";
  if (strcmp(found, expected) != 0) {
    say_place(at);
    fprintf(stderr, "the plugin did\n%sand expected was\n%s", found, expected);
    failures++;
  }
  lines_len = 0;
}

void informant_testing_succeeds_at(informant_testing_place at, informant_outcome outcome) {
  if (outcome.is_error) testing_failure(at, "the call failed", outcome.failure.message);
}

void informant_testing_fails_at(informant_testing_place at, informant_outcome outcome, const char *message) {
  if (!outcome.is_error) testing_failure(at, "the call succeeded, and was to fail", informant_text(message));
  else informant_testing_same_at(at, "the failure", outcome.failure.message, message);
}

void informant_testing_same_at(informant_testing_place at, const char *what, informant_string found,
                               const char *expected) {
  if (informant_equal(found, informant_text(expected))) return;
  say_place(at);
  fprintf(stderr, "%s is\n%.*s\nand expected was\n%s\n", what, (int)found.len, found.data ? found.data : "", expected);
  failures++;
}

void informant_testing_is_at(informant_testing_place at, const char *what, bool is) {
  if (!is) testing_failure(at, "it is not so", informant_text(what));
}

void testing_forget_lines(void) {
  free(lines);
  lines = NULL;
  lines_len = 0;
}

int informant_testing_end(void) {
  testing_forget_cache();
  testing_forget_stores();
  testing_forget_answers();
  testing_describe((informant_string){NULL, 0});
  testing_forget_lines();
  testing_forget_memory();
  fprintf(stderr, failures ? "%d failed\n" : "all is well\n", failures);
  bool has_failed = failures;
  failures = 0;
  return has_failed;
}
