/* Texts: concatenation, comparison, and conversion of numbers. Results are memory of informant_alloc. */
#ifndef INFORMANT_TEXT_H
#define INFORMANT_TEXT_H

#include "types.h"

/* A string from a text that ends with a zero. */
informant_string informant_text(const char *terminated);

bool informant_equal(informant_string left, informant_string right);
bool informant_starts_with(informant_string text, informant_string beginning);

/* Concatenates the parts. */
informant_string informant_concat(const informant_string *parts, size_t count);

#define INFORMANT_CONCAT(...)                              \
  informant_concat((const informant_string[]){__VA_ARGS__}, \
                   sizeof((const informant_string[]){__VA_ARGS__}) / sizeof(informant_string))

informant_string informant_unsigned_text(uint64_t number);
informant_string informant_integer_text(int64_t number);
informant_string informant_boolean_text(bool is);

/* The number in a text. False if there is none, or one that does not fit. */
INFORMANT_MUST_CHECK bool informant_integer(informant_string text, int64_t *number);

/* `namespace/name`, or `name` for a cluster-scoped object, the form of keys of `enqueue` rules; and back. */
informant_string informant_key_text(informant_object_key key);
informant_object_key informant_key(informant_string text);

/* The text itself if it is UTF-8, else a copy with U+FFFD for each invalid part. Convert bytes (of HTTP answers, of
 * `state`) before you log them or pass them to the host as text: a text that is not UTF-8 ends the instance. */
informant_string informant_utf8(informant_string bytes);

/* The number of bytes of the first character; 0 if there is none, or if it is not UTF-8. */
size_t informant_utf8_len(informant_string bytes);

#endif
