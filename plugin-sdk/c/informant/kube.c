/* The interface `kube`: see kube.h. */
#include "kube.h"

#include "kube_host.h"
#include "memory.h"

INFORMANT_LAYOUT(offsetof(informant_kube_answer, value) == 8);
INFORMANT_LAYOUT(offsetof(informant_kube_error, value) == 8 && sizeof(informant_kube_error) == 48);
INFORMANT_LAYOUT(offsetof(informant_kube_error, value.status.reason) == 12);
INFORMANT_LAYOUT(offsetof(informant_kube_error, value.status.retry_after_ms) == 32);

#define TARGET(target)                                                                                     \
  INFORMANT_TEXT((target).resource), INFORMANT_TEXT((target).key.namespace), INFORMANT_TEXT((target).key.name)

static const informant_error *kube_status(const char *operation, const informant_kube_error *error) {
  informant_error *status = informant_alloc(sizeof *status);
  *status = (informant_error){
      .kind = INFORMANT_STATUS,
      .operation = operation,
      .message = error->value.status.message,
      .code = error->value.status.code,
      .reason = error->value.status.reason,
      .retry_after_ms = error->value.status.retry_after_ms,
  };
  return status;
}

static const informant_error *kube_error(const char *operation, const informant_kube_error *error) {
  static const informant_error_kind kinds[] = {INFORMANT_NOT_GRANTED, INFORMANT_NOT_LEADER, INFORMANT_INVALID,
                                               INFORMANT_STATUS, INFORMANT_TRANSPORT};
  bool is_known = error->kind < sizeof kinds / sizeof *kinds;
  informant_error_kind kind = is_known ? kinds[error->kind] : INFORMANT_REFUSED;
  if (kind == INFORMANT_STATUS) return kube_status(operation, error);
  bool has_text = kind != INFORMANT_NOT_LEADER;
  return informant_error_new(kind, operation, has_text ? error->value.text : INFORMANT_STRING(""));
}

static const informant_error *object_of(const char *operation, const informant_kube_answer *answer,
                                        informant_string *object) {
  if (object) *object = answer->is_error ? INFORMANT_STRING("") : answer->value.object;
  return answer->is_error ? kube_error(operation, &answer->value.error) : NULL;
}

const informant_error *informant_kube_create(informant_kube_target target, informant_string object,
                                             informant_string *made) {
  informant_kube_answer answer;
  informant_host_kube_create(TARGET(target), INFORMANT_TEXT(target.subresource), INFORMANT_TEXT(object), &answer);
  return object_of("kube.create", &answer, made);
}

const informant_error *informant_kube_update(informant_kube_target target, informant_string object,
                                             informant_string *updated) {
  informant_kube_answer answer;
  informant_host_kube_update(TARGET(target), INFORMANT_TEXT(target.subresource), INFORMANT_TEXT(object), &answer);
  return object_of("kube.update", &answer, updated);
}

const informant_error *informant_kube_patch(informant_kube_target target, informant_patch_type type,
                                            informant_string patch, informant_string *patched) {
  informant_kube_answer answer;
  bool is_forced = type == INFORMANT_APPLY_FORCED;
  int32_t number = (int32_t)(is_forced ? INFORMANT_APPLY : type);
  informant_host_kube_patch(TARGET(target), INFORMANT_TEXT(target.subresource), number, is_forced,
                            INFORMANT_TEXT(patch), &answer);
  return object_of("kube.patch", &answer, patched);
}

const informant_error *informant_kube_delete(informant_kube_target target, informant_optional_string uid) {
  informant_kube_answer answer;
  informant_host_kube_delete(TARGET(target), INFORMANT_OPTION(uid), &answer);
  return object_of("kube.delete", &answer, NULL);
}

const informant_error *informant_kube_record_event(informant_kube_target target, bool is_warning,
                                                   informant_string reason, informant_string message) {
  informant_kube_answer answer;
  informant_host_kube_record_event(TARGET(target), is_warning, INFORMANT_TEXT(reason), INFORMANT_TEXT(message),
                                   &answer);
  return object_of("kube.record-event", &answer, NULL);
}
