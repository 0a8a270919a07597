// This plugin greets every pod.
package main

import (
	"log/slog"

	informant "github.com/informant-dev/informant/plugin-sdk/go"
)

type hello struct {
	Greeting string `json:"greeting"`
}

func (h *hello) Describe(informant.Config) (*informant.Descriptor, error) {
	return &informant.Descriptor{
		Version:       "0.1.0",
		Subscriptions: []informant.Subscription{{Resource: "v1/pods"}},
	}, nil
}

func (h *hello) Start(config informant.Config) error {
	h.Greeting = "hello"
	return config.Decode(h)
}

func (h *hello) Handle(event *informant.Event) error {
	slog.Info(h.Greeting, "change", event.Change, "pod", event.Key)
	return nil
}

func init() { informant.Register(&hello{}) }

func main() {}
