/* HTTP requests. The host's operator must grant each of them, and can also add credentials. The plugin waits for
 * the answer. All requests of one call, with those of kube.h, have 10 s together by default. Requests are possible
 * in handlers, reconcilers, timers and sync-aware functions. A failed call comes again, so send only requests that
 * may be repeated. */
#ifndef INFORMANT_HTTP_H
#define INFORMANT_HTTP_H

#include "error.h"

typedef struct {
  informant_string method; /* empty is `GET` */
  informant_string url;
  informant_pairs headers;
  informant_string body;
  uint32_t timeout_ms; /* 0: as long as the call may wait */
} informant_request;

typedef struct {
  uint16_t status;
  informant_pairs headers; /* names are in small letters */
  informant_string body;   /* bytes: see informant_utf8 */
} informant_response;

/* Sends one request and waits for its answer. An error of the server, such as 500, is an answer, too. */
INFORMANT_MUST_CHECK const informant_error *informant_http_send(const informant_request *request,
                                                                informant_response *response);

/* The first header with this name, in lower case. */
informant_optional_string informant_http_header(const informant_response *response, informant_string name);

#endif
