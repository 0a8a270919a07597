/* A writer of JSON. It adds commas and escapes. Every object and array must be ended, and each member needs a name.
 * Begin with a writer of zeros:
 *
 *   informant_writer patch = {0};
 *   informant_write_object(&patch);
 *   informant_write_name(&patch, INFORMANT_STRING("replicas"));
 *   informant_write_integer(&patch, 3);
 *   informant_write_end_object(&patch);
 *   informant_string json = informant_written(&patch);
 */
#ifndef INFORMANT_JSON_WRITE_H
#define INFORMANT_JSON_WRITE_H

#include "types.h"

typedef struct {
  char *data;
  size_t len, capacity;
  bool needs_comma;
} informant_writer;

void informant_write_object(informant_writer *writer);
void informant_write_end_object(informant_writer *writer);
void informant_write_array(informant_writer *writer);
void informant_write_end_array(informant_writer *writer);
void informant_write_name(informant_writer *writer, informant_string name);

/* Quoted and escaped. Invalid UTF-8 becomes U+FFFD. */
void informant_write_text(informant_writer *writer, informant_string text);
void informant_write_integer(informant_writer *writer, int64_t number);
void informant_write_unsigned(informant_writer *writer, uint64_t number);
void informant_write_boolean(informant_writer *writer, bool is);
void informant_write_null(informant_writer *writer);

/* A value that is already JSON. */
void informant_write_json(informant_writer *writer, informant_string json);

/* The written JSON, in memory of informant_alloc. */
informant_string informant_written(const informant_writer *writer);

/* A single text, quoted and escaped. */
informant_string informant_json_quoted(informant_string text);

#endif
