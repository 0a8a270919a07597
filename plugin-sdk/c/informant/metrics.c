/* The interface `metrics`: see metrics.h. */
#include "metrics.h"

#include "import.h"

INFORMANT_IMPORT("metrics", "counter-add")
void informant_host_metrics_counter_add(const char *name, size_t len, const informant_pair *labels, size_t count,
                                        double value, informant_text_result *answer);
INFORMANT_IMPORT("metrics", "gauge-set")
void informant_host_metrics_gauge_set(const char *name, size_t len, const informant_pair *labels, size_t count,
                                      double value, informant_text_result *answer);
INFORMANT_IMPORT("metrics", "histogram-observe")
void informant_host_metrics_histogram_observe(const char *name, size_t len, const informant_pair *labels, size_t count,
                                              double value, informant_text_result *answer);

static const informant_error *metrics_error(const char *operation, const informant_text_result *answer) {
  return answer->is_error ? informant_error_new(INFORMANT_REFUSED, operation, answer->text) : NULL;
}

const informant_error *informant_metrics_counter_add(informant_string name, informant_pairs labels, double value) {
  informant_text_result answer;
  informant_host_metrics_counter_add(INFORMANT_TEXT(name), labels.items, labels.count, value, &answer);
  return metrics_error("metrics.counter-add", &answer);
}

const informant_error *informant_metrics_gauge_set(informant_string name, informant_pairs labels, double value) {
  informant_text_result answer;
  informant_host_metrics_gauge_set(INFORMANT_TEXT(name), labels.items, labels.count, value, &answer);
  return metrics_error("metrics.gauge-set", &answer);
}

const informant_error *informant_metrics_histogram_observe(informant_string name, informant_pairs labels,
                                                           double value) {
  informant_text_result answer;
  informant_host_metrics_histogram_observe(INFORMANT_TEXT(name), labels.items, labels.count, value, &answer);
  return metrics_error("metrics.histogram-observe", &answer);
}
