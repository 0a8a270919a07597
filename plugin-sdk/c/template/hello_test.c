/* Tests of the plugin's log lines. */
#include "informant_testing.h"

static const char pod[] = "{\"metadata\": {\"namespace\": \"default\", \"name\": \"web\"}}";

/* A failure is printed with the caller's place. */
static void check_at(informant_testing_place at, const char *config, const char *expected) {
  informant_testing_starts_at(at, config);
  informant_testing_succeeds_at(at, informant_testing_add("v1/pods", pod));
  informant_testing_succeeds_at(at, informant_testing_delete("v1/pods", pod));
  informant_testing_expect_at(at, expected);
}

#define check(...) check_at(INFORMANT_TESTING_HERE, __VA_ARGS__)

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
