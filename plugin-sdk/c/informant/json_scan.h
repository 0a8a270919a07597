/* The grammar of JSON, for json.c: each function takes the start of an element and returns its end, or NULL if the
 * text is malformed. */
#ifndef INFORMANT_JSON_SCAN_H
#define INFORMANT_JSON_SCAN_H

const char *informant_json_skip_space(const char *at, const char *end);
const char *informant_json_skip_string(const char *at, const char *end);
const char *informant_json_skip_number(const char *at, const char *end);
/* Skips a whole value with its content. */
const char *informant_json_skip_value(const char *at, const char *end);

#endif
