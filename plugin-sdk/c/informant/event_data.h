/* The objects of the present event. The host finds values in them, so that with `"delivery": "lazy"` no object is
 * copied into the plugin. Only inside a handler. */
#ifndef INFORMANT_EVENT_DATA_H
#define INFORMANT_EVENT_DATA_H

#include "types.h"

typedef enum { INFORMANT_NEW, INFORMANT_OLD } informant_side;

/* The JSON text of the value at a JSON pointer. A text has its quotes; informant_json_text removes them. */
informant_optional_string informant_field(informant_side side, informant_string pointer);

/* The text at a JSON pointer, without quotes. None if there is no text. */
informant_optional_string informant_field_text(informant_side side, informant_string pointer);

/* One JSON value for each pointer, in their order, with one call: at most 256 pointers. */
informant_optional_strings informant_fields(informant_side side, informant_strings pointers);

/* The whole object; only its metadata with the delivery `metadata`. None if there is no object on that side. */
informant_optional_string informant_object(informant_side side);

/* Whether the value at the pointer differs between the two objects. Always true if there is only one of them. */
bool informant_changed(informant_string pointer);

#endif
