/* The objects of the event that is being handled. The host finds values in them, so that with `"delivery": "lazy"` no
 * object is copied into the plugin. Only inside a handler. */
#ifndef INFORMANT_EVENT_DATA_H
#define INFORMANT_EVENT_DATA_H

#include "types.h"

typedef enum { INFORMANT_NEW, INFORMANT_OLD } informant_side;

/* The JSON text of the value at a JSON pointer: of a text with its quotes (informant_json_text takes them off). */
informant_optional_string informant_field(informant_side side, informant_string pointer);

/* The text at a JSON pointer, without quotes; none where there is nothing, or no text. */
informant_optional_string informant_field_text(informant_side side, informant_string pointer);

/* One JSON value for each pointer, in their order, as one question: at most 256. */
informant_optional_strings informant_fields(informant_side side, informant_strings pointers);

/* The whole object, whatever was delivered; none where there is none on that side. */
informant_optional_string informant_object(informant_side side);

/* Whether the value at the pointer differs between the two; always, where there is only one of them. */
bool informant_changed(informant_string pointer);

#endif
