/* For json.c: strings of JSON without their quotes and escapes. */
#ifndef INFORMANT_JSON_TEXT_H
#define INFORMANT_JSON_TEXT_H

#include "types.h"

/* Decodes a valid string with its quotes. */
informant_string informant_json_unquoted(informant_string quoted);

#endif
