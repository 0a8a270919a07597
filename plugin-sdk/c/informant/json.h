/* A parser of JSON without copies: values are pieces of the text. For configuration, and answers of the indexer and
 * of HTTP servers. The host finds single values of an event's object (informant_field), which costs less.
 *
 * No text ends the instance: invalid JSON gives a result. Texts may be nested 128 levels deep. */
#ifndef INFORMANT_JSON_H
#define INFORMANT_JSON_H

#include "types.h"

#define INFORMANT_JSON_DEPTH_MAX 128

typedef enum {
  INFORMANT_JSON_FOUND,
  INFORMANT_JSON_ABSENT,   /* nothing is there */
  INFORMANT_JSON_OTHER,    /* something else is there: a value of another type, a number that does not fit */
  INFORMANT_JSON_MALFORMED /* the text is no JSON, or nested too deep */
} informant_json_answer;

/* FOUND if the whole text is one JSON value, else MALFORMED. */
informant_json_answer informant_json_check(informant_string json);

/* The value at a JSON pointer: "" is the whole value, "/a/0/b" steps into members and elements, ~1 means / and ~0
 * means ~. The value is a piece of `json`. Of several members with one name the first counts. The text after the
 * value is not checked. */
INFORMANT_MUST_CHECK informant_json_answer informant_json_find(informant_string json, informant_string pointer,
                                                               informant_string *value);

/* The content of a JSON value. The text of a string without escapes is a piece of the value, else memory of
 * informant_alloc; it may contain zeros. Half a surrogate pair becomes U+FFFD. Integers are exact: 1.0 and 1e2 are
 * OTHER. Numbers are exact to about 15 digits; a number above a double's range is OTHER. */
INFORMANT_MUST_CHECK informant_json_answer informant_json_text(informant_string value, informant_string *text);
INFORMANT_MUST_CHECK informant_json_answer informant_json_integer(informant_string value, int64_t *number);
INFORMANT_MUST_CHECK informant_json_answer informant_json_number(informant_string value, double *number);
INFORMANT_MUST_CHECK informant_json_answer informant_json_boolean(informant_string value, bool *is);
bool informant_json_is_null(informant_string value);

/* The same for the value at a pointer. If the answer is not FOUND, the variable keeps its value. So it may begin
 * with a default. */
INFORMANT_MUST_CHECK informant_json_answer informant_json_find_text(informant_string json, informant_string pointer,
                                                                    informant_string *text);
INFORMANT_MUST_CHECK informant_json_answer informant_json_find_integer(informant_string json, informant_string pointer,
                                                                       int64_t *number);
INFORMANT_MUST_CHECK informant_json_answer informant_json_find_number(informant_string json, informant_string pointer,
                                                                      double *number);
INFORMANT_MUST_CHECK informant_json_answer informant_json_find_boolean(informant_string json, informant_string pointer,
                                                                       bool *is);

/* Iterates over an object's members or an array's elements:
 *
 *   informant_json_walk walk = informant_json_walk_of(value);
 *   while (informant_json_next(&walk)) use(walk.name, walk.value);
 *   if (walk.answer != INFORMANT_JSON_FOUND) it is neither object nor array (OTHER), or MALFORMED
 */
typedef struct {
  informant_string name; /* of a member, unquoted; empty with an array */
  informant_string value;
  size_t index; /* of this member or element, from 0 */
  informant_json_answer answer;
  /* The walk's own. */
  const char *at, *end;
  bool is_object, has_begun;
} informant_json_walk;

informant_json_walk informant_json_walk_of(informant_string value);
bool informant_json_next(informant_json_walk *walk);

#endif
