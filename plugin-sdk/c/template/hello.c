/* Greets every pod. The subscription is lazy: no object is copied into the plugin, and the host looks up the one field
 * that is wanted. */
#include "informant.h"

static const char descriptor[] =
    "{\"version\":\"0.1.0\",\"subscriptions\":["
    "{\"name\":\"v1/pods\",\"resource\":\"v1/pods\",\"delivery\":\"lazy\"}]}";

informant_result plugin_describe(informant_string config) {
  (void)config;
  return (informant_result){.text = INFORMANT_STRING(descriptor)};
}

informant_result plugin_start(informant_string config) {
  (void)config;
  return (informant_result){0};
}

static informant_string phase(const informant_event *event) {
  if (event->change == INFORMANT_DELETED) return INFORMANT_STRING("gone");
  informant_optional_string phase = informant_field(INFORMANT_NEW, INFORMANT_STRING("/status/phase"));
  return phase.is_some ? phase.value : INFORMANT_STRING("without a phase");
}

informant_outcome plugin_handle(const informant_event *event) {
  informant_string line[] = {
      INFORMANT_STRING("hello: pod "), event->key.namespace, INFORMANT_STRING("/"), event->key.name,
      INFORMANT_STRING(" is "),        phase(event),
  };
  informant_log(INFORMANT_INFO, informant_concat(line, sizeof line / sizeof *line));
  return (informant_outcome){0};
}

void plugin_stop(void) {}
