/* What the plugin says of pods. */
#include "informant_testing.h"

static const char pod[] = "{\"metadata\": {\"namespace\": \"default\", \"name\": \"web\"}}";

static void check(const char *config, const char *expected) {
  informant_testing_starts(config);
  informant_testing_succeeds(informant_testing_add("v1/pods", pod));
  informant_testing_succeeds(informant_testing_delete("v1/pods", pod));
  informant_testing_expect(expected);
}

int main(void) {
  check("{\"greeting\": \"good morning\"}",
        "info good morning change=added pod=default/web\n"
        "info good morning change=deleted pod=default/web\n");
  check(NULL,
        "info hello change=added pod=default/web\n"
        "info hello change=deleted pod=default/web\n");
  informant_testing_refuses("{\"greeting\": 1}",
                            "the configuration's greeting does not fit: all it takes is a text, greeting");
  informant_testing_refuses("7", "the configuration is no object");
  return informant_testing_end();
}
