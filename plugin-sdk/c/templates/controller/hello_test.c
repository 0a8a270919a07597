/* Tests of the warnings. */
#include "informant_testing.h"

#define DEPLOYMENTS "apps/v1/deployments"
#define WEB(AVAILABLE)                                                             \
  "{\"metadata\": {\"namespace\": \"shop\", \"name\": \"web\"}, "                  \
  "\"spec\": {\"replicas\": 3}, \"status\": {\"availableReplicas\": " AVAILABLE "}}"

int main(void) {
  informant_testing_starts(NULL);
  informant_testing_succeeds(informant_testing_add(DEPLOYMENTS, WEB("1")));
  informant_testing_succeeds(informant_testing_reconcile());
  informant_testing_expect("warn replicas are unavailable deployment=shop/web available=1 of 3\n");
  /* The key comes again. */
  informant_testing_put(DEPLOYMENTS, WEB("3"));
  informant_testing_succeeds(informant_testing_reconcile());
  informant_testing_succeeds(informant_testing_delete(DEPLOYMENTS, WEB("3")));
  informant_testing_succeeds(informant_testing_reconcile());
  informant_testing_expect("");
  informant_testing_is("all is done", informant_testing_keys()[0] == 0);
  return informant_testing_end();
}
