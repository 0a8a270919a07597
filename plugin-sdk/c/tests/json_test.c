/* JSON that is parsed and written, text by text. */
#include "no_plugin.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const answers[] = {"found", "absent", "other", "malformed"};

/* Checks the value at a pointer, or the word for its absence. */
static void find(const char *json, const char *pointer, const char *expected) {
  informant_string value;
  informant_json_answer answer = informant_json_find(informant_text(json), informant_text(pointer), &value);
  if (answer != INFORMANT_JSON_FOUND) value = informant_text(answers[answer]);
  informant_testing_same(json, value, expected);
}

/* Checks the text of a JSON string, or the word for its absence. */
static void text(const char *json, const char *expected) {
  informant_string value = {0};
  informant_json_answer answer = informant_json_text(informant_text(json), &value);
  if (answer != INFORMANT_JSON_FOUND) value = informant_text(answers[answer]);
  informant_testing_same(json, value, expected);
}

static void integer(const char *json, const char *expected) {
  int64_t number = 0;
  informant_json_answer answer = informant_json_integer(informant_text(json), &number);
  bool is_found = answer == INFORMANT_JSON_FOUND;
  informant_testing_same(json, is_found ? informant_integer_text(number) : informant_text(answers[answer]), expected);
}

/* Checks that a number equals the C library's, to 15 digits. */
static void number(const char *json) {
  double found = 0, expected = strtod(json, NULL);
  informant_json_answer answer = informant_json_number(informant_text(json), &found);
  bool fits = isfinite(expected);
  bool is_near = fabs(found - expected) <= fabs(expected) * 1e-14 + 5e-324 * 64;
  informant_testing_is(json, fits ? answer == INFORMANT_JSON_FOUND && is_near : answer == INFORMANT_JSON_OTHER);
}

static void check(const char *json, const char *expected) {
  informant_testing_same(json, informant_text(answers[informant_json_check(informant_text(json))]), expected);
}

/* Checks the walk through an object or array: `name=value` or `value` and a semicolon for each entry, and the last
 * answer. */
static void walk(const char *json, const char *expected) {
  informant_json_walk walk = informant_json_walk_of(informant_text(json));
  informant_string said = {0};
  size_t index = 0;
  while (informant_json_next(&walk)) {
    informant_testing_is("elements are counted", walk.index == index++);
    informant_string equals = walk.is_object ? INFORMANT_STRING("=") : INFORMANT_STRING("");
    said = INFORMANT_CONCAT(said, walk.name, equals, walk.value, INFORMANT_STRING(";"));
  }
  informant_testing_is("a walk that is over stays so", !informant_json_next(&walk));
  informant_testing_same(json, INFORMANT_CONCAT(said, informant_text(answers[walk.answer])), expected);
}

static void quoted(const char *text, const char *expected) {
  informant_testing_same(text, informant_json_quoted(informant_text(text)), expected);
}

/* This number of nested arrays. */
static void nested(size_t depth, const char *expected) {
  informant_writer writer = {0};
  for (size_t i = 0; i < depth; i++) informant_write_array(&writer);
  for (size_t i = 0; i < depth; i++) informant_write_end_array(&writer);
  informant_json_answer answer = informant_json_check(informant_written(&writer));
  informant_testing_same("nested arrays", informant_text(answers[answer]), expected);
}

static void values_are_found(void) {
  const char pod[] = " {\"metadata\": {\"name\": \"web\", \"labels\": {\"a/b\": \"1\", \"c~d\": \"2\", \"\": 3}},\n"
                     "\"list\": [10, {\"x\": null}, []], \"caf\\u00e9\": true, \"twice\": 1, \"twice\": 2} ";
  find(pod, "/metadata/name", "\"web\"");
  find(pod, "/metadata/labels/a~1b", "\"1\"");
  find(pod, "/metadata/labels/c~0d", "\"2\"");
  find(pod, "/metadata/labels/", "3");
  find(pod, "/list/0", "10");
  find(pod, "/list/1/x", "null");
  find(pod, "/list/2", "[]");
  find(pod, "/caf\xc3\xa9", "true");
  find(pod, "/twice", "1");
  for (const char *const *at = (const char *const[]){"/none", "/list/3", "/list/00", "/list/-1", "/list/-", "/list/x",
                                                     "/list/18446744073709551616", "/metadata/name/x", "/list/2/0", "name",
                                                     "/metadata/labels/c~2d", "/metadata/labels/c~", NULL};
       *at; at++)
    find(pod, *at, "absent");
  find(" [1 , 2] ", "", "[1 , 2]");
  find("", "", "malformed");
  find("", "/a", "malformed");
  find("{\"a\" 1}", "/a", "malformed");
  find("{\"a\": 1, \"b\": tru}", "/a", "1");
  find("{\"a\": 1, \"b\": tru}", "/b", "malformed");
  find("{\"a\": 1, \"b\": tru}", "/c", "malformed");
  find("7", "/a", "absent");
}

