/* The interface `host-info`: see host_info.h. */
#include "host_info.h"

#include "import.h"

INFORMANT_IMPORT("host-info", "is-leader")
int32_t informant_host_is_leader(void);
INFORMANT_IMPORT("host-info", "plugin-name")
void informant_host_plugin_name(informant_string *answer);
INFORMANT_IMPORT("host-info", "shard")
void informant_host_shard(informant_shard_number *answer);
INFORMANT_IMPORT("host-info", "host-version")
void informant_host_host_version(informant_string *answer);

bool informant_is_leader(void) {
  return informant_host_is_leader();
}

informant_string informant_plugin_name(void) {
  informant_string answer;
  informant_host_plugin_name(&answer);
  return answer;
}

informant_shard_number informant_shard(void) {
  informant_shard_number answer;
  informant_host_shard(&answer);
  return answer;
}

informant_string informant_host_version(void) {
  informant_string answer;
  informant_host_host_version(&answer);
  return answer;
}
