/* The tests' answers to writes and to HTTP requests. */
#include "host.h"

#include "../informant/http_host.h"
#include "../informant/kube_host.h"

enum { KUBE_NOT_GRANTED, KUBE_NOT_LEADER, KUBE_STATUS = 3, HTTP_NOT_GRANTED = 0, HTTP_NOT_LEADER, HTTP_TRANSPORT = 5 };

/* `question` is the write or request, as words with a space between them. */
typedef struct {
  char *question, *text, *reason;
  bool is_error;
  int code;
  uint64_t retry_after_ms;
} prepared;

static prepared *answers;
static size_t answer_count;

void testing_forget_answers(void) {
  for (size_t i = 0; i < answer_count; i++) {
    free(answers[i].question);
    free(answers[i].text);
    free(answers[i].reason);
  }
  free(answers);
  answers = NULL;
  answer_count = 0;
}

#define QUESTION(...) testing_copy(joined((const char *const[]){__VA_ARGS__, NULL}))

static informant_string joined(const char *const *words) {
  informant_string text = informant_text(*words);
  while (*++words) text = INFORMANT_CONCAT(text, INFORMANT_STRING(" "), informant_text(*words));
  return text;
}

static void prepare(prepared answer) {
  answers = testing_memory(answers, (answer_count + 1) * sizeof *answers);
  answers[answer_count++] = answer;
}

static char *copied(const char *text) {
  return testing_copy(informant_text(text));
}

void informant_testing_answer_write(const char *verb, const char *resource, const char *key, const char *object) {
  prepare((prepared){.question = QUESTION(verb, resource, key), .text = copied(object)});
}

void informant_testing_refuse_write(const char *verb, const char *resource, const char *key, int code,
                                    const char *reason, const char *message, uint64_t retry_after_ms) {
  prepare((prepared){.question = QUESTION(verb, resource, key), .text = copied(message), .reason = copied(reason),
                     .is_error = true, .code = code, .retry_after_ms = retry_after_ms});
}

void informant_testing_answer_request(const char *method, const char *url, int status, const char *body) {
  prepare((prepared){.question = QUESTION(method, url), .text = copied(body), .code = status});
}

void informant_testing_break_request(const char *method, const char *url, const char *message) {
  prepare((prepared){.question = QUESTION(method, url), .text = copied(message), .is_error = true});
}

/* The newest answer to a question. */
static const prepared *prepared_for(informant_string question) {
  for (size_t i = answer_count; i-- > 0;)
    if (informant_equal(informant_text(answers[i].question), question)) return &answers[i];
  return NULL;
}

static bool may_act(void) {
  return testing_in == TESTING_WORK || testing_in == TESTING_SYNCED;
}

/* A write: its object, and the words after it. */
typedef struct {
  const char *verb;
  informant_string resource, key, subresource;
} write;

static write write_of(const char *verb, informant_string resource, informant_object_key key,
                      informant_string subresource) {
  testing_text(resource.data, resource.len);
  testing_text(key.namespace.data, key.namespace.len);
  testing_text(key.name.data, key.name.len);
  testing_text(subresource.data, subresource.len);
  return (write){verb, resource, informant_key_text(key), subresource};
}

static void answer_write(write of, informant_string more, informant_kube_answer *answer) {
  informant_string space = INFORMANT_STRING(" "), slash = of.subresource.len ? INFORMANT_STRING("/") : INFORMANT_STRING("");
  informant_string question =
      INFORMANT_CONCAT(informant_text(of.verb), space, of.resource, slash, of.subresource, space, of.key);
  const prepared *found = prepared_for(question);
  memset(answer, 0, sizeof *answer);
  TESTING_LINE(INFORMANT_STRING("kube."), question, more.len ? space : more, more);
  if (!is_leading) {
    answer->is_error = 1;
    answer->value.error.kind = KUBE_NOT_LEADER;
  } else if (!found || !may_act()) {
    answer->is_error = 1;
    answer->value.error.kind = KUBE_NOT_GRANTED;
    answer->value.error.value.text =
        may_act() ? INFORMANT_CONCAT(INFORMANT_STRING("the test has no answer to: "), question)
                  : INFORMANT_STRING("writes are for handlers, reconcilers, timers and sync-aware functions");
  } else if (found->is_error) {
    answer->is_error = 1;
    answer->value.error.kind = KUBE_STATUS;
    answer->value.error.value.status.code = (uint16_t)found->code;
    answer->value.error.value.status.reason = informant_text(found->reason);
    answer->value.error.value.status.message = informant_text(found->text);
    answer->value.error.value.status.retry_after_ms =
        (informant_optional_u64){found->retry_after_ms != 0, found->retry_after_ms};
  } else {
    answer->value.object = informant_text(found->text);
  }
}

