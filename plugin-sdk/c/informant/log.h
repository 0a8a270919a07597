/* Lines in the host's log. The host adds the plugin's name, and the object, key or schedule of the call. A message
 * has up to 16 KiB, and the fields of a line have up to 16 KiB together. Texts are UTF-8: see informant_utf8. */
#ifndef INFORMANT_LOG_H
#define INFORMANT_LOG_H

#include "types.h"

typedef enum {
  INFORMANT_TRACE,
  INFORMANT_DEBUG,
  INFORMANT_INFO,
  INFORMANT_WARN,
  INFORMANT_ERROR
} informant_level;

/* Whether lines of this level are written. Check it before you build an expensive line. */
bool informant_log_enabled(informant_level level);

/* One line. */
void informant_log(informant_level level, informant_string message);

/* One line with fields: informant_log_with(INFORMANT_INFO, message, INFORMANT_PAIRS(INFORMANT_PAIR("pod", name))). */
void informant_log_with(informant_level level, informant_string message, informant_pairs fields);

/* For impossible cases: logs the message, which becomes the text of the event's failure, and ends the instance with
 * a trap. The event comes again, to a new instance. In a test it ends the program. */
_Noreturn void informant_panic(informant_string message);

#endif
