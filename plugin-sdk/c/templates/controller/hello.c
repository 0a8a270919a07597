/* Warns of Deployments with unavailable replicas, again every 30 s. */
#include "informant.h"

#define DEPLOYMENTS INFORMANT_STRING("apps/v1/deployments")
#define AGAIN_MS 30000

informant_result plugin_describe(informant_string config) {
  (void)config;
  /* The host makes a key of every change: the namespace and name of the Deployment. */
  informant_string descriptor = INFORMANT_JSON({
    "version": "0.1.0",
    "subscriptions": [{"resource": "apps/v1/deployments", "enqueue": ["self"]}]
  });
  return (informant_result){.text = descriptor};
}

informant_result plugin_start(informant_string config) {
  (void)config;
  return INFORMANT_OK;
}

static informant_outcome reconcile(informant_string key, uint32_t attempt, informant_optional_u64 *again_after_ms) {
  (void)attempt;
  informant_optional_string found;
  const informant_error *error = informant_indexer_get(DEPLOYMENTS, informant_key(key), &found);
  if (error) return informant_failed(error);
  if (!found.is_some) return INFORMANT_DONE; /* it is deleted */
  int64_t wanted = 0, available = 0;
  if (informant_json_find_integer(found.value, INFORMANT_STRING("/spec/replicas"), &wanted) != INFORMANT_JSON_FOUND)
    return informant_give_up(INFORMANT_STRING("a Deployment without replicas"));
  if (informant_json_find_integer(found.value, INFORMANT_STRING("/status/availableReplicas"), &available) == INFORMANT_JSON_OTHER)
    return informant_give_up(INFORMANT_STRING("availableReplicas is no number"));
  if (available >= wanted) return INFORMANT_DONE;
  informant_string of = INFORMANT_CONCAT(informant_unsigned_text((uint64_t)available), INFORMANT_STRING(" of "),
                                         informant_unsigned_text((uint64_t)wanted));
  informant_log_with(INFORMANT_WARN, INFORMANT_STRING("replicas are unavailable"),
                     INFORMANT_PAIRS(INFORMANT_PAIR("deployment", key), INFORMANT_PAIR("available", of)));
  *again_after_ms = (informant_optional_u64){1, AGAIN_MS};
  return INFORMANT_DONE;
}

INFORMANT_RECONCILER(reconcile);

void plugin_stop(void) {}
