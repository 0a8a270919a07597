/* Everything that is compiled along with a plugin, in one file, so that build commands stay short: see informant.h. */
#include "informant/memory.c"
#include "informant/plugin_exports.c"

#include "informant/parts.c"
