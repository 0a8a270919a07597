/* Writes to the cluster. Each has to be granted by whoever runs the host. The plugin waits for the answer, for 10 s a call
 * in all if nothing else is said. Writes are made in handlers, reconcilers, timers and sync-aware functions. A call that
 * fails takes back nothing that it wrote, and comes again: write what may be written twice. */
#ifndef INFORMANT_KUBE_H
#define INFORMANT_KUBE_H

#include "error.h"

/* What is written: (informant_kube_target){.resource = INFORMANT_STRING("v1/pods"), .key = event->key}. */
typedef struct {
  informant_string resource;
  informant_object_key key;     /* of a cluster-scoped object without a namespace */
  informant_string subresource; /* `status`, `eviction`; as a rule empty */
} informant_kube_target;

typedef enum {
  INFORMANT_JSON_PATCH,  /* RFC 6902 */
  INFORMANT_MERGE,       /* RFC 7386: what stands in it takes the place of what was there, lists as a whole */
  INFORMANT_STRATEGIC,   /* lists merge by key; not for custom resources */
  INFORMANT_APPLY,       /* server-side apply; the field manager is informant-NAME */
  INFORMANT_APPLY_FORCED /* the same, taking over conflicting fields */
} informant_patch_type;

/* `answer` is the object as the API server has it now; it may be NULL. */

/* Makes an object. An empty name leaves it to the object's `generateName`. */
INFORMANT_MUST_CHECK const informant_error *informant_kube_create(informant_kube_target target, informant_string object,
                                                                  informant_string *answer);

/* Puts an object in the place of the one that is there. One as the cache hands it out has lost its last-applied annotation.
 * If the one in the cluster has it, the update is refused as invalid: rather patch. */
INFORMANT_MUST_CHECK const informant_error *informant_kube_update(informant_kube_target target, informant_string object,
                                                                  informant_string *answer);

/* Changes what the patch names, and nothing else. */
INFORMANT_MUST_CHECK const informant_error *informant_kube_patch(informant_kube_target target,
                                                                 informant_patch_type type, informant_string patch,
                                                                 informant_string *answer);

/* Deletes an object; with a UID only that one, and `Conflict` if another has its name. It has no subresource. */
INFORMANT_MUST_CHECK const informant_error *informant_kube_delete(informant_kube_target target,
                                                                  informant_optional_string uid);

/* An `events.k8s.io` Event about the object, written without waiting for it. It has no subresource. */
INFORMANT_MUST_CHECK const informant_error *informant_kube_record_event(informant_kube_target target, bool is_warning,
                                                                        informant_string reason,
                                                                        informant_string message);

#endif
