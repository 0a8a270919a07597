/* Memory. What the host hands over and what is allocated here lives until the call into the plugin ends; then all of it
 * is free again. There is nothing to free by hand, and no malloc: what is to stay goes into variables and arrays of the
 * plugin's own, into the host's `state`, or is kept by informant_memory_keep. */
#ifndef INFORMANT_MEMORY_H
#define INFORMANT_MEMORY_H

#include "types.h"

/* Memory until the call ends, for anything; never NULL, also of size 0. Where there is no more the instance ends, and the
 * host makes a new one. */
void *informant_alloc(size_t size);

/* All that was handed over and allocated in this call until now stays for the instance's life. Meant for plugin_start and
 * for what restores: what is kept with every event is a leak. */
void informant_memory_keep(void);

/* A moment in a call, to which memory can go back: for loops over pages of a large cache. */
typedef struct {
  uintptr_t at;
} informant_mark;

informant_mark informant_memory_mark(void);

/* Frees what was handed over and allocated since the mark, but for one text (the cursor to the next page), which is
 * moved: go on with the one that is answered. */
INFORMANT_MUST_CHECK informant_string informant_memory_release(informant_mark mark, informant_string kept);

/* For the other parts. */
void informant_memory_end_call(void);

#endif
