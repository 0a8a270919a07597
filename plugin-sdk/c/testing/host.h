/* Declarations that the parts of the tests' host share. */
#ifndef INFORMANT_TESTING_HOST_H
#define INFORMANT_TESTING_HOST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../informant_testing.h"

/* The place of the present call in the test; all zeros between calls. */
extern informant_testing_place testing_at;

/* Ends the test, for errors that would end the instance, and for mistakes of the test itself. */
_Noreturn void testing_ends(const char *what, informant_string which);

/* A copy for the test, with a zero at the end. */
char *testing_copy(informant_string text);
void *testing_memory(void *old, size_t size);

/* Adds a line to the plugin's actions. */
void testing_line(const informant_string *parts, size_t count);
#define TESTING_LINE(...)                                  \
  testing_line((const informant_string[]){__VA_ARGS__},    \
               sizeof((const informant_string[]){__VA_ARGS__}) / sizeof(informant_string))

/* A text from the plugin. A text that is not UTF-8 ends the instance. */
informant_string testing_text(const char *data, size_t len);
/* Pairs as ` name=value name=value`. */
informant_string testing_pairs(const informant_pair *items, size_t count);
void testing_failure(informant_testing_place at, const char *what, informant_string which);

/* The present call of the plugin. */
typedef enum { TESTING_NONE, TESTING_DESCRIBE, TESTING_START, TESTING_WORK, TESTING_SYNCED, TESTING_CARRY } testing_call;
extern testing_call testing_in;

/* A list of the descriptor, and whether one of its entries has this text. */
informant_json_walk testing_descriptor(const char *list);
bool testing_has(informant_string entry, const char *name, informant_string text);
void testing_describe(informant_string descriptor);

void testing_forget_cache(void);
void testing_forget_stores(void);
void testing_forget_answers(void);
void testing_forget_lines(void);
void testing_forget_memory(void);
void testing_set_event(const char *new_object, const char *old_object);
informant_object_key testing_key_of(const char *object);

/* Saves the state before a call, for a failure. */
void testing_state_begin(void);
void testing_state_end(bool is_kept);

/* The key that has waited longest, with a zero at the end; the caller frees it. NULL if there is none. */
char *testing_next_key(void);

#endif
