/* Logs `hello from C: <namespace>/<name> is <phase>` for every pod event. The subscription is lazy: no object is
 * copied into the plugin, and the host looks up the one field that is wanted. */
#include "informant.h"

informant_result plugin_describe(informant_string config) {
  (void)config;
  informant_string descriptor = INFORMANT_JSON({
    "version": "0.1.0",
    "subscriptions": [{"name": "v1/pods", "resource": "v1/pods", "delivery": "lazy"}]
  });
  return (informant_result){.text = descriptor};
}

informant_result plugin_start(informant_string config) {
  (void)config;
  return INFORMANT_OK;
}

static informant_outcome handle(const informant_event *event) {
  informant_side side = event->change == INFORMANT_DELETED ? INFORMANT_OLD : INFORMANT_NEW;
  informant_optional_string phase = informant_field(side, INFORMANT_STRING("/status/phase"));
  informant_string is = phase.is_some ? phase.value : INFORMANT_STRING("without a phase");
  if (event->change == INFORMANT_DELETED) is = INFORMANT_STRING("gone");
  informant_string line[] = {
      INFORMANT_STRING("hello from C: "), event->key.namespace, INFORMANT_STRING("/"),
      event->key.name, INFORMANT_STRING(" is "), is,
  };
  informant_log(INFORMANT_INFO, informant_concat(line, sizeof line / sizeof *line));
  return INFORMANT_DONE;
}

INFORMANT_HANDLER(handle);

void plugin_stop(void) {}
