/* The host's function of `http`, with the canonical ABI's signature: for http.c, and for a test's host. */
#ifndef INFORMANT_HTTP_HOST_H
#define INFORMANT_HTTP_HOST_H

#include "http.h"
#include "import.h"

typedef struct {
  uint8_t is_error;
  union {
    informant_response response;
    struct {
      uint8_t kind;
      informant_string text;
    } error;
  } value;
} informant_http_answer;

INFORMANT_IMPORT("http", "send")
void informant_host_http_send(const char *method, size_t method_len, const char *url, size_t url_len,
                              const informant_pair *headers, size_t header_count, const char *body, size_t body_len,
                              uint32_t timeout_ms, informant_http_answer *answer);

#endif
