/* Tests of the count. */
#include <stdio.h>

#include "informant_testing.h"

#define POD(NAME, PHASE) "{\"metadata\": {\"namespace\": \"shop\", \"name\": \"" NAME "\"}, \"status\": {\"phase\": \"" PHASE "\"}}"

/* The host's pages have 500 pods. */
static void pods_of_several_pages_are_counted(void) {
  informant_testing_starts(NULL);
  for (int number = 0; number < 1001; number++) {
    char pod[128];
    snprintf(pod, sizeof(pod), POD("web-%d", "Pending"), number);
    informant_testing_put("v1/pods", pod);
  }
  informant_testing_succeeds(informant_testing_fire("minute", 0));
  informant_testing_expect("info pending pods count=1001\n");
}

int main(void) {
  informant_testing_starts(NULL);
  informant_testing_put("v1/pods", POD("a", "Pending"));
  informant_testing_put("v1/pods", POD("b", "Running"));
  informant_testing_put("v1/pods", POD("c", "Pending"));
  informant_testing_succeeds(informant_testing_fire("minute", 0));
  informant_testing_expect("info pending pods count=2\n");
  pods_of_several_pages_are_counted();
  return informant_testing_end();
}
