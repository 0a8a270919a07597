/* Informant plugins in C: include this header, and compile informant.c along. Freestanding: no libc, no WASI, no
 * bindings generator. It covers the whole contract (plugin-sdk/wit/plugin.wit) and uses its words. Unused parts are
 * not in the plugin's file. Each part has its own header, which is its reference. */
#ifndef INFORMANT_H
#define INFORMANT_H

#include "informant/types.h"  /* texts, pairs, keys; INFORMANT_STRING, INFORMANT_JSON */
#include "informant/plugin.h" /* what the host calls: plugin_describe, INFORMANT_HANDLER and its like; outcomes */
#include "informant/error.h"  /* what the host's functions answer that went wrong */
#include "informant/memory.h" /* how long memory lives */
#include "informant/text.h"   /* putting texts together, comparing them, numbers */

#include "informant/json.h"       /* reading JSON */
#include "informant/json_write.h" /* writing JSON */

#include "informant/event_data.h" /* values of the event's objects */
#include "informant/host_info.h"  /* who and where the plugin is */
#include "informant/http.h"       /* requests over HTTP */
#include "informant/indexer.h"    /* the shared cache */
#include "informant/kube.h"       /* writes to the cluster */
#include "informant/log.h"        /* the log */
#include "informant/metrics.h"    /* counters, gauges, histograms */
#include "informant/state.h"      /* what outlives the instance */
#include "informant/workqueue.h"  /* keys to work on */

#endif
