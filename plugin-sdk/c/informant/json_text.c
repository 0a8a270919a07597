/* Strings of JSON without their quotes and escapes: see json_text.h. */
#include "json_text.h"

#include "memory.h"

static uint32_t hex(const char *at) {
  uint32_t number = 0;
  for (int i = 0; i < 4; i++) {
    char one = at[i];
    uint32_t digit = one <= '9' ? (uint32_t)(one - '0') : (uint32_t)((one | 0x20) - 'a' + 10);
    number = number << 4 | digit;
  }
  return number;
}

static char *put_utf8(char *to, uint32_t code) {
  if (code < 0x80) {
    *to++ = (char)code;
  } else if (code < 0x800) {
    *to++ = (char)(0xc0 | code >> 6);
    *to++ = (char)(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    *to++ = (char)(0xe0 | code >> 12);
    *to++ = (char)(0x80 | (code >> 6 & 0x3f));
    *to++ = (char)(0x80 | (code & 0x3f));
  } else {
    *to++ = (char)(0xf0 | code >> 18);
    *to++ = (char)(0x80 | (code >> 12 & 0x3f));
    *to++ = (char)(0x80 | (code >> 6 & 0x3f));
    *to++ = (char)(0x80 | (code & 0x3f));
  }
  return to;
}

/* Decodes one \u or a pair of them; half a pair becomes U+FFFD. Starts after the u, and returns the end. */
static const char *put_unicode(const char *at, const char *end, char **to) {
  const uint32_t replacement = 0xfffd;
  uint32_t code = hex(at);
  at += 4;
  if (code >= 0xd800 && code < 0xdc00) {
    uint32_t low = end - at >= 6 && at[0] == '\\' && at[1] == 'u' ? hex(at + 2) : 0;
    bool is_pair = low >= 0xdc00 && low < 0xe000;
    code = is_pair ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00) : replacement;
    at += is_pair ? 6 : 0;
  } else if (code >= 0xdc00 && code < 0xe000) {
    code = replacement;
  }
  *to = put_utf8(*to, code);
  return at;
}

informant_string informant_json_unquoted(informant_string quoted) {
  const char *at = quoted.data + 1, *end = quoted.data + quoted.len - 1;
  const char *escape = at;
  while (escape < end && *escape != '\\') escape++;
  if (escape == end) return (informant_string){at, (size_t)(end - at)};
  /* No escape is shorter than its text. */
  char *text = informant_alloc((size_t)(end - at)), *to = text;
  while (at < end) {
    if (*at != '\\') {
      *to++ = *at++;
      continue;
    }
    char one = at[1];
    at += 2;
    switch (one) {
      case 'b': *to++ = '\b'; break;
      case 'f': *to++ = '\f'; break;
      case 'n': *to++ = '\n'; break;
      case 'r': *to++ = '\r'; break;
      case 't': *to++ = '\t'; break;
      case 'u': at = put_unicode(at, end, &to); break;
      default: *to++ = one;
    }
  }
  return (informant_string){text, (size_t)(to - text)};
}
