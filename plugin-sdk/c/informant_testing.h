/* Tests of plugins in C without WebAssembly: compile informant_testing.c along instead of informant.c, with any C
 * compiler. The test calls plugin_handle and the others as the host does, and this stands in for the host. */
#ifndef INFORMANT_TESTING_H
#define INFORMANT_TESTING_H

#include "informant.h"

/* Forgets what was set and logged, and gives back all memory of informant_alloc, as the end of a call does. */
void informant_testing_begin(void);

/* The JSON at a pointer of the event's object. informant_changed says whether both sides have the same there. The texts are not
 * copied; up to INFORMANT_TESTING_FIELDS_MAX of them. */
#define INFORMANT_TESTING_FIELDS_MAX 64
void informant_testing_set(informant_side side, const char *pointer, const char *json);

/* What was logged since: lines such as "info text\n". */
const char *informant_testing_log(void);

/* These two say what is wrong on the standard error, and count it. */
void informant_testing_expect(const char *log);
void informant_testing_succeeds(informant_outcome outcome);

/* 0 if nothing was wrong: what main returns. */
int informant_testing_end(void);

#endif
