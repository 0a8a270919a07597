/* The host's functions of `kube`, with the canonical ABI's signatures: for kube.c, and for a test's host. */
#ifndef INFORMANT_KUBE_HOST_H
#define INFORMANT_KUBE_HOST_H

#include "import.h"

typedef struct {
  uint8_t kind;
  union {
    informant_string text;
    struct {
      uint16_t code;
      informant_string reason, message;
      informant_optional_u64 retry_after_ms;
    } status;
  } value;
} informant_kube_error;

typedef struct {
  uint8_t is_error;
  union {
    informant_string object;
    informant_kube_error error;
  } value;
} informant_kube_answer;

INFORMANT_IMPORT("kube", "create")
void informant_host_kube_create(const char *resource, size_t resource_len, const char *namespace, size_t namespace_len,
                                const char *name, size_t name_len, const char *subresource, size_t subresource_len,
                                const char *object, size_t object_len, informant_kube_answer *answer);
INFORMANT_IMPORT("kube", "update")
void informant_host_kube_update(const char *resource, size_t resource_len, const char *namespace, size_t namespace_len,
                                const char *name, size_t name_len, const char *subresource, size_t subresource_len,
                                const char *object, size_t object_len, informant_kube_answer *answer);
INFORMANT_IMPORT("kube", "patch")
void informant_host_kube_patch(const char *resource, size_t resource_len, const char *namespace, size_t namespace_len,
                               const char *name, size_t name_len, const char *subresource, size_t subresource_len,
                               int32_t type, int32_t is_forced, const char *patch, size_t patch_len,
                               informant_kube_answer *answer);
INFORMANT_IMPORT("kube", "delete")
void informant_host_kube_delete(const char *resource, size_t resource_len, const char *namespace, size_t namespace_len,
                                const char *name, size_t name_len, int32_t has_uid, const char *uid, size_t uid_len,
                                informant_kube_answer *answer);
INFORMANT_IMPORT("kube", "record-event")
void informant_host_kube_record_event(const char *resource, size_t resource_len, const char *namespace,
                                      size_t namespace_len, const char *name, size_t name_len, int32_t is_warning,
                                      const char *reason, size_t reason_len, const char *message, size_t message_len,
                                      informant_kube_answer *answer);

#endif
