/* Facts about the host and this instance. Available in every call, also in plugin_describe. */
#ifndef INFORMANT_HOST_INFO_H
#define INFORMANT_HOST_INFO_H

#include "types.h"

/* Whether this host leads. Always true without an election. */
bool informant_is_leader(void);

/* The plugin file's name without `.wasm`. */
informant_string informant_plugin_name(void);

/* This instance's number, from 0, and the number of instances. */
typedef struct {
  uint32_t number, count;
} informant_shard_number;

informant_shard_number informant_shard(void);

/* The version of the host's program. */
informant_string informant_host_version(void);

#endif
