/* The interface `event-data`: see event_data.h. */
#include "event_data.h"

#include "import.h"
#include "json.h"

INFORMANT_IMPORT("event-data", "json")
void informant_host_event_json(int32_t side, informant_optional_string *answer);
INFORMANT_IMPORT("event-data", "fields")
void informant_host_event_fields(int32_t side, const informant_string *pointers, size_t count,
                                 informant_optional_strings *answer);
INFORMANT_IMPORT("event-data", "changed")
int32_t informant_host_event_changed(const char *pointer, size_t len);

informant_optional_string informant_field(informant_side side, informant_string pointer) {
  informant_optional_strings answer = informant_fields(side, (informant_strings){&pointer, 1});
  return answer.count ? answer.items[0] : INFORMANT_NONE;
}

informant_optional_string informant_field_text(informant_side side, informant_string pointer) {
  informant_optional_string field = informant_field(side, pointer);
  if (!field.is_some || informant_json_text(field.value, &field.value) != INFORMANT_JSON_FOUND) return INFORMANT_NONE;
  return field;
}

informant_optional_strings informant_fields(informant_side side, informant_strings pointers) {
  informant_optional_strings answer;
  informant_host_event_fields((int32_t)side, pointers.items, pointers.count, &answer);
  return answer;
}

informant_optional_string informant_object(informant_side side) {
  informant_optional_string answer;
  informant_host_event_json((int32_t)side, &answer);
  return answer;
}

bool informant_changed(informant_string pointer) {
  return informant_host_event_changed(INFORMANT_TEXT(pointer));
}
