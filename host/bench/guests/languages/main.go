// Hello says each pod's phase.
package main

import (
	"log/slog"

	informant "github.com/informant-dev/informant/plugin-sdk/go"
)

type hello struct{}

func (hello) Describe(informant.Config) (*informant.Descriptor, error) {
	return &informant.Descriptor{
		Version:       "0.1.0",
		Subscriptions: []informant.Subscription{{Resource: "v1/pods"}},
	}, nil
}

func (hello) Start(informant.Config) error { return nil }

func (hello) Handle(event *informant.Event) error {
	var pod struct {
		Status struct {
			Phase string `json:"phase"`
		} `json:"status"`
	}
	if err := event.Decode(&pod); err != nil {
		return err
	}
	slog.Info("hello: pod " + event.Key.String() + " is " + pod.Status.Phase)
	return nil
}

func init() { informant.Register(hello{}) }

func main() {}
