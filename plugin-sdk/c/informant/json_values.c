/* The content of JSON values: see json.h. */
#include "json.h"
#include "json_scan.h"
#include "json_text.h"
#include "text.h"

/* Removes the space around one value with one of these beginnings. Returns the reason if there is none. */
static informant_json_answer only(informant_string *value, const char *beginnings) {
  if (informant_json_find(*value, INFORMANT_STRING(""), value) != INFORMANT_JSON_FOUND) return INFORMANT_JSON_MALFORMED;
  for (; *beginnings; beginnings++)
    if (value->data[0] == *beginnings) return INFORMANT_JSON_FOUND;
  return INFORMANT_JSON_OTHER;
}

informant_json_answer informant_json_text(informant_string value, informant_string *text) {
  informant_json_answer answer = only(&value, "\"");
  if (answer == INFORMANT_JSON_FOUND) *text = informant_json_unquoted(value);
  return answer;
}

informant_json_answer informant_json_integer(informant_string value, int64_t *number) {
  int64_t found;
  informant_json_answer answer = only(&value, "-0123456789");
  if (answer != INFORMANT_JSON_FOUND) return answer;
  if (!informant_integer(value, &found)) return INFORMANT_JSON_OTHER;
  *number = found;
  return INFORMANT_JSON_FOUND;
}

/* Multiplies by a power of ten, in steps that are exact within the range of the double. */
static double scaled(double number, int64_t exponent) {
  static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  enum { STEP = 22 };
  for (; exponent > STEP && number < 1e300; exponent -= STEP) number *= powers[STEP];
  for (; exponent < -STEP && number > 0; exponent += STEP) number /= powers[STEP];
  if (number == 0) return 0;
  if (exponent > STEP) return __builtin_inf();
  return exponent < 0 ? number / powers[-exponent] : number * powers[exponent];
}

/* Digits after the nineteenth do not matter to a double. Above 100,000 an exponent makes no difference. */
static double decimal(const char *at, const char *end) {
  uint64_t mantissa = 0;
  int64_t exponent = 0;
  bool is_fraction = false;
  for (; at < end && *at != 'e' && *at != 'E'; at++) {
    if (*at == '.') {
      is_fraction = true;
      continue;
    }
    bool has_room = mantissa <= (UINT64_MAX - 9) / 10;
    if (has_room) mantissa = mantissa * 10 + (uint64_t)(*at - '0');
    exponent += (has_room ? 0 : 1) - (is_fraction ? 1 : 0);
  }
  if (at < end) {
    int64_t said = 0;
    bool is_negative = at[1] == '-';
    for (at += at[1] == '-' || at[1] == '+' ? 2 : 1; at < end; at++)
      if (said < 100000) said = said * 10 + (*at - '0');
    exponent += is_negative ? -said : said;
  }
  return mantissa ? scaled((double)mantissa, exponent) : 0;
}

informant_json_answer informant_json_number(informant_string value, double *number) {
  informant_json_answer answer = only(&value, "-0123456789");
  if (answer != INFORMANT_JSON_FOUND) return answer;
  bool is_negative = value.data[0] == '-';
  double found = decimal(value.data + is_negative, value.data + value.len);
  if (found > 1.7976931348623157e308) return INFORMANT_JSON_OTHER;
  *number = is_negative ? -found : found;
  return INFORMANT_JSON_FOUND;
}

informant_json_answer informant_json_boolean(informant_string value, bool *is) {
  informant_json_answer answer = only(&value, "tf");
  if (answer == INFORMANT_JSON_FOUND) *is = value.data[0] == 't';
  return answer;
}

bool informant_json_is_null(informant_string value) {
  return only(&value, "n") == INFORMANT_JSON_FOUND;
}

#define FIND(name, type, read)                                                                           \
  informant_json_answer name(informant_string json, informant_string pointer, type *found) {             \
    informant_string value;                                                                              \
    informant_json_answer answer = informant_json_find(json, pointer, &value);                           \
    return answer == INFORMANT_JSON_FOUND ? read(value, found) : answer;                                 \
  }

FIND(informant_json_find_text, informant_string, informant_json_text)
FIND(informant_json_find_integer, int64_t, informant_json_integer)
FIND(informant_json_find_number, double, informant_json_number)
FIND(informant_json_find_boolean, bool, informant_json_boolean)
