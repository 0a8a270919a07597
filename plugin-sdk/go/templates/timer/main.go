// This plugin counts the pending pods, every minute.
package main

import (
	"encoding/json"
	"log/slog"
	"time"

	informant "github.com/informant-dev/informant/plugin-sdk/go"
	"github.com/informant-dev/informant/plugin-sdk/go/indexer"
	"github.com/informant-dev/informant/plugin-sdk/go/timer"
)

const pods = "v1/pods"

type counter struct{}

func (counter) Describe(informant.Config) (*informant.Descriptor, error) {
	return &informant.Descriptor{
		Version:   "0.1.0",
		Reads:     []informant.Read{{Resource: pods}},
		Schedules: []informant.Schedule{{Name: "minute", Every: "1m"}},
	}, nil
}

func (counter) Start(informant.Config) error { return nil }

// Handle gets no events: there is no subscription.
func (counter) Handle(*informant.Event) error { return nil }

func (counter) Fire(schedule string, at time.Time) error {
	var failed error
	pending := 0
	err := indexer.List(pods, indexer.All, "", func(object json.RawMessage) bool {
		var pod struct{ Status struct{ Phase string } }
		failed = json.Unmarshal(object, &pod)
		if pod.Status.Phase == "Pending" {
			pending++
		}
		return failed == nil
	})
	if err == nil {
		err = failed
	}
	if err == nil {
		slog.Info("pending pods", "count", pending)
	}
	return err
}

func init() {
	informant.Register(counter{})
	timer.Register(counter{})
}

func main() {}
