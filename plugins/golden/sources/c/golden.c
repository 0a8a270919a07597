/* The golden plugin in C: everything that informant.h has. Its twin in WebAssembly text does the same. */
#include "informant.h"

static const char descriptor[] =
    "{\"version\":\"0.1.0\",\"subscriptions\":["
    "{\"resource\":\"v1/pods\",\"delivery\":\"lazy\"}]}";

informant_result plugin_describe(informant_string config) {
  (void)config;
  return (informant_result){.text = INFORMANT_STRING(descriptor)};
}

informant_result plugin_start(informant_string config) {
  (void)config;
  return (informant_result){0};
}

static bool is(informant_string text, informant_string other) {
  if (text.len != other.len) return false;
  for (size_t i = 0; i < text.len; i++)
    if (text.data[i] != other.data[i]) return false;
  return true;
}

informant_outcome plugin_handle(const informant_event *event) {
  if (is(event->key.name, INFORMANT_STRING("fails")) && event->attempt == 1)
    return (informant_outcome){1, {INFORMANT_STRING("asked to fail"), INFORMANT_AFTER_MS, 50}};
  if (is(event->key.name, INFORMANT_STRING("gives-up")))
    return (informant_outcome){1, {INFORMANT_STRING("asked to give up"), INFORMANT_NEVER, 0}};
  informant_side side = event->change == INFORMANT_DELETED ? INFORMANT_OLD : INFORMANT_NEW;
  informant_optional_string app = informant_field(side, INFORMANT_STRING("/metadata/labels/app"));
  informant_string changed = INFORMANT_STRING("");
  if (event->change == INFORMANT_UPDATED && informant_changed(INFORMANT_STRING("/metadata/labels")))
    changed = INFORMANT_STRING(", labels changed");
  informant_string line[] = {
      INFORMANT_STRING("told "), event->key.namespace, INFORMANT_STRING("/"),
      event->key.name, INFORMANT_STRING(" of app "), app.is_some ? app.value : INFORMANT_STRING("none"),
      changed,
  };
  informant_log(INFORMANT_INFO, informant_concat(line, sizeof line / sizeof *line));
  return (informant_outcome){0};
}

void plugin_stop(void) {
  informant_log(INFORMANT_INFO, INFORMANT_STRING("stopped"));
}
