/* The series of tests, and the facts about the host and the instance. */
#include "host.h"

static bool is_word(informant_string name) {
  for (size_t i = 0; i < name.len; i++) {
    char one = name.data[i], letter = (char)(one | 0x20);
    if (!(letter >= 'a' && letter <= 'z') && one != '_' && !(i && one >= '0' && one <= '9')) return false;
  }
  return name.len >= 1 && name.len <= 128;
}

static informant_string series_name(informant_string name, const informant_pair *labels, size_t count) {
  if (!count) return name;
  informant_string text = INFORMANT_CONCAT(name, INFORMANT_STRING("{"));
  for (size_t i = 0; i < count; i++) {
    informant_string comma = i ? INFORMANT_STRING(",") : INFORMANT_STRING("");
    text = INFORMANT_CONCAT(text, comma, labels[i].name, INFORMANT_STRING("="), labels[i].value);
  }
  return INFORMANT_CONCAT(text, INFORMANT_STRING("}"));
}

static double *series_value(informant_string name) {
  for (size_t i = 0; i < metric_count; i++)
    if (informant_equal(informant_text(metrics[i].name), name)) return &metrics[i].value;
  metrics = testing_memory(metrics, (metric_count + 1) * sizeof *metrics);
  metrics[metric_count] = (series){testing_copy(name), 0};
  return &metrics[metric_count++].value;
}

static bool series_taken(informant_string name, const informant_pair *labels, size_t count, double value,
                         informant_text_result *answer) {
  bool is_fine = is_word(name) && count <= 16 && value - value == 0;
  for (size_t i = 0; i < count; i++) {
    testing_text(labels[i].value.data, labels[i].value.len);
    is_fine = is_fine && is_word(labels[i].name) && labels[i].value.len <= 256;
  }
  bool is_described = testing_in != TESTING_DESCRIBE;
  *answer = (informant_text_result){!is_fine || !is_described, {0}};
  if (!is_fine) answer->text = INFORMANT_CONCAT(INFORMANT_STRING("its name, labels or value can be no series's: "), name);
  else if (!is_described) answer->text = INFORMANT_STRING("plugin_describe does not count");
  return !answer->is_error;
}

void informant_host_metrics_counter_add(const char *data, size_t len, const informant_pair *labels, size_t count,
                                        double value, informant_text_result *answer) {
  informant_string name = testing_text(data, len);
  if (!series_taken(name, labels, count, value, answer)) return;
  if (value < 0) *answer = (informant_text_result){1, INFORMANT_STRING("what is added to a counter is not negative")};
  else *series_value(series_name(name, labels, count)) += value;
}

void informant_host_metrics_gauge_set(const char *data, size_t len, const informant_pair *labels, size_t count,
                                      double value, informant_text_result *answer) {
  informant_string name = testing_text(data, len);
  if (series_taken(name, labels, count, value, answer)) *series_value(series_name(name, labels, count)) = value;
}

void informant_host_metrics_histogram_observe(const char *data, size_t len, const informant_pair *labels, size_t count,
                                              double value, informant_text_result *answer) {
  informant_string name = testing_text(data, len);
  if (series_taken(name, labels, count, value, answer)) *series_value(series_name(name, labels, count)) += value;
}

double informant_testing_series(const char *name) {
  for (size_t i = 0; i < metric_count; i++)
    if (strcmp(metrics[i].name, name) == 0) return metrics[i].value;
  return 0;
}

void informant_testing_lead(bool is_leader) {
  is_leading = is_leader;
}

int32_t informant_host_is_leader(void) {
  return is_leading;
}

void informant_host_plugin_name(informant_string *answer) {
  *answer = INFORMANT_STRING("test");
}

void informant_host_shard(informant_shard_number *answer) {
  *answer = (informant_shard_number){0, 1};
}

void informant_host_host_version(informant_string *answer) {
  *answer = INFORMANT_STRING("0.0.0-test");
}
