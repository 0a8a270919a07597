// Fails does with every pod what the pod's annotation asks for. The host's tests of this SDK use it.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	informant "github.com/informant-dev/informant/plugin-sdk/go"
	"github.com/informant-dev/informant/plugin-sdk/go/eventdata"
	"github.com/informant-dev/informant/plugin-sdk/go/fetch"
	"github.com/informant-dev/informant/plugin-sdk/go/indexer"
	"github.com/informant-dev/informant/plugin-sdk/go/kube"
	"github.com/informant-dev/informant/plugin-sdk/go/metrics"
	"github.com/informant-dev/informant/plugin-sdk/go/state"
	"github.com/informant-dev/informant/plugin-sdk/go/stateful"
	"github.com/informant-dev/informant/plugin-sdk/go/synced"
	"github.com/informant-dev/informant/plugin-sdk/go/timer"
	"github.com/informant-dev/informant/plugin-sdk/go/workqueue"
)

type fails struct{ fired bool }

func (*fails) Describe(informant.Config) (*informant.Descriptor, error) {
	return &informant.Descriptor{
		Version:       "0.1.0",
		Subscriptions: []informant.Subscription{{Resource: "v1/pods", WithOld: true}},
		Indexes:       []informant.Index{{Resource: "v1/pods", Name: "app", Pointer: "/metadata/labels/app"}},
		Schedules:     []informant.Schedule{{Name: "soon", Every: "1s"}},
	}, nil
}

func (*fails) Start(informant.Config) error { return nil }

func (f *fails) Handle(event *informant.Event) error {
	var pod struct {
		Metadata struct{ Annotations map[string]string }
	}
	if err := event.Decode(&pod); err != nil || event.Change != informant.Added {
		return err
	}
	switch pod.Metadata.Annotations["does"] {
	case "fail":
		return informant.Never(errors.New("asked to fail"))
	case "panic":
		panic("asked to panic by " + event.Key.Name)
	case "exit":
		fmt.Println("that was all")
		os.Exit(3)
	case "look":
		began := time.Now()
		time.Sleep(20 * time.Millisecond)
		_, err := os.ReadFile("/etc/passwd")
		slog.Info("looked", "environment", len(os.Environ()), "file", err, "slept", time.Since(began) >= 20*time.Millisecond)
		return nil
	case "use":
		return use(event)
	}
	slog.Info("well", "pod", event.Key)
	return nil
}

// use calls every function of the host once.
func use(event *informant.Event) error {
	name, ok := eventdata.Text(eventdata.New, "/metadata/name")
	fields, err := indexer.Fields("v1/pods", event.Key, "/metadata/labels/app", "/none")
	if err != nil || len(fields) != 2 || fields[0] == nil || fields[1] != nil {
		return fmt.Errorf("fields: %v %v", fields, err)
	}
	found := 0
	count := func(json.RawMessage) bool { found++; return true }
	none, errGet := indexer.Get("v1/pods", informant.Key{Namespace: event.Key.Namespace, Name: "none"})
	errs := errors.Join(errGet,
		indexer.List("v1/pods", indexer.Namespace(event.Key.Namespace), "app", count),
		indexer.ByIndex("v1/pods", "app", "sdk", count),
		indexer.IndexKeys("v1/pods", "app", "sdk", func(key informant.Key) bool { found++; return key.Name != "" }),
		indexer.IndexValues("v1/pods", "app", func(value string) bool { found++; return true }),
		state.Set("a", []byte("1")),
		metrics.CounterAdd("sdk_total", metrics.Labels{"language": "go"}, 1),
		metrics.GaugeSet("sdk_gauge", nil, 2),
		metrics.HistogramObserve("sdk_seconds", nil, 3),
	)
	swapped, errSwap := state.CompareAndSet("a", []byte("1"), []byte("2"))
	value, errValue := state.Get("a")
	keys, errKeys := state.Keys("")
	pods, errCount := indexer.Count("v1/pods", indexer.All)
	if number, count := informant.Shard(); number != 0 || count != 1 {
		return fmt.Errorf("this is shard %d of %d", number, count)
	}
	synced, errSynced := indexer.HasSynced("v1/pods")
	_, errUnknown := indexer.Get("v1/nothing", event.Key)
	_, errPatch := kube.Patch(kube.Object{Resource: "v1/pods", Key: event.Key}, kube.Merge, "{}")
	_, errFetch := fetch.Do(fetch.Request{URL: "https://example.com", Headers: map[string]string{"a": "b"}})
	var refused *indexer.Error
	var denied *kube.Error
	var closed *fetch.Error
	workqueue.Add(event.Key.String())
	slog.Info("used", "name", name, "ok", ok, "none", none == nil, "found", found > 3, "swapped", swapped,
		"value", string(value), "keys", len(keys), "pods", pods > 0, "synced", synced, "leader", informant.IsLeader(),
		"plugin", informant.Name(), "old", eventdata.JSON(eventdata.Old) == nil,
		"refused", errors.As(errUnknown, &refused), "denied", errors.As(errPatch, &denied) && denied.Kind == kube.NotGranted,
		"closed", errors.As(errFetch, &closed) && closed.Kind == fetch.NotGranted)
	return errors.Join(errs, errSwap, errValue, errKeys, errCount, errSynced)
}

func (*fails) Reconcile(key string, attempt uint32) (time.Duration, error) {
	slog.Info("reconciled", "attempt", attempt, "waiting", workqueue.Len())
	return 0, nil
}

func (f *fails) Fire(schedule string, at time.Time) error {
	if !f.fired {
		slog.Info("fired", "schedule", schedule, "ago", time.Since(at) < time.Hour)
	}
	f.fired = true
	return nil
}

func (*fails) Synced(subscription uint32) error {
	slog.Info("synced", "subscription", subscription)
	return nil
}

func (f *fails) Snapshot() ([]byte, error) { return []byte("carried"), nil }

func (f *fails) Restore(from string, data []byte) error {
	slog.Info("restored", "from", from, "data", string(data))
	return nil
}

func (*fails) Stop() { slog.Info("stopped") }

func init() {
	f := &fails{}
	informant.Register(f)
	workqueue.Register(f)
	timer.Register(f)
	synced.Register(f)
	stateful.Register(f)
}

func main() {}
