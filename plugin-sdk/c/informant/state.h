/* A small store for the plugin. It outlives reloads, and also restarts with a state directory; shards of one plugin
 * share it. Handlers, reconcilers and timers may write it, and all calls except plugin_describe may read it. A call
 * sees its own writes; if it fails, they are dropped. Keys have 1 to 512 bytes. Writes above 1,000 keys or 1 MiB
 * are refused. Errors are INFORMANT_REFUSED. */
#ifndef INFORMANT_STATE_H
#define INFORMANT_STATE_H

#include "error.h"

/* The value of the key, any bytes. None if there is none. */
INFORMANT_MUST_CHECK const informant_error *informant_state_get(informant_string key, informant_optional_string *value);

/* Sets the value of the key. */
INFORMANT_MUST_CHECK const informant_error *informant_state_set(informant_string key, informant_string value);

INFORMANT_MUST_CHECK const informant_error *informant_state_remove(informant_string key);

/* Sets the value if the present one is as expected, where INFORMANT_NONE means no value. Returns whether it was. */
INFORMANT_MUST_CHECK const informant_error *informant_state_compare_and_set(informant_string key,
                                                                            informant_optional_string expected,
                                                                            informant_optional_string value,
                                                                            bool *was_set);

/* The keys with this prefix, sorted. */
INFORMANT_MUST_CHECK const informant_error *informant_state_keys(informant_string prefix, informant_strings *keys);

#endif
