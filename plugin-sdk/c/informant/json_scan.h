/* The grammar of JSON, for json.c: each function is given where something begins, and says where it ends; NULL if the
 * text is malformed. */
#ifndef INFORMANT_JSON_SCAN_H
#define INFORMANT_JSON_SCAN_H

const char *informant_json_skip_space(const char *at, const char *end);
const char *informant_json_skip_string(const char *at, const char *end);
const char *informant_json_skip_number(const char *at, const char *end);
/* A whole value, with all that is in it. */
const char *informant_json_skip_value(const char *at, const char *end);

#endif
