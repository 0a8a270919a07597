/* Writes to the cluster. The host's operator must grant each of them. The plugin waits for the answer. All requests
 * of one call have 10 s together by default. Writes are possible in handlers, reconcilers, timers and sync-aware
 * functions. A failed call does not undo its writes, and it comes again, so make only writes that may be repeated. */
#ifndef INFORMANT_KUBE_H
#define INFORMANT_KUBE_H

#include "error.h"

/* The object of a write: (informant_kube_target){.resource = INFORMANT_STRING("v1/pods"), .key = event->key}. */
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

/* `answer` is the object of the API server's answer. It may be NULL. */

/* Creates an object. If the name is empty, the object's `generateName` applies. */
INFORMANT_MUST_CHECK const informant_error *informant_kube_create(informant_kube_target target, informant_string object,
                                                                  informant_string *answer);

/* Replaces an object. Objects from the cache lack the last-applied annotation. If the object in the cluster has it,
 * the update is refused as invalid; use a patch instead. */
INFORMANT_MUST_CHECK const informant_error *informant_kube_update(informant_kube_target target, informant_string object,
                                                                  informant_string *answer);

/* Changes only the fields that the patch names. */
INFORMANT_MUST_CHECK const informant_error *informant_kube_patch(informant_kube_target target,
                                                                 informant_patch_type type, informant_string patch,
                                                                 informant_string *answer);

/* Deletes an object. With a UID it deletes only the object with this UID; another object with the same name is a
 * `Conflict`. It has no subresource. */
INFORMANT_MUST_CHECK const informant_error *informant_kube_delete(informant_kube_target target,
                                                                  informant_optional_string uid);

/* Writes an `events.k8s.io` Event about the object, without waiting for it. It has no subresource. */
INFORMANT_MUST_CHECK const informant_error *informant_kube_record_event(informant_kube_target target, bool is_warning,
                                                                        informant_string reason,
                                                                        informant_string message);

#endif
