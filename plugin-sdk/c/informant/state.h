/* A small store of the plugin's own that outlives reloads, and restarts where a state directory is configured; shards of
 * one plugin share it. It is written in handlers, reconcilers and timers, and read everywhere but in plugin_describe. A call
 * sees what it wrote; if it fails, nothing of that was ever there. Keys have 1 to 512 bytes; above 1,000 keys or 1 MiB
 * writing is refused. Errors are INFORMANT_REFUSED. */
#ifndef INFORMANT_STATE_H
#define INFORMANT_STATE_H

#include "error.h"

/* What is kept under the key, any bytes; none if nothing is. */
INFORMANT_MUST_CHECK const informant_error *informant_state_get(informant_string key, informant_optional_string *value);

/* Keeps a value under the key, in the place of the one before. */
INFORMANT_MUST_CHECK const informant_error *informant_state_set(informant_string key, informant_string value);

INFORMANT_MUST_CHECK const informant_error *informant_state_remove(informant_string key);

/* Sets if the value is as expected, where INFORMANT_NONE is no value, and says whether it was. */
INFORMANT_MUST_CHECK const informant_error *informant_state_compare_and_set(informant_string key,
                                                                            informant_optional_string expected,
                                                                            informant_optional_string value,
                                                                            bool *was_set);

/* The keys that begin so, sorted. */
INFORMANT_MUST_CHECK const informant_error *informant_state_keys(informant_string prefix, informant_strings *keys);

#endif
