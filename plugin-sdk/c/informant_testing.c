/* The SDK and the test's host for tests without WebAssembly, in one file: see informant_testing.h. */
#include "testing/host.h"

#include "informant/parts.c"

#include "testing/cache.c"
#include "testing/lists.c"

#include "testing/stores.c"
#include "testing/queue.c"
#include "testing/series.c"

#include "testing/calls.c"
#include "testing/journal.c"
#include "testing/memory.c"
#include "testing/outside.c"
