/* What the plugin says of pods. */
#include "informant_testing.h"

static void check(informant_change change, const char *phase, const char *expect) {
  informant_testing_begin();
  if (phase) informant_testing_set(INFORMANT_NEW, "/status/phase", phase);
  informant_event event = {
      .change = change,
      .key = {INFORMANT_STRING("default"), INFORMANT_STRING("web")},
  };
  informant_testing_succeeds(plugin_handle(&event));
  informant_testing_expect(expect);
}

int main(void) {
  check(INFORMANT_ADDED, "\"Running\"", "info hello: pod default/web is \"Running\"\n");
  check(INFORMANT_UPDATED, NULL, "info hello: pod default/web is without a phase\n");
  check(INFORMANT_DELETED, NULL, "info hello: pod default/web is gone\n");
  return informant_testing_end();
}
