/* The results of plugins: see plugin.h. */
#include "plugin.h"

#include "import.h"

INFORMANT_LAYOUT(offsetof(informant_event, key) == 16 && offsetof(informant_event, has_gone) == 48);
INFORMANT_LAYOUT(offsetof(informant_event, coalesced) == 52 && offsetof(informant_event, object) == 60);
INFORMANT_LAYOUT(offsetof(informant_event, old) == 72 && sizeof(informant_event) == 88);
INFORMANT_LAYOUT(offsetof(informant_outcome, failure) == 8 && offsetof(informant_failure, retry) == 8);
INFORMANT_LAYOUT(offsetof(informant_failure, after_ms) == 16 && sizeof(informant_failure) == 24);

informant_string informant_change_text(uint8_t change) {
  switch (change) {
    case INFORMANT_ADDED: return INFORMANT_STRING("added");
    case INFORMANT_UPDATED: return INFORMANT_STRING("updated");
    default: return INFORMANT_STRING("deleted");
  }
}

informant_string informant_reason_text(uint8_t reason) {
  switch (reason) {
    case INFORMANT_INITIAL: return INFORMANT_STRING("initial");
    case INFORMANT_WATCH: return INFORMANT_STRING("watch");
    case INFORMANT_RELIST: return INFORMANT_STRING("relist");
    case INFORMANT_RESYNC: return INFORMANT_STRING("resync");
    case INFORMANT_RELOAD: return INFORMANT_STRING("reload");
    default: return INFORMANT_STRING("redrive");
  }
}

informant_string informant_gone_text(uint8_t gone) {
  switch (gone) {
    case INFORMANT_GONE_DELETED: return INFORMANT_STRING("deleted");
    case INFORMANT_LEFT_VIEW: return INFORMANT_STRING("left-view");
    default: return INFORMANT_STRING("unknown");
  }
}

informant_result informant_refuse(informant_string message) {
  return (informant_result){1, message};
}

informant_result informant_refused(const informant_error *error) {
  return informant_refuse(informant_error_text(error));
}

informant_outcome informant_fail(informant_string message) {
  return (informant_outcome){1, {message, INFORMANT_BACKOFF, 0}};
}

informant_outcome informant_fail_after(informant_string message, uint64_t ms) {
  return (informant_outcome){1, {message, INFORMANT_AFTER_MS, ms}};
}

informant_outcome informant_give_up(informant_string message) {
  return (informant_outcome){1, {message, INFORMANT_NEVER, 0}};
}

informant_outcome informant_failed(const informant_error *error) {
  informant_string message = informant_error_text(error);
  if (!error->retry_after_ms.is_some) return informant_fail(message);
  return informant_fail_after(message, error->retry_after_ms.value);
}
