/* The interface `state`: see state.h. */
#include "state.h"

#include "state_host.h"

INFORMANT_LAYOUT(offsetof(informant_state_answer, value) == 4 && sizeof(informant_state_answer) == 16);

static const informant_error *state_error(const char *operation, const informant_state_answer *answer) {
  return answer->is_error ? informant_error_new(INFORMANT_REFUSED, operation, answer->value.error) : NULL;
}

static const informant_error *set_state(const char *operation, informant_string key, informant_optional_string value) {
  informant_state_answer answer;
  informant_host_state_set(INFORMANT_TEXT(key), INFORMANT_OPTION(value), &answer);
  return state_error(operation, &answer);
}

const informant_error *informant_state_get(informant_string key, informant_optional_string *value) {
  informant_state_answer answer;
  informant_host_state_get(INFORMANT_TEXT(key), &answer);
  *value = answer.is_error ? INFORMANT_NONE : answer.value.value;
  return state_error("state.get", &answer);
}

const informant_error *informant_state_set(informant_string key, informant_string value) {
  return set_state("state.set", key, informant_some(value));
}

const informant_error *informant_state_remove(informant_string key) {
  return set_state("state.set", key, INFORMANT_NONE);
}

const informant_error *informant_state_compare_and_set(informant_string key, informant_optional_string expected,
                                                       informant_optional_string value, bool *was_set) {
  informant_state_answer answer;
  informant_host_state_compare_and_set(INFORMANT_TEXT(key), INFORMANT_OPTION(expected), INFORMANT_OPTION(value),
                                       &answer);
  *was_set = !answer.is_error && answer.value.was_set;
  return state_error("state.compare-and-set", &answer);
}

const informant_error *informant_state_keys(informant_string prefix, informant_strings *keys) {
  informant_state_answer answer;
  informant_host_state_keys(INFORMANT_TEXT(prefix), &answer);
  *keys = answer.is_error ? (informant_strings){0} : answer.value.keys;
  return state_error("state.keys", &answer);
}
