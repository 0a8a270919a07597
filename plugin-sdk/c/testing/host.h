/* What the parts of the tests' host share. */
#ifndef INFORMANT_TESTING_HOST_H
#define INFORMANT_TESTING_HOST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../informant_testing.h"

/* Where in the test the call stands that is under way; all zero between calls. */
extern informant_testing_place testing_at;

/* What would end the instance, and what the test itself does wrong: it ends here. */
_Noreturn void testing_ends(const char *what, informant_string which);

/* A copy of the test's own, terminated by a zero. */
char *testing_copy(informant_string text);
void *testing_memory(void *old, size_t size);

/* A line of what the plugin did. */
void testing_line(const informant_string *parts, size_t count);
#define TESTING_LINE(...)                                  \
  testing_line((const informant_string[]){__VA_ARGS__},    \
               sizeof((const informant_string[]){__VA_ARGS__}) / sizeof(informant_string))

/* A text from the plugin: one that is not UTF-8 ends the instance. */
informant_string testing_text(const char *data, size_t len);
/* Pairs as ` name=value name=value`. */
informant_string testing_pairs(const informant_pair *items, size_t count);
void testing_failure(informant_testing_place at, const char *what, informant_string which);

/* The call that the plugin is in. */
typedef enum { TESTING_NONE, TESTING_DESCRIBE, TESTING_START, TESTING_WORK, TESTING_SYNCED, TESTING_CARRY } testing_call;
extern testing_call testing_in;

/* The descriptor: a list of it, and whether an entry of that has this text. */
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

/* What the state was before a call, to go back to. */
void testing_state_begin(void);
void testing_state_end(bool is_kept);

/* The key that has waited longest: terminated by a zero, for who asks to free; NULL if none does. */
char *testing_next_key(void);

#endif
