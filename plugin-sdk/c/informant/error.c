/* Errors: see error.h. */
#include "error.h"

#include "memory.h"
#include "text.h"

const informant_error *informant_error_new(informant_error_kind kind, const char *operation, informant_string message) {
  informant_error *error = informant_alloc(sizeof *error);
  *error = (informant_error){.kind = kind, .operation = operation, .message = message};
  return error;
}

static informant_string kind_text(const informant_error *error) {
  switch (error->kind) {
    case INFORMANT_NOT_GRANTED: return INFORMANT_STRING("not granted");
    case INFORMANT_UNKNOWN_RESOURCE: return INFORMANT_STRING("unknown resource");
    case INFORMANT_UNKNOWN_INDEX: return INFORMANT_STRING("unknown index");
    case INFORMANT_NOT_SYNCED: return INFORMANT_STRING("not synced");
    case INFORMANT_EXPIRED: return INFORMANT_STRING("the cursor is too old; begin again without one");
    case INFORMANT_INVALID: return INFORMANT_STRING("invalid");
    case INFORMANT_NOT_LEADER: return INFORMANT_STRING("another replica of the host acts; nothing was sent");
    case INFORMANT_STATUS:
      return INFORMANT_CONCAT(INFORMANT_STRING("the API server answered "), informant_unsigned_text(error->code),
                              INFORMANT_STRING(" "), error->reason);
    case INFORMANT_TIMED_OUT: return INFORMANT_STRING("timed out");
    case INFORMANT_TOO_LARGE: return INFORMANT_STRING("too large");
    case INFORMANT_TRANSPORT: return INFORMANT_STRING("transport");
    case INFORMANT_REFUSED: return INFORMANT_STRING("refused");
  }
  return INFORMANT_STRING("refused");
}

informant_string informant_error_text(const informant_error *error) {
  informant_string between = error->message.len ? INFORMANT_STRING(": ") : INFORMANT_STRING("");
  return INFORMANT_CONCAT(informant_text(error->operation), INFORMANT_STRING(": "), kind_text(error), between,
                          error->message);
}