static void texts_are_unquoted(void) {
  text("\"\"", "");
  text(" \"plain\" ", "plain");
  text("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t");
  text("\"\\u0041\\u00e9\\u20ac\\ud83d\\ude00!\"", "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80!");
  text("\"\\ud83d\"", "\xef\xbf\xbd");
  text("\"\\ud83dx\\ude00\"", "\xef\xbf\xbdx\xef\xbf\xbd");
  text("\"\\ud83d\\ud83d\\ude00\"", "\xef\xbf\xbd\xf0\x9f\x98\x80");
  text("\"\\ud83d\\n\"", "\xef\xbf\xbd\n");
  text("\"\\ud83d\\ue000\"", "\xef\xbf\xbd\xee\x80\x80");
  text("\"\\ud83d\\udbff\"", "\xef\xbf\xbd\xef\xbf\xbd");
  text("\"\\u12\"", "malformed");
  text("\"\\x\"", "malformed");
  text("\"\n\"", "malformed");
  text("\"open", "malformed");
  text("\"open\\", "malformed");
  text("\"a\" b", "malformed");
  text("1", "other");
  text("null", "other");
  quoted("a\"b\\c/\n\r\t\x01\x1f\x7f \xc3\xa9", "\"a\\\"b\\\\c/\\n\\r\\t\\u0001\\u001f\x7f \xc3\xa9\"");
  quoted("", "\"\"");
  quoted("\xff" "a\xc3", "\"\xef\xbf\xbd" "a\xef\xbf\xbd\"");
  quoted("\xed\xa0\x80\xf4\x90\x80\x80\xc0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
         "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

static void numbers_are_read(void) {
  integer("0", "0");
  integer("-0", "0");
  integer("9223372036854775807", "9223372036854775807");
  integer("-9223372036854775808", "-9223372036854775808");
  integer("9223372036854775808", "other");
  integer("-9223372036854775809", "other");
  integer("99999999999999999999999", "other");
  integer("1.0", "other");
  integer("1e2", "other");
  integer("\"1\"", "other");
  integer("01", "malformed");
  integer("-", "malformed");
  integer("+1", "malformed");
  const char *const numbers[] = {
      "0", "-0.0", "1", "1.5", "-2.25e3", "1e22", "1e23", "123456789012345678901234567890", "0.1", "3.141592653589793",
      "1e-7", "5e-324", "2.2250738585072014e-308", "1e-400", "1.7976931348623157e308", "1.8e308", "1e309", "-1e999999999",
      "0e999999999", "1e-999999999", "0.000000000000000000000000000000123", "9007199254740993", "100000000000000000000e-20"};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) number(numbers[i]);
}

static void texts_are_checked(void) {
  const char *const good[] = {"0", "-1.5E+3", "true", "false", "null", "\"\"", "[]", "{}", "[[],{}]", "{\"a\":{\"b\":[1,2]}}",
                              " [ 1 , 2 ] \t\r\n", "\"\x7f\""};
  const char *const bad[] = {"", " ", "tru", "nulll", "01", "1.", ".5", "1e", "1e+", "--1", "[", "]", "[1,]", "[,1]", "[1 2]",
                             "{", "}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "{\"a\":1 \"b\":2}", "[}", "{]", "{\"a\":1]",
                             "[1}", "1 2", "\"\t\"", "\"\x1f\"", "\"\\u00g0\"", "'a'", "NaN", "[1]]", "/**/1", "{\"a\":[}", "\xef\xbb\xbf[]"};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) check(good[i], "found");
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) check(bad[i], "malformed");
  nested(INFORMANT_JSON_DEPTH_MAX, "found");
  nested(INFORMANT_JSON_DEPTH_MAX + 1, "malformed");
  nested(1000000, "malformed");
}

