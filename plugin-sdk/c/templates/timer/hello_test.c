/* Tests of the count. */
#include "informant_testing.h"

#define POD(NAME, PHASE) "{\"metadata\": {\"namespace\": \"shop\", \"name\": \"" NAME "\"}, \"status\": {\"phase\": \"" PHASE "\"}}"

int main(void) {
  informant_testing_starts(NULL);
  informant_testing_put("v1/pods", POD("a", "Pending"));
  informant_testing_put("v1/pods", POD("b", "Running"));
  informant_testing_put("v1/pods", POD("c", "Pending"));
  informant_testing_succeeds(informant_testing_fire("minute", 0));
  informant_testing_expect("info pending pods count=2\n");
  return informant_testing_end();
}
