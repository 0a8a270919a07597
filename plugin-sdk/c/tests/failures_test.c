/* The messages and places of failures. Each runs in its own process, because some failures end the test. */
#define _POSIX_C_SOURCE 200809L

#include "plugin_under_test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define IN_WORDS(number) #number
#define LINE(number) IN_WORDS(number)
#define A_POD POD("a", "b", "c")
#define HERE "failures_test.c:" LINE(__LINE__) ": "

typedef struct {
  pid_t child;
  int output;
} run;

/* Starts a process and reads its standard error. */
static run begin(void) {
  int ends[2];
  fflush(NULL);
  if (pipe(ends)) abort();
  run begun = {fork(), ends[0]};
  if (begun.child < 0) abort();
  if (begun.child == 0 && dup2(ends[1], STDERR_FILENO) < 0) abort();
  close(ends[1]);
  return begun;
}

static void ends_with(informant_testing_place at, run begun, int code, const char *expected) {
  char said[4096];
  size_t len = 0;
  ssize_t more;
  int status = -1;
  while (len < sizeof said && (more = read(begun.output, said + len, sizeof said - len)) > 0) len += (size_t)more;
  close(begun.output);
  if (waitpid(begun.child, &status, 0) < 0) abort();
  informant_testing_same_at(at, "what is said", (informant_string){said, len}, expected);
  informant_testing_is_at(at, "the exit code", WIFEXITED(status) && WEXITSTATUS(status) == code);
}

/* The message of a call, after the call's place: code 1 is a failure, and 2 the end of the test. The call is on one
 * line, because compilers differ in the line number of a call on several lines. */
#define CHECK(call, code, says)                                                                      \
  do {                                                                                               \
    run begun = begin();                                                                             \
    if (begun.child == 0) {                                                                          \
      call;                                                                                          \
      exit(informant_testing_end());                                                                 \
    }                                                                                                \
    ends_with(INFORMANT_TESTING_HERE, begun, code, HERE says);                                       \
  } while (0)

static informant_outcome fails(const informant_event *event) {
  (void)event;
  return informant_fail(TEXT("it fails"));
}

static informant_outcome says_bytes(const informant_event *event) {
  (void)event;
  informant_log(INFORMANT_INFO, TEXT("\xff"));
  return INFORMANT_DONE;
}

#define REFUSED_OTHERWISE "what the plugin refuses with is\nnothing is asked for\nand expected was\nno\n1 failed\n"
#define NOT_SUBSCRIBED "the plugin does not subscribe to: v1/jobs; it does to v1/pods, v1/nodes, v1/services, v1/configmaps, v1/endpoints\n"
#define NO_UTF8 "a text that is not UTF-8 would end the instance; informant_utf8 makes one of it: \xff\n"

int main(void) {
  CHECK(informant_testing_is("it", false), 1, "it is not so: it\n1 failed\n");
  CHECK(informant_testing_same("it", TEXT("a"), "b"), 1, "it is\na\nand expected was\nb\n1 failed\n");
  CHECK(informant_testing_fails(INFORMANT_DONE, "no"), 1, "the call succeeded, and was to fail: no\n1 failed\n");
  CHECK(informant_testing_fails(informant_fail(TEXT("a")), "b"), 1, "the failure is\na\nand expected was\nb\n1 failed\n");
  CHECK(informant_testing_expect("it\n"), 1, "the plugin did\nand expected was\nit\n1 failed\n");
  CHECK(informant_testing_starts("nothing"), 1, "the plugin does not start: nothing is asked for\n1 failed\n");
  CHECK(informant_testing_refuses("", "no"), 1, "the plugin starts, and was to refuse: no\n1 failed\n");
  CHECK(informant_testing_refuses("nothing", "no"), 1, REFUSED_OTHERWISE);
  CHECK(informant_testing_reconcile(), 1, "there is nothing to reconcile: no key waits\n1 failed\n");
  handler = fails;
  informant_testing_starts("");
  CHECK(informant_testing_succeeds(informant_testing_add("v1/pods", A_POD)), 1, "the call failed: it fails\n1 failed\n");
  CHECK(informant_testing_add("v1/jobs", A_POD), 2, NOT_SUBSCRIBED);
  CHECK(informant_testing_fire("daily", 0), 2, "the plugin has no schedule: daily; it has hourly\n");
  CHECK(informant_testing_put("v1/pods", "{"), 2, "an object is no JSON: {\n");
  CHECK(informant_testing_enqueue(""), 2, "keys have 1 to 512 bytes, and this has not: \n");
  handler = says_bytes;
  CHECK(informant_testing_add("v1/pods", A_POD), 2, NO_UTF8);
  return informant_testing_end();
}