#define WRITE(verb, subresource)                                                              \
  write_of(verb, (informant_string){resource, resource_len},                                  \
           (informant_object_key){{namespace, namespace_len}, {name, name_len}}, subresource)

void informant_host_kube_create(const char *resource, size_t resource_len, const char *namespace, size_t namespace_len,
                                const char *name, size_t name_len, const char *subresource, size_t subresource_len,
                                const char *object, size_t object_len, informant_kube_answer *answer) {
  informant_string of = {subresource, subresource_len};
  answer_write(WRITE("create", of), (informant_string){object, object_len}, answer);
}

void informant_host_kube_update(const char *resource, size_t resource_len, const char *namespace, size_t namespace_len,
                                const char *name, size_t name_len, const char *subresource, size_t subresource_len,
                                const char *object, size_t object_len, informant_kube_answer *answer) {
  informant_string of = {subresource, subresource_len};
  answer_write(WRITE("update", of), (informant_string){object, object_len}, answer);
}

void informant_host_kube_patch(const char *resource, size_t resource_len, const char *namespace, size_t namespace_len,
                               const char *name, size_t name_len, const char *subresource, size_t subresource_len,
                               int32_t type, int32_t is_forced, const char *patch, size_t patch_len,
                               informant_kube_answer *answer) {
  static const char *const types[] = {"json-patch", "merge", "strategic", "apply"};
  if (type < 0 || type > INFORMANT_APPLY) testing_ends("kube.patch", INFORMANT_STRING("there is no such patch type"));
  informant_string of = {subresource, subresource_len};
  informant_string forced = is_forced ? INFORMANT_STRING("-forced ") : INFORMANT_STRING(" ");
  informant_string more = INFORMANT_CONCAT(informant_text(types[type]), forced, (informant_string){patch, patch_len});
  answer_write(WRITE("patch", of), more, answer);
}

void informant_host_kube_delete(const char *resource, size_t resource_len, const char *namespace, size_t namespace_len,
                                const char *name, size_t name_len, int32_t has_uid, const char *uid, size_t uid_len,
                                informant_kube_answer *answer) {
  informant_string more = has_uid ? testing_text(uid, uid_len) : INFORMANT_STRING("");
  answer_write(WRITE("delete", INFORMANT_STRING("")), more, answer);
}

void informant_host_kube_record_event(const char *resource, size_t resource_len, const char *namespace,
                                      size_t namespace_len, const char *name, size_t name_len, int32_t is_warning,
                                      const char *reason, size_t reason_len, const char *message, size_t message_len,
                                      informant_kube_answer *answer) {
  informant_string kind = is_warning ? INFORMANT_STRING("warning ") : INFORMANT_STRING("normal ");
  informant_string more = INFORMANT_CONCAT(kind, testing_text(reason, reason_len), INFORMANT_STRING(" "),
                                           testing_text(message, message_len));
  answer_write(WRITE("record-event", INFORMANT_STRING("")), more, answer);
}

static void fail_request(informant_http_answer *answer, uint8_t kind, informant_string text) {
  answer->is_error = 1;
  answer->value.error.kind = kind;
  answer->value.error.text = text;
}

void informant_host_http_send(const char *method, size_t method_len, const char *url, size_t url_len,
                              const informant_pair *headers, size_t header_count, const char *body, size_t body_len,
                              uint32_t timeout_ms, informant_http_answer *answer) {
  (void)timeout_ms;
  informant_string space = INFORMANT_STRING(" "), sent = {body, body_len};
  informant_string question = INFORMANT_CONCAT(testing_text(method, method_len), space, testing_text(url, url_len));
  const prepared *found = prepared_for(question);
  memset(answer, 0, sizeof *answer);
  TESTING_LINE(INFORMANT_STRING("http.send "), question, testing_pairs(headers, header_count), sent.len ? space : sent, sent);
  if (!is_leading) {
    fail_request(answer, HTTP_NOT_LEADER, INFORMANT_STRING(""));
  } else if (!may_act()) {
    fail_request(answer, HTTP_NOT_GRANTED,
                 INFORMANT_STRING("requests are for handlers, reconcilers, timers and sync-aware functions"));
  } else if (!found) {
    fail_request(answer, HTTP_NOT_GRANTED, INFORMANT_CONCAT(INFORMANT_STRING("the test has no answer to: "), question));
  } else if (found->is_error) {
    fail_request(answer, HTTP_TRANSPORT, informant_text(found->text));
  } else {
    answer->value.response.status = (uint16_t)found->code;
    answer->value.response.body = informant_text(found->text);
  }
}
