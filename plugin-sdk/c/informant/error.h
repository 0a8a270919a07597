/* Errors of the host's functions. A function that can fail returns NULL or an error. After an error its result is
 * empty.
 *
 *   const informant_error *error = informant_state_set(key, value);
 *   if (error) return informant_failed(error);
 */
#ifndef INFORMANT_ERROR_H
#define INFORMANT_ERROR_H

#include "types.h"

typedef enum {
  INFORMANT_NOT_GRANTED,      /* indexer, kube, http; the message has the lines of configuration that would grant it */
  INFORMANT_UNKNOWN_RESOURCE, /* indexer */
  INFORMANT_UNKNOWN_INDEX,    /* indexer */
  INFORMANT_NOT_SYNCED,       /* indexer: the first list is not complete; an absent object may be there */
  INFORMANT_EXPIRED,          /* indexer: the cursor is too old */
  INFORMANT_INVALID,          /* indexer, kube, http: it cannot be asked; nothing was sent */
  INFORMANT_NOT_LEADER,       /* kube, http: another replica of the host acts; nothing was sent */
  INFORMANT_STATUS,           /* kube: the API server refused it; see code, reason, retry_after_ms */
  INFORMANT_TIMED_OUT,        /* http: it may have been done or not */
  INFORMANT_TOO_LARGE,        /* http: it was done, and the answer has more than it may */
  INFORMANT_TRANSPORT,        /* kube, http: no answer came; it may have been done or not */
  INFORMANT_REFUSED           /* state, metrics: the message says why */
} informant_error_kind;

typedef struct {
  informant_error_kind kind;
  const char *operation;                  /* as the contract calls it: "indexer.get" */
  informant_string message;               /* for people; may be empty */
  uint16_t code;                          /* with INFORMANT_STATUS; 409: another client was first */
  informant_string reason;                /* with INFORMANT_STATUS: `Conflict`, `AlreadyExists`, `NotFound`, `Invalid` */
  informant_optional_u64 retry_after_ms;  /* with INFORMANT_STATUS */
} informant_error;

/* The error as a text: "kube.patch: the API server answered 409 Conflict: it has changed". */
informant_string informant_error_text(const informant_error *error);

/* For the other parts. */
const informant_error *informant_error_new(informant_error_kind kind, const char *operation, informant_string message);

#endif
