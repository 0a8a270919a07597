/* The functions that every plugin needs, for tests of parts without a plugin. */
#ifndef NO_PLUGIN_H
#define NO_PLUGIN_H

#include "informant_testing.h"

informant_result plugin_describe(informant_string config) {
  (void)config;
  return (informant_result){.text = INFORMANT_STRING("{}")};
}

informant_result plugin_start(informant_string config) {
  (void)config;
  return INFORMANT_OK;
}

void plugin_stop(void) {}

#endif
