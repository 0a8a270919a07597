/* The host's functions of `state`, with the canonical ABI's signatures: for state.c, and for a test's host. */
#ifndef INFORMANT_STATE_HOST_H
#define INFORMANT_STATE_HOST_H

#include "import.h"

typedef struct {
  uint8_t is_error;
  union {
    informant_string error;
    informant_optional_string value;
    uint8_t was_set;
    informant_strings keys;
  } value;
} informant_state_answer;

INFORMANT_IMPORT("state", "get")
void informant_host_state_get(const char *key, size_t len, informant_state_answer *answer);
INFORMANT_IMPORT("state", "set")
void informant_host_state_set(const char *key, size_t len, int32_t has_value, const char *value, size_t value_len,
                              informant_state_answer *answer);
INFORMANT_IMPORT("state", "compare-and-set")
void informant_host_state_compare_and_set(const char *key, size_t len, int32_t has_expected, const char *expected,
                                          size_t expected_len, int32_t has_value, const char *value, size_t value_len,
                                          informant_state_answer *answer);
INFORMANT_IMPORT("state", "keys")
void informant_host_state_keys(const char *prefix, size_t len, informant_state_answer *answer);

#endif
