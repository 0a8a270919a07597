/* The interface `http`: see http.h. */
#include "http.h"

#include "http_host.h"
#include "text.h"

INFORMANT_LAYOUT(offsetof(informant_http_answer, value) == 4 && sizeof(informant_http_answer) == 24);
INFORMANT_LAYOUT(offsetof(informant_response, headers) == 4);

const informant_error *informant_http_send(const informant_request *request, informant_response *response) {
  static const informant_error_kind kinds[] = {INFORMANT_NOT_GRANTED, INFORMANT_NOT_LEADER, INFORMANT_INVALID,
                                               INFORMANT_TIMED_OUT,   INFORMANT_TOO_LARGE,  INFORMANT_TRANSPORT};
  informant_string method = request->method.len ? request->method : INFORMANT_STRING("GET");
  informant_http_answer answer;
  informant_host_http_send(INFORMANT_TEXT(method), INFORMANT_TEXT(request->url), request->headers.items,
                           request->headers.count, INFORMANT_TEXT(request->body), request->timeout_ms, &answer);
  *response = answer.is_error ? (informant_response){0} : answer.value.response;
  if (!answer.is_error) return NULL;
  bool is_known = answer.value.error.kind < sizeof kinds / sizeof *kinds;
  informant_error_kind kind = is_known ? kinds[answer.value.error.kind] : INFORMANT_REFUSED;
  bool has_text = kind != INFORMANT_NOT_LEADER;
  return informant_error_new(kind, "http.send", has_text ? answer.value.error.text : INFORMANT_STRING(""));
}

informant_optional_string informant_http_header(const informant_response *response, informant_string name) {
  for (size_t i = 0; i < response->headers.count; i++)
    if (informant_equal(response->headers.items[i].name, name)) return informant_some(response->headers.items[i].value);
  return INFORMANT_NONE;
}