static void containers_are_walked(void) {
  walk("{\"a\": 1, \"b\\n\": [2, 3] }", "a=1;b\n=[2, 3];found");
  walk(" [ 1 , {\"x\": 2}, [] ] ", "1;{\"x\": 2};[];found");
  walk("[]", "found");
  walk("{ }", "found");
  walk("1", "other");
  walk("\"a\"", "other");
  walk("", "malformed");
  walk("nope", "malformed");
  walk("[1,]", "1;malformed");
  walk("[1", "1;malformed");
  walk("[1 2]", "1;malformed");
  walk("{\"a\": 1, b: 2}", "a=1;malformed");
  walk("{\"a\": 1, \"b\"}", "a=1;malformed");
  walk("{\"a\": 1]", "a=1;malformed");
}

/* If no value fits, variables keep their values. */
static void defaults_stay(void) {
  informant_string config = INFORMANT_JSON({"text": "t", "number": 7, "part": 0.5, "is": true});
  informant_string text = INFORMANT_STRING("default");
  int64_t number = 1;
  double part = 1.5;
  bool is = false;
  informant_testing_is("no text", informant_json_find_text(config, INFORMANT_STRING("/number"), &text) == INFORMANT_JSON_OTHER);
  informant_testing_same("the text", text, "default");
  informant_testing_is("a text", informant_json_find_text(config, INFORMANT_STRING("/text"), &text) == INFORMANT_JSON_FOUND);
  informant_testing_same("the text", text, "t");
  informant_testing_is("no integer", informant_json_find_integer(config, INFORMANT_STRING("/part"), &number) == INFORMANT_JSON_OTHER);
  informant_testing_is("it stays", number == 1);
  informant_testing_is("an integer", informant_json_find_integer(config, INFORMANT_STRING("/number"), &number) == INFORMANT_JSON_FOUND);
  informant_testing_is("it is read", number == 7);
  informant_testing_is("no number", informant_json_find_number(config, INFORMANT_STRING("/none"), &part) == INFORMANT_JSON_ABSENT);
  informant_testing_is("it stays", part == 1.5);
  informant_testing_is("a number", informant_json_find_number(config, INFORMANT_STRING("/part"), &part) == INFORMANT_JSON_FOUND);
  informant_testing_is("it is read", part == 0.5);
  informant_testing_is("no boolean", informant_json_find_boolean(config, INFORMANT_STRING("/part"), &is) == INFORMANT_JSON_OTHER);
  informant_testing_is("a boolean", informant_json_find_boolean(config, INFORMANT_STRING("/is"), &is) == INFORMANT_JSON_FOUND && is);
  informant_testing_is("null", informant_json_is_null(INFORMANT_STRING(" null ")) && !informant_json_is_null(config));
}

static void writer_puts_commas(void) {
  informant_writer writer = {0};
  informant_testing_same("nothing written", informant_written(&writer), "");
  informant_write_object(&writer);
  informant_write_name(&writer, INFORMANT_STRING("a\"b"));
  informant_write_array(&writer);
  informant_write_integer(&writer, INT64_MIN);
  informant_write_unsigned(&writer, UINT64_MAX);
  informant_write_object(&writer);
  informant_write_end_object(&writer);
  informant_write_null(&writer);
  informant_write_end_array(&writer);
  informant_write_name(&writer, INFORMANT_STRING("c"));
  informant_write_boolean(&writer, true);
  informant_write_name(&writer, INFORMANT_STRING("d"));
  informant_write_json(&writer, INFORMANT_JSON([1, 2]));
  informant_write_end_object(&writer);
  informant_testing_same("what was written", informant_written(&writer),
                         "{\"a\\\"b\":[-9223372036854775808,18446744073709551615,{},null],\"c\":true,\"d\":[1, 2]}");
}

int main(void) {
  values_are_found();
  texts_are_unquoted();
  numbers_are_read();
  texts_are_checked();
  containers_are_walked();
  defaults_stay();
  writer_puts_commas();
  return informant_testing_end();
}
