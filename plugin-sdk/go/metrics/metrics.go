// Package metrics keeps series on the host's /metrics, with a label for the plugin.
package metrics

// Labels are the labels of a series.
type Labels map[string]string

// CounterAdd adds a value that is not negative to a counter.
func CounterAdd(name string, labels Labels, value float64) error {
	return change(counter, name, labels, value)
}

// GaugeSet sets a gauge.
func GaugeSet(name string, labels Labels, value float64) error {
	return change(gauge, name, labels, value)
}

// HistogramObserve counts a value in a histogram.
func HistogramObserve(name string, labels Labels, value float64) error {
	return change(histogram, name, labels, value)
}

type kind uint8

const (
	counter kind = iota
	gauge
	histogram
)
