/* Texts: see text.h. */
#include "text.h"

#include "memory.h"

void *memcpy(void *restrict to, const void *restrict from, size_t len);
int memcmp(const void *left, const void *right, size_t len);

informant_string informant_text(const char *terminated) {
  size_t len = 0;
  while (terminated[len]) len++;
  return (informant_string){terminated, len};
}

bool informant_equal(informant_string left, informant_string right) {
  return left.len == right.len && (left.len == 0 || memcmp(left.data, right.data, left.len) == 0);
}

bool informant_starts_with(informant_string text, informant_string beginning) {
  return text.len >= beginning.len && informant_equal((informant_string){text.data, beginning.len}, beginning);
}

informant_string informant_concat(const informant_string *parts, size_t count) {
  size_t len = 0, at = 0;
  for (size_t i = 0; i < count; i++) len += parts[i].len;
  char *text = informant_alloc(len);
  for (size_t i = 0; i < count; at += parts[i++].len)
    if (parts[i].len) memcpy(text + at, parts[i].data, parts[i].len);
  return (informant_string){text, len};
}

static informant_string digits(bool is_negative, uint64_t number) {
  enum { LEN_MAX = 20 };
  char *text = informant_alloc(LEN_MAX);
  size_t at = LEN_MAX;
  do text[--at] = (char)('0' + number % 10);
  while (number /= 10);
  if (is_negative) text[--at] = '-';
  return (informant_string){text + at, LEN_MAX - at};
}

informant_string informant_unsigned_text(uint64_t number) {
  return digits(false, number);
}

informant_string informant_integer_text(int64_t number) {
  return number < 0 ? digits(true, 0 - (uint64_t)number) : digits(false, (uint64_t)number);
}

informant_string informant_boolean_text(bool is) {
  return is ? INFORMANT_STRING("true") : INFORMANT_STRING("false");
}

bool informant_integer(informant_string text, int64_t *number) {
  bool is_negative = text.len && text.data[0] == '-';
  uint64_t size = 0, limit = (uint64_t)INT64_MAX + is_negative;
  *number = 0;
  if (text.len == (size_t)is_negative) return false;
  for (size_t i = is_negative; i < text.len; i++) {
    unsigned digit = (unsigned char)text.data[i] - (unsigned)'0';
    if (digit > 9 || size > (limit - digit) / 10) return false;
    size = size * 10 + digit;
  }
  /* The smallest number has no positive counterpart. */
  *number = is_negative && size ? -(int64_t)(size - 1) - 1 : (int64_t)size;
  return true;
}

informant_string informant_key_text(informant_object_key key) {
  if (!key.namespace.len) return key.name;
  return INFORMANT_CONCAT(key.namespace, INFORMANT_STRING("/"), key.name);
}

informant_object_key informant_key(informant_string text) {
  for (size_t i = 0; i < text.len; i++)
    if (text.data[i] == '/') return (informant_object_key){{text.data, i}, {text.data + i + 1, text.len - i - 1}};
  return (informant_object_key){{text.data, 0}, text};
}

size_t informant_utf8_len(informant_string bytes) {
  const unsigned char *at = (const unsigned char *)bytes.data;
  if (!bytes.len) return 0;
  if (at[0] < 0x80) return 1;
  size_t len = at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : at[0] < 0xf5 ? 4 : 0;
  if (!len || len > bytes.len) return 0;
  /* The second byte excludes too long encodings, surrogates, and characters above U+10FFFF. */
  unsigned least = at[0] == 0xe0 ? 0xa0 : at[0] == 0xf0 ? 0x90 : 0x80;
  unsigned most = at[0] == 0xed ? 0x9f : at[0] == 0xf4 ? 0x8f : 0xbf;
  if (at[1] < least || at[1] > most) return 0;
  for (size_t i = 2; i < len; i++)
    if ((at[i] & 0xc0) != 0x80) return 0;
  return len;
}

informant_string informant_utf8(informant_string bytes) {
  const informant_string replacement = INFORMANT_STRING("\xef\xbf\xbd");
  size_t wrong = 0;
  for (size_t at = 0; at < bytes.len;) {
    size_t len = informant_utf8_len((informant_string){bytes.data + at, bytes.len - at});
    wrong += len == 0;
    at += len ? len : 1;
  }
  if (!wrong) return bytes;
  char *text = informant_alloc(bytes.len + wrong * (replacement.len - 1));
  size_t to = 0;
  for (size_t at = 0; at < bytes.len;) {
    size_t len = informant_utf8_len((informant_string){bytes.data + at, bytes.len - at});
    informant_string part = len ? (informant_string){bytes.data + at, len} : replacement;
    memcpy(text + to, part.data, part.len);
    to += part.len;
    at += len ? len : 1;
  }
  return (informant_string){text, to};
}
