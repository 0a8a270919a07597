/* Series on the host's `/metrics`, with a `plugin` label. They belong to the plugin's name, so they outlive traps
 * and reloads. Every call except plugin_describe may count, and the additions of a failed call count, too. Names
 * and labels consist of letters, digits and `_`. Labels are pairs, or INFORMANT_NO_PAIRS. Invalid values are an
 * error (INFORMANT_REFUSED). */
#ifndef INFORMANT_METRICS_H
#define INFORMANT_METRICS_H

#include "error.h"

/* Adds a value that is not negative to a counter, and creates it if necessary. */
INFORMANT_MUST_CHECK const informant_error *informant_metrics_counter_add(informant_string name, informant_pairs labels,
                                                                          double value);

/* Sets a gauge. */
INFORMANT_MUST_CHECK const informant_error *informant_metrics_gauge_set(informant_string name, informant_pairs labels,
                                                                        double value);

/* Counts one value in a histogram, whose buckets go from 0.0001 to 10,000. */
INFORMANT_MUST_CHECK const informant_error *informant_metrics_histogram_observe(informant_string name,
                                                                                informant_pairs labels, double value);

#endif
