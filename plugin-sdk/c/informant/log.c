/* The interface `log`: see log.h. */
#include "log.h"

#include "import.h"

INFORMANT_IMPORT("log", "enabled")
int32_t informant_host_log_enabled(int32_t level);
INFORMANT_IMPORT("log", "log")
void informant_host_log(int32_t level, const char *message, size_t len, const informant_pair *fields, size_t count);

bool informant_log_enabled(informant_level level) {
  return informant_host_log_enabled((int32_t)level);
}

void informant_log(informant_level level, informant_string message) {
  informant_log_with(level, message, INFORMANT_NO_PAIRS);
}

void informant_log_with(informant_level level, informant_string message, informant_pairs fields) {
  informant_host_log((int32_t)level, INFORMANT_TEXT(message), fields.items, fields.count);
}

_Noreturn void informant_panic(informant_string message) {
  informant_log(INFORMANT_ERROR, message);
  __builtin_trap();
}
