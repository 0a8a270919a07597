// The golden plugin in Go. Its twins in the other languages do the same, call by call.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
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

const (
	pods   = "v1/pods"
	app    = "/metadata/labels/app"
	origin = "https://golden.example"
)

type golden struct{}

func (golden) Describe(informant.Config) (*informant.Descriptor, error) {
	return &informant.Descriptor{
		Version: "0.1.0",
		Subscriptions: []informant.Subscription{
			{Resource: pods, WithOld: true},
			{Resource: "v1/configmaps", Enqueue: []informant.Enqueue{{Self: true, Prefix: "config/"}}},
		},
		Indexes:   []informant.Index{{Resource: pods, Name: "app", Pointer: app}},
		Writes:    []informant.Write{{Resource: pods, Verbs: []string{"patch"}}},
		HTTP:      []informant.HTTP{{Origins: []string{origin}, Methods: []string{"POST"}}},
		Schedules: []informant.Schedule{{Name: "minutely", Every: "60s"}},
	}, nil
}

func (golden) Start(config informant.Config) error {
	var options struct{ Greeting string }
	err := config.Decode(&options)
	slog.Info("started", "greeting", options.Greeting)
	return err
}

func (golden) Handle(event *informant.Event) error {
	switch {
	case event.Key.Name == "fails" && event.Attempt == 1:
		return informant.After(errors.New("asked to fail"), 50*time.Millisecond)
	case event.Key.Name == "gives-up":
		return informant.Never(errors.New("asked to give up"))
	}
	old := "none"
	if event.Old != nil {
		old = "there"
	}
	slog.Info("told", "change", event.Change, "reason", event.Reason, "key", event.Key, "old", old)
	switch event.Change {
	case informant.Added:
		return read(event)
	case informant.Updated:
		return write(event)
	}
	return nil
}

// read is everything that reads and counts.
func read(event *informant.Event) error {
	name, _ := eventdata.Text(eventdata.New, app)
	fields, err := indexer.Fields(pods, event.Key, app, "/none")
	if err != nil {
		return err
	}
	absent, err := indexer.Get(pods, informant.Key{Namespace: "shop", Name: "absent"})
	if err != nil {
		return err
	}
	var listed, filed, keys, values int
	err = errors.Join(
		indexer.List(pods, indexer.Namespace("shop"), "app=web", func(json.RawMessage) bool { listed++; return true }),
		indexer.ByIndex(pods, "app", "web", func(json.RawMessage) bool { filed++; return true }),
		indexer.IndexKeys(pods, "app", "web", func(informant.Key) bool { keys++; return true }),
		indexer.IndexValues(pods, "app", func(string) bool { values++; return true }),
	)
	if err != nil {
		return err
	}
	count, err := indexer.Count(pods, indexer.All)
	if err != nil {
		return err
	}
	isSynced, err := indexer.HasSynced(pods)
	if err != nil {
		return err
	}
	seen, kept, err := remember()
	if err != nil {
		return err
	}
	err = errors.Join(
		metrics.CounterAdd("golden_total", metrics.Labels{"app": name}, 1),
		metrics.GaugeSet("golden_pods", nil, 2),
		metrics.HistogramObserve("golden_seconds", nil, 0.5),
	)
	if err != nil {
		return err
	}
	workqueue.Add(event.Key.String())
	found := fmt.Sprintf("%d %d %d %d %d", listed, filed, keys, values, count)
	slog.Info("read", "app", name, "found", found, "absent", word(absent == nil && fields[1] == nil, "none", "there"),
		"synced", word(isSynced, "yes", "no"), "seen", seen, "kept", kept, "plugin", informant.Name())
	return nil
}

// remember counts in the plugin's state.
func remember() (seen, kept int, err error) {
	known, err := state.Get("seen")
	if err != nil {
		return 0, 0, err
	}
	seen, _ = strconv.Atoi(string(known))
	seen++
	if err := state.Set("seen", []byte(strconv.Itoa(seen))); err != nil {
		return 0, 0, err
	}
	keys, err := state.Keys("")
	return seen, len(keys), err
}

// write is everything that is sent.
func write(event *informant.Event) error {
	changed := word(eventdata.Changed("/metadata/labels"), "changed", "the same")
	patch := `{"metadata":{"annotations":{"golden":"seen"}}}`
	if _, err := kube.Patch(kube.Object{Resource: pods, Key: event.Key}, kube.Merge, patch); err != nil {
		return err
	}
	answer, err := fetch.Do(fetch.Request{Method: "POST", URL: origin + "/pods", Body: []byte(event.Key.String())})
	if err != nil {
		return err
	}
	slog.Warn("sent", "labels", changed, "status", answer.Status, "answer", string(answer.Body))
	return nil
}

func word(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

func (golden) Reconcile(key string, attempt uint32) (time.Duration, error) {
	slog.Info("reconciled", "key", key, "attempt", attempt, "waiting", workqueue.Len())
	once := "once/" + key
	known, err := state.Get(once)
	if err != nil || known != nil {
		return 0, err
	}
	return time.Second, state.Set(once, []byte(strconv.Itoa(int(attempt))))
}

func (golden) Fire(schedule string, at time.Time) error {
	slog.Info("fired", "schedule", schedule, "at", at.UnixMilli())
	return nil
}

func (golden) Synced(subscription uint32) error {
	slog.Info("synced", "subscription", subscription)
	return nil
}

func (golden) Snapshot() ([]byte, error) { return []byte(`"carried"`), nil }

func (golden) Restore(from string, data []byte) error {
	slog.Info("restored", "from", from)
	return nil
}

func (golden) Stop() { slog.Info("stopped") }

func init() {
	g := golden{}
	informant.Register(g)
	workqueue.Register(g)
	timer.Register(g)
	synced.Register(g)
	stateful.Register(g)
}

func main() {}
