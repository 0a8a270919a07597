/* Requests to HTTP servers. Each has to be granted by whoever runs the host, who can also add credentials. The plugin waits
 * for the answer, for 10 s a call in all if nothing else is said, for this and kube.h together. It may ask in handlers,
 * reconcilers, timers and sync-aware functions. A call that fails comes again: send what may be sent twice. */
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

/* Sends one request and waits for its answer. One that is an error of the server's, such as 500, is an answer. */
INFORMANT_MUST_CHECK const informant_error *informant_http_send(const informant_request *request,
                                                                informant_response *response);

/* The first header of this name, which is in small letters. */
informant_optional_string informant_http_header(const informant_response *response, informant_string name);

#endif
