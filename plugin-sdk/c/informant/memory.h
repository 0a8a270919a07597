/* Memory. Arguments of the host and allocated memory live until the call into the plugin ends; then all of it is
 * free again. There is no free and no malloc. Values that stay belong into the plugin's own variables and arrays,
 * into the host's `state`, or into memory that informant_memory_keep keeps. */
#ifndef INFORMANT_MEMORY_H
#define INFORMANT_MEMORY_H

#include "types.h"

/* Allocates memory until the call ends. Never NULL, also for size 0. If there is no more memory the instance ends,
 * and the host makes a new one. */
void *informant_alloc(size_t size);

/* Keeps all memory of this call so far for the instance's life. For plugin_start and for a restore: if every event
 * keeps memory, it is a leak. */
void informant_memory_keep(void);

/* A point in a call, for the release of later memory: for loops over pages of a large cache. */
typedef struct {
  uintptr_t at;
} informant_mark;

informant_mark informant_memory_mark(void);

/* Frees all memory since the mark, except for one text (the cursor of the next page). The text is moved: continue
 * with the returned one. */
INFORMANT_MUST_CHECK informant_string informant_memory_release(informant_mark mark, informant_string kept);

/* For the other parts. */
void informant_memory_end_call(void);

#endif
