/* The writer of JSON: see json_write.h. */
#include "json_write.h"

#include "memory.h"
#include "text.h"

void *memcpy(void *restrict to, const void *restrict from, size_t len);

static void put(informant_writer *writer, informant_string text) {
  enum { CAPACITY_MIN = 256 };
  size_t need = writer->len + text.len;
  if (need > writer->capacity) {
    size_t capacity = need > CAPACITY_MIN / 2 ? 2 * need : CAPACITY_MIN;
    char *data = informant_alloc(capacity);
    if (writer->len) memcpy(data, writer->data, writer->len);
    writer->data = data;
    writer->capacity = capacity;
  }
  if (text.len) memcpy(writer->data + writer->len, text.data, text.len);
  writer->len = need;
}

/* Called before each name, and before each value without a name. */
static void separate(informant_writer *writer, bool needs_comma) {
  if (writer->needs_comma) put(writer, INFORMANT_STRING(","));
  writer->needs_comma = needs_comma;
}

static void end(informant_writer *writer, informant_string closing) {
  put(writer, closing);
  writer->needs_comma = true;
}

static void put_escape(informant_writer *writer, unsigned char one) {
  static const char hex[] = "0123456789abcdef";
  const char named[] = {'\\', (char)one};
  const char numbered[] = {'\\', 'u', '0', '0', hex[one >> 4], hex[one & 15]};
  switch (one) {
    case '"': case '\\': put(writer, (informant_string){named, sizeof named}); break;
    case '\n': put(writer, INFORMANT_STRING("\\n")); break;
    case '\r': put(writer, INFORMANT_STRING("\\r")); break;
    case '\t': put(writer, INFORMANT_STRING("\\t")); break;
    default: put(writer, (informant_string){numbered, sizeof numbered});
  }
}

static void put_quoted(informant_writer *writer, informant_string text) {
  text = informant_utf8(text);
  size_t begins = 0;
  put(writer, INFORMANT_STRING("\""));
  for (size_t at = 0; at < text.len; at++) {
    unsigned char one = (unsigned char)text.data[at];
    if (one >= 0x20 && one != '"' && one != '\\') continue;
    put(writer, (informant_string){text.data + begins, at - begins});
    put_escape(writer, one);
    begins = at + 1;
  }
  if (begins < text.len) put(writer, (informant_string){text.data + begins, text.len - begins});
  put(writer, INFORMANT_STRING("\""));
}

void informant_write_object(informant_writer *writer) {
  separate(writer, false);
  put(writer, INFORMANT_STRING("{"));
}

void informant_write_end_object(informant_writer *writer) {
  end(writer, INFORMANT_STRING("}"));
}

void informant_write_array(informant_writer *writer) {
  separate(writer, false);
  put(writer, INFORMANT_STRING("["));
}

void informant_write_end_array(informant_writer *writer) {
  end(writer, INFORMANT_STRING("]"));
}

void informant_write_name(informant_writer *writer, informant_string name) {
  separate(writer, false);
  put_quoted(writer, name);
  put(writer, INFORMANT_STRING(":"));
}

void informant_write_text(informant_writer *writer, informant_string text) {
  separate(writer, true);
  put_quoted(writer, text);
}

void informant_write_json(informant_writer *writer, informant_string json) {
  separate(writer, true);
  put(writer, json);
}

void informant_write_integer(informant_writer *writer, int64_t number) {
  informant_write_json(writer, informant_integer_text(number));
}

void informant_write_unsigned(informant_writer *writer, uint64_t number) {
  informant_write_json(writer, informant_unsigned_text(number));
}

void informant_write_boolean(informant_writer *writer, bool is) {
  informant_write_json(writer, informant_boolean_text(is));
}

void informant_write_null(informant_writer *writer) {
  informant_write_json(writer, INFORMANT_STRING("null"));
}

informant_string informant_written(const informant_writer *writer) {
  return (informant_string){writer->len ? writer->data : "", writer->len};
}

informant_string informant_json_quoted(informant_string text) {
  informant_writer writer = {0};
  put_quoted(&writer, text);
  return informant_written(&writer);
}
