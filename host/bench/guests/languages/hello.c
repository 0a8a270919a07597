/* Says each pod's phase. */
#include "informant.h"

informant_result plugin_describe(informant_string config) {
  (void)config;
  return (informant_result){.text = INFORMANT_JSON({"version": "0.1.0", "subscriptions": [{"resource": "v1/pods"}]})};
}

informant_result plugin_start(informant_string config) {
  (void)config;
  return INFORMANT_OK;
}

static informant_outcome handle(const informant_event *event) {
  informant_string phase = {0};
  informant_json_answer answer = informant_json_find_text(event->object.value, INFORMANT_STRING("/status/phase"), &phase);
  if (answer == INFORMANT_JSON_MALFORMED) return informant_give_up(INFORMANT_STRING("the pod is no JSON"));
  informant_log(INFORMANT_INFO,
                INFORMANT_CONCAT(INFORMANT_STRING("hello: pod "), informant_key_text(event->key), INFORMANT_STRING(" is "), phase));
  return INFORMANT_DONE;
}

INFORMANT_HANDLER(handle);

void plugin_stop(void) {}
