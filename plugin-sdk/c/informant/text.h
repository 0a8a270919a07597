/* Texts: putting them together, comparing them, numbers in words. What is made is memory of informant_alloc. */
#ifndef INFORMANT_TEXT_H
#define INFORMANT_TEXT_H

#include "types.h"

/* A string from one that is terminated by a zero. */
informant_string informant_text(const char *terminated);

bool informant_equal(informant_string left, informant_string right);
bool informant_starts_with(informant_string text, informant_string beginning);

/* The parts one after the other. */
informant_string informant_concat(const informant_string *parts, size_t count);

#define INFORMANT_CONCAT(...)                              \
  informant_concat((const informant_string[]){__VA_ARGS__}, \
                   sizeof((const informant_string[]){__VA_ARGS__}) / sizeof(informant_string))

informant_string informant_unsigned_text(uint64_t number);
informant_string informant_integer_text(int64_t number);
informant_string informant_boolean_text(bool is);

/* The number that a text is; false where it is none, or one that does not fit. */
INFORMANT_MUST_CHECK bool informant_integer(informant_string text, int64_t *number);

/* `namespace/name`, or `name` of a cluster-scoped object, as keys of `enqueue` rules are made; and back. */
informant_string informant_key_text(informant_object_key key);
informant_object_key informant_key(informant_string text);

/* The text itself if it is UTF-8, else one with U+FFFD in the place of what is none. Bytes (of answers over HTTP, of
 * `state`) have to go through this before they are logged or handed to the host as text in another way: a text that is
 * not UTF-8 ends the instance. */
informant_string informant_utf8(informant_string bytes);

/* How many bytes the character at the beginning has; 0 where there is none, or not in UTF-8. */
size_t informant_utf8_len(informant_string bytes);

#endif
