/* Who and where the plugin is. Everywhere, also in plugin_describe. */
#ifndef INFORMANT_HOST_INFO_H
#define INFORMANT_HOST_INFO_H

#include "types.h"

/* Whether this host is the one that runs the plugins and writes. Where no hosts are elected it always is. */
bool informant_is_leader(void);

/* The plugin file's name without `.wasm`. */
informant_string informant_plugin_name(void);

/* This instance's number, from 0, and how many there are. */
typedef struct {
  uint32_t number, count;
} informant_shard_number;

informant_shard_number informant_shard(void);

/* The version of the host's program. */
informant_string informant_host_version(void);

#endif
