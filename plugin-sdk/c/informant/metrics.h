/* Series on the host's `/metrics`, with a `plugin` label. They belong to the plugin's name and outlive traps and reloads.
 * Everything may count but plugin_describe; what a call counts that fails is counted. Names and labels are of letters,
 * digits and `_`; labels are pairs, or INFORMANT_NO_PAIRS. What the host does not take is an error (INFORMANT_REFUSED). */
#ifndef INFORMANT_METRICS_H
#define INFORMANT_METRICS_H

#include "error.h"

/* Adds to a counter, which is made if it is not there. Not a negative value. */
INFORMANT_MUST_CHECK const informant_error *informant_metrics_counter_add(informant_string name, informant_pairs labels,
                                                                          double value);

/* Sets a gauge. */
INFORMANT_MUST_CHECK const informant_error *informant_metrics_gauge_set(informant_string name, informant_pairs labels,
                                                                        double value);

/* Counts one value in a histogram, whose buckets go from 0.0001 to 10,000. */
INFORMANT_MUST_CHECK const informant_error *informant_metrics_histogram_observe(informant_string name,
                                                                                informant_pairs labels, double value);

#endif
