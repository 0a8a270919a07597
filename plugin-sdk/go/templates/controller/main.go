// This plugin warns of Deployments with unavailable replicas, again every 30 s.
package main

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	informant "github.com/informant-dev/informant/plugin-sdk/go"
	"github.com/informant-dev/informant/plugin-sdk/go/indexer"
	"github.com/informant-dev/informant/plugin-sdk/go/workqueue"
)

const deployments = "apps/v1/deployments"

// deployment has the fields that this plugin reads.
type deployment struct {
	Spec   struct{ Replicas int }
	Status struct{ AvailableReplicas int }
}

type watcher struct{}

func (watcher) Describe(informant.Config) (*informant.Descriptor, error) {
	return &informant.Descriptor{
		Version: "0.1.0",
		// The host makes a key of every change: the namespace and name of the Deployment.
		Subscriptions: []informant.Subscription{{Resource: deployments, Enqueue: []informant.Enqueue{{Self: true}}}},
	}, nil
}

func (watcher) Start(informant.Config) error { return nil }

// Handle gets no events: the host makes keys of all of them.
func (watcher) Handle(*informant.Event) error { return nil }

func (watcher) Reconcile(key string, _ uint32) (again time.Duration, err error) {
	namespace, name, _ := strings.Cut(key, "/")
	var found deployment
	// A deleted Deployment is not in the cache.
	is, err := indexer.Decode(deployments, informant.Key{Namespace: namespace, Name: name}, &found)
	if err != nil || !is || found.Status.AvailableReplicas >= found.Spec.Replicas {
		return 0, err
	}
	available := fmt.Sprintf("%d of %d", found.Status.AvailableReplicas, found.Spec.Replicas)
	slog.Warn("replicas are unavailable", "deployment", key, "available", available)
	return 30 * time.Second, nil
}

func init() {
	informant.Register(watcher{})
	workqueue.Register(watcher{})
}

func main() {}
