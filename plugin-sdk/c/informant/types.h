/* Types that all parts share. The structs have the canonical ABI's layout, because C's own alignment rules give
 * exactly that layout on wasm32. */
#ifndef INFORMANT_TYPES_H
#define INFORMANT_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The result must be checked: the compiler warns if it is ignored. */
#define INFORMANT_MUST_CHECK __attribute__((warn_unused_result))

/* UTF-8 text, JSON or bytes; without a zero at the end. */
typedef struct {
  const char *data;
  size_t len;
} informant_string;

/* A string from a literal. */
#define INFORMANT_STRING(literal) ((informant_string){(literal), sizeof(literal) - 1})

/* JSON without backslashes, as in other files: INFORMANT_JSON({"a": ["b", 1, true]}). The text is taken literally:
 * a macro's name in it stays a name. Use json_write.h for values of the program. */
#define INFORMANT_JSON(...) INFORMANT_STRING(#__VA_ARGS__)

typedef struct {
  uint8_t is_some;
  informant_string value;
} informant_optional_string;

/* No value. For a namespace it means all namespaces. */
#define INFORMANT_NONE ((informant_optional_string){0})

static inline informant_optional_string informant_some(informant_string value) {
  return (informant_optional_string){1, value};
}

typedef struct {
  uint8_t is_some;
  uint64_t value;
} informant_optional_u64;

typedef struct {
  const informant_string *items;
  size_t count;
} informant_strings;

/* Strings from a list of them: INFORMANT_STRINGS(a, b). */
#define INFORMANT_STRINGS(...)                        \
  ((informant_strings){(const informant_string[]){__VA_ARGS__}, \
                       sizeof((const informant_string[]){__VA_ARGS__}) / sizeof(informant_string)})

typedef struct {
  const informant_optional_string *items;
  size_t count;
} informant_optional_strings;

/* A field of a log line, a label of a series, or a header of a message. */
typedef struct {
  informant_string name;
  informant_string value;
} informant_pair;

typedef struct {
  const informant_pair *items;
  size_t count;
} informant_pairs;

/* A pair with a literal as its name. */
#define INFORMANT_PAIR(literal, value) ((informant_pair){INFORMANT_STRING(literal), (value)})

/* Pairs from a list of them: INFORMANT_PAIRS(INFORMANT_PAIR("pod", name), INFORMANT_PAIR("is", phase)). */
#define INFORMANT_PAIRS(...)                      \
  ((informant_pairs){(const informant_pair[]){__VA_ARGS__}, \
                     sizeof((const informant_pair[]){__VA_ARGS__}) / sizeof(informant_pair)})

#define INFORMANT_NO_PAIRS ((informant_pairs){0})

/* The key of one object of a resource. */
typedef struct {
  informant_string namespace; /* empty for cluster-scoped objects */
  informant_string name;
} informant_object_key;

typedef struct {
  const informant_object_key *items;
  size_t count;
} informant_object_keys;

#endif
