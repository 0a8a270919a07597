/* Greets every pod. */
#include "informant.h"

static informant_string greeting;

informant_result plugin_describe(informant_string config) {
  (void)config;
  informant_string descriptor = INFORMANT_JSON({
    "version": "0.1.0",
    "subscriptions": [{"resource": "v1/pods", "delivery": "lazy"}]
  });
  return (informant_result){.text = descriptor};
}

informant_result plugin_start(informant_string config) {
  greeting = INFORMANT_STRING("hello");
  informant_json_walk settings = informant_json_walk_of(config.len ? config : INFORMANT_STRING("{}"));
  while (informant_json_next(&settings)) {
    bool is_greeting = informant_equal(settings.name, INFORMANT_STRING("greeting"));
    if (!is_greeting || informant_json_text(settings.value, &greeting) != INFORMANT_JSON_FOUND)
      return informant_refuse(INFORMANT_CONCAT(INFORMANT_STRING("the configuration's "), settings.name,
                                               INFORMANT_STRING(" does not fit: all it takes is a text, greeting")));
  }
  if (settings.answer != INFORMANT_JSON_FOUND) return informant_refuse(INFORMANT_STRING("the configuration is no object"));
  informant_memory_keep();
  return INFORMANT_OK;
}

static informant_outcome handle(const informant_event *event) {
  informant_log_with(INFORMANT_INFO, greeting,
                     INFORMANT_PAIRS(INFORMANT_PAIR("change", informant_change_text(event->change)),
                                     INFORMANT_PAIR("pod", informant_key_text(event->key))));
  return INFORMANT_DONE;
}

INFORMANT_HANDLER(handle);

void plugin_stop(void) {}
