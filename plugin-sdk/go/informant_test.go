package informant_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	informant "github.com/informant-dev/informant/plugin-sdk/go"
	"github.com/informant-dev/informant/plugin-sdk/go/eventdata"
	"github.com/informant-dev/informant/plugin-sdk/go/fetch"
	"github.com/informant-dev/informant/plugin-sdk/go/indexer"
	"github.com/informant-dev/informant/plugin-sdk/go/informanttest"
	"github.com/informant-dev/informant/plugin-sdk/go/kube"
	"github.com/informant-dev/informant/plugin-sdk/go/metrics"
	"github.com/informant-dev/informant/plugin-sdk/go/state"
	"github.com/informant-dev/informant/plugin-sdk/go/workqueue"
)

// does is a plugin that calls this function for every event, and for every key.
type does func(*informant.Event) error

func (does) Describe(informant.Config) (*informant.Descriptor, error) {
	return &informant.Descriptor{
		Version:       "1",
		Subscriptions: []informant.Subscription{{Resource: "v1/pods", WithOld: true}},
		Indexes:       []informant.Index{{Resource: "v1/pods", Name: "app", Pointer: "/metadata/labels/app"}},
	}, nil
}
func (does) Start(informant.Config) error          { return nil }
func (d does) Handle(event *informant.Event) error { return d(event) }

func pod(name, app string) string {
	return fmt.Sprintf(`{"metadata": {"namespace": "shop", "name": %q, "labels": {"app": %q}}}`, name, app)
}

func equal(t *testing.T, found, want any) {
	t.Helper()
	if !reflect.DeepEqual(found, want) {
		t.Fatalf("%#v is not %#v", found, want)
	}
}

func TestAConfigurationIsStrictAndOptional(t *testing.T) {
	options := struct{ Greeting string }{"hello"}
	equal(t, informant.Config(nil).Decode(&options), error(nil))
	equal(t, informant.Config(" {}").Decode(&options), error(nil))
	equal(t, options.Greeting, "hello")
	err := informant.Config(`{"greting": "x"}`).Decode(&options)
	never, _ := informant.Retry(err)
	if err == nil || !never {
		t.Fatal(err)
	}
}

type place struct {
	Name string
	Port int
}

type options struct {
	Names  []string
	Places []place
	Labels map[string]string
	Inner  struct{ Names []string }
	Pair   [2][]string
	// The configuration cannot set unexported fields.
	cache map[string]int
}

func TestAConfigurationIsNotWrittenIntoWhatOthersHave(t *testing.T) {
	names, places, labels := []string{"a", "b"}, []place{{"a", 1}}, map[string]string{"a": "1", "b": "2"}
	made := func() options {
		made := options{Names: names, Places: places, Labels: labels, Pair: [2][]string{names, names}, cache: map[string]int{"a": 1}}
		made.Inner.Names = names
		return made
	}
	check := func(config string, fits bool, want options) {
		t.Helper()
		found := made()
		equal(t, informant.Config(config).Decode(&found) == nil, fits)
		equal(t, found, want)
		equal(t, []any{names, places, labels}, []any{[]string{"a", "b"}, []place{{"a", 1}}, map[string]string{"a": "1", "b": "2"}})
	}
	said := made()
	said.Names = []string{"c"}
	check(`{"names": ["c"]}`, true, said)
	said = made()
	said.Names = []string{}
	check(`{"names": []}`, true, said)
	said = made()
	said.Places = []place{{"b", 0}}
	check(`{"places": [{"name": "b"}]}`, true, said)
	said = made()
	said.Labels = map[string]string{"a": "1", "b": "3", "c": "4"}
	check(`{"labels": {"b": "3", "c": "4"}}`, true, said)
	said = made()
	said.Inner.Names, said.Pair[0] = []string{"d"}, []string{"e"}
	check(`{"inner": {"names": ["d"]}, "pair": [["e"], null]}`, true, said)
	check(`{}`, true, made())
	check(`{"names": ["c", 1]}`, false, made())

	whole := names
	equal(t, informant.Config(`["c"]`).Decode(&whole), error(nil))
	equal(t, []any{whole, names}, []any{[]string{"c"}, []string{"a", "b"}})
	equal(t, informant.Config(`{}`).Decode((*options)(nil)) == nil, false)
	equal(t, informant.Config(`{}`).Decode(options{}) == nil, false)
}

func TestRetriesAreFoundThroughOtherErrors(t *testing.T) {
	wrapped := fmt.Errorf("while writing: %w", informant.After(errors.New("busy"), time.Second))
	never, after := informant.Retry(wrapped)
	equal(t, []any{never, after}, []any{false, time.Second})
	equal(t, wrapped.Error(), "while writing: busy")
	equal(t, informant.Never(nil), error(nil))
	never, after = informant.Retry(errors.New("plain"))
	equal(t, []any{never, after}, []any{false, time.Duration(0)})
}

func TestTheAPIServersTimeIsTheWait(t *testing.T) {
	refused := &kube.Error{Kind: kube.Status, Code: 429, Reason: "TooManyRequests", RetryAfter: 2 * time.Second}
	check := func(err error, wantNever bool, want time.Duration) {
		t.Helper()
		never, after := informant.Retry(err)
		equal(t, []any{never, after}, []any{wantNever, want})
	}
	check(refused, false, 2*time.Second)
	check(fmt.Errorf("while writing: %w", refused), false, 2*time.Second)
	check(informant.Never(refused), true, 0)
	check(informant.After(refused, time.Second), false, time.Second)
	check(&kube.Error{Kind: kube.Transport}, false, 0)
}

func TestADescriptorLeavesOutWhatIsNotSaid(t *testing.T) {
	descriptor, _ := does(nil).Describe(nil)
	text, _ := json.Marshal(descriptor)
	equal(t, string(text), `{"version":"1","subscriptions":[{"resource":"v1/pods","withOld":true}],`+
		`"indexes":[{"resource":"v1/pods","name":"app","pointer":"/metadata/labels/app"}]}`)
}

func TestLogsHaveTheirLevelsFieldsAndGroups(t *testing.T) {
	host := informanttest.Start(t, does(func(*informant.Event) error {
		slog.With("a", 1).WithGroup("g").Warn("careful", "b", true, slog.Group("h", "c", "d"))
		slog.Debug("detail")
		log.Print("old ways")
		return nil
	}), nil)
	equal(t, host.Add("v1/pods", pod("web", "x")), error(nil))
	equal(t, host.Lines(), []string{"warn careful a=1 g.b=true g.h.c=d", "debug detail", "info old ways"})
}

func TestAPanicIsAFailureWithItsPlace(t *testing.T) {
	host := informanttest.Start(t, does(func(event *informant.Event) error { panic(event.Change) }), nil)
	equal(t, host.Add("v1/pods", pod("web", "x")).Error(), "panic: added")
	equal(t, len(host.Lines()), 1)
}

func TestTheCacheIsReadByKeyLabelsAndIndex(t *testing.T) {
	var seen []string
	host := informanttest.Start(t, does(func(event *informant.Event) error {
		note := func(key informant.Key) bool { seen = append(seen, key.Name); return len(seen) < 3 }
		if err := indexer.IndexKeys("v1/pods", "app", "shop", note); err != nil {
			return err
		}
		values, err := indexer.Fields("v1/pods", event.Key, "/metadata/name", "/spec")
		if err != nil || *values[0] != `"web"` || values[1] != nil {
			return fmt.Errorf("%v %v", values, err)
		}
		return indexer.List("v1/pods", indexer.Namespace("shop"), "app=other", func(object json.RawMessage) bool {
			seen = append(seen, "listed")
			return true
		})
	}), nil)
	host.Put("v1/pods", pod("db", "shop"))
	host.Put("v1/pods", pod("cache", "other"))
	equal(t, host.Add("v1/pods", pod("web", "shop")), error(nil))
	equal(t, seen, []string{"db", "web", "listed"})
	err := indexer.IndexValues("v1/pods", "none", nil)
	var refused *indexer.Error
	if !errors.As(err, &refused) || refused.Kind != indexer.UnknownIndex {
		t.Fatal(err)
	}
}

func TestAnEventBringsItsObjects(t *testing.T) {
	host := informanttest.Start(t, does(func(event *informant.Event) error {
		var was struct {
			Metadata struct{ Labels map[string]string }
		}
		if found, err := event.DecodeOld(&was); !found || err != nil {
			return fmt.Errorf("no old object: %v", err)
		}
		app, ok := eventdata.Text(eventdata.New, "/metadata/labels/app")
		slog.Info("was", "before", was.Metadata.Labels["app"], "now", app, "ok", ok,
			"app", eventdata.Changed("/metadata/labels/app"), "name", eventdata.Changed("/metadata/name"))
		return nil
	}), nil)
	equal(t, host.Update("v1/pods", pod("web", "a"), pod("web", "b")), error(nil))
	equal(t, host.Lines(), []string{"info was before=a now=b ok=true app=true name=false"})
}

func TestStateAndMetricsAreKept(t *testing.T) {
	host := informanttest.Start(t, does(func(*informant.Event) error {
		swapped, err := state.CompareAndSet("seen", nil, []byte("1"))
		if err != nil || !swapped {
			return fmt.Errorf("not set: %v", err)
		}
		return metrics.CounterAdd("seen_total", metrics.Labels{"app": "x"}, 2)
	}), nil)
	equal(t, host.Add("v1/pods", pod("web", "x")), error(nil))
	if host.Add("v1/pods", pod("web", "x")) == nil {
		t.Fatal("it was set before")
	}
	keys, _ := state.Keys("se")
	equal(t, keys, []string{"seen"})
	equal(t, host.Series(), map[string]float64{"seen_total map[app:x]": 2})
}

func TestWritesAndRequestsAreAnswered(t *testing.T) {
	host := informanttest.Start(t, does(func(event *informant.Event) error {
		pods := kube.Object{Resource: "v1/pods", Key: event.Key}
		if _, err := kube.Patch(pods, kube.Merge, map[string]any{"a": 1}); !kube.IsReason(err, "Conflict") {
			return fmt.Errorf("not a conflict: %v", err)
		}
		answer, err := fetch.Do(fetch.Request{URL: "https://example.com"})
		if err == nil && answer.Headers["a"] != "1, 2" {
			err = fmt.Errorf("%v", answer.Headers)
		}
		return err
	}), nil)
	if err := host.Add("v1/pods", pod("web", "x")); err == nil {
		t.Fatal("nothing is granted")
	}
	host.AnswerWrites(func(informanttest.Write) (json.RawMessage, error) {
		return nil, &kube.Error{Kind: kube.Status, Code: 409, Reason: "Conflict", Message: "somebody else"}
	})
	host.AnswerRequests(func(informanttest.Request) (informanttest.Response, error) {
		return informanttest.Response{Status: 200, Headers: [][2]string{{"a", "1"}, {"a", "2"}}}, nil
	})
	equal(t, host.Add("v1/pods", pod("web", "x")), error(nil))
	equal(t, string(host.Writes()[0].Body), `{"a":1}`)
	equal(t, host.Requests()[0].Method, "GET")
}

type worker struct{ worked []string }

func (w *worker) Reconcile(key string, _ uint32) (time.Duration, error) {
	w.worked = append(w.worked, key)
	return 0, nil
}

type owners struct{ does }

func (owners) Describe(informant.Config) (*informant.Descriptor, error) {
	return &informant.Descriptor{Version: "1", Subscriptions: []informant.Subscription{{Resource: "v1/pods", Enqueue: []informant.Enqueue{
		{Self: true}, {Owner: "apps/v1/ReplicaSet", Prefix: "rs/"}, {Pointer: "/spec/nodeName", Namespace: "none", Prefix: "nodes/"},
	}}}}, nil
}

func (owners) Reconcile(key string, _ uint32) (time.Duration, error) {
	if strings.HasPrefix(key, "rs/") {
		return time.Minute, nil
	}
	return 0, nil
}

func TestEventsOfASubscriptionWithEnqueueRulesAreKeysOfTheOldStateAndOfTheNewOne(t *testing.T) {
	host := informanttest.Start(t, owners{}, nil)
	owned := func(name, node string) string {
		const owners = `[{"apiVersion": "apps/v1beta1", "kind": "ReplicaSet", "name": %q}, {"apiVersion": "v1", "kind": "ReplicaSet", "name": "no"}]`
		return fmt.Sprintf(`{"metadata": {"namespace": "shop", "name": "web", "ownerReferences": `+owners+`}, "spec": {"nodeName": %q}}`, name, node)
	}
	equal(t, host.Update("v1/pods", owned("a", ""), owned("b", "n1")), nil)
	equal(t, host.Keys(), []string{"shop/web", "rs/shop/a", "rs/shop/b", "nodes/n1"})
	equal(t, host.Reconcile(), nil)
	equal(t, host.Again(), map[string]time.Duration{"rs/shop/a": time.Minute, "rs/shop/b": time.Minute})
	host.SetShard(2, 4)
	number, count := informant.Shard()
	equal(t, []int{number, count}, []int{2, 4})
}

func TestKeysAreWorkedOn(t *testing.T) {
	w := &worker{}
	workqueue.Register(w)
	host := informanttest.Start(t, does(func(event *informant.Event) error {
		workqueue.Add(event.Key.String())
		workqueue.Add(event.Key.String())
		return nil
	}), nil)
	equal(t, host.Add("v1/pods", pod("web", "x")), error(nil))
	equal(t, host.Keys(), []string{"shop/web"})
	equal(t, host.Reconcile(), error(nil))
	if !slices.Equal(w.worked, []string{"shop/web"}) {
		t.Fatal(w.worked)
	}
}

type filtered struct{ does }

func (filtered) Describe(informant.Config) (*informant.Descriptor, error) {
	return &informant.Descriptor{Version: "1", Subscriptions: []informant.Subscription{
		{Resource: "v1/pods", Types: []string{"updated", "deleted"}, OnlyIfChanged: []string{"/status/size", "/status/*"}},
	}}, nil
}

func TestAnUpdateThatChangesNoneOfThePointersIsNotDeliveredNorAChangeOfAnotherType(t *testing.T) {
	var told []string
	host := informanttest.Start(t, filtered{func(event *informant.Event) error {
		told = append(told, event.Key.Name)
		return nil
	}}, nil)
	sized := func(name string, size, more int) string {
		return fmt.Sprintf(`{"metadata": {"name": %q}, "status": {"size": %d, "more": %d}}`, name, size, more)
	}
	equal(t, host.Add("v1/pods", sized("added", 1, 1)), nil)
	equal(t, host.Update("v1/pods", sized("same", 1, 1), sized("same", 1, 2)), nil)
	equal(t, host.Update("v1/pods", sized("changed", 1, 1), sized("changed", 2, 1)), nil)
	equal(t, host.Delete("v1/pods", sized("deleted", 2, 1)), nil)
	equal(t, told, []string{"changed", "deleted"})
}

// delays works on keys as their names say.
type delays struct{ does }

func (delays) Describe(informant.Config) (*informant.Descriptor, error) {
	return &informant.Descriptor{Version: "1", Subscriptions: []informant.Subscription{{Resource: "v1/pods", Enqueue: []informant.Enqueue{{Self: true}}}}}, nil
}

func (delays) Reconcile(key string, attempt uint32) (time.Duration, error) {
	slog.Info(key, "attempt", attempt, "failures", workqueue.NumRequeues(key))
	switch key {
	case "shop/again":
		return 200 * time.Millisecond, nil
	case "shop/after":
		workqueue.AddAfter(key, 50*time.Millisecond)
	case "shop/limited":
		workqueue.AddRateLimited(key)
	case "shop/wait":
		return 0, informant.After(errors.New("busy"), 100*time.Millisecond)
	case "shop/fail":
		return 0, errors.New("broken")
	}
	return 0, nil
}

func TestADelayedKeyComesBackWhenItsTimeHasPassedTheEarliestOfSeveral(t *testing.T) {
	host := informanttest.Start(t, delays{}, nil)
	works := func(name string, fails bool) {
		t.Helper()
		host.Add("v1/pods", pod(name, "x"))
		if err := host.Reconcile(); (err != nil) != fails {
			t.Fatal(err)
		}
	}
	const ms = time.Millisecond
	works("again", false)
	works("after", false)
	works("limited", false)
	works("wait", true)
	works("fail", true)
	equal(t, host.Delayed(), map[string]time.Duration{
		"shop/again": 200 * ms, "shop/after": 50 * ms, "shop/limited": 5 * ms, "shop/wait": 100 * ms, "shop/fail": 5 * ms,
	})
	host.Wait(100 * ms)
	equal(t, host.Keys(), []string{"shop/limited", "shop/fail", "shop/after", "shop/wait"})
	equal(t, host.Delayed(), map[string]time.Duration{"shop/again": 100 * ms})

	// An event adds a key at once, and the old time still comes.
	host = informanttest.Start(t, delays{}, nil)
	works("again", false)
	host.Wait(100 * ms)
	works("again", false)
	equal(t, host.Delayed(), map[string]time.Duration{"shop/again": 100 * ms})
	host.Wait(99 * ms)
	equal(t, len(host.Keys()), 0)
	host.Wait(ms)
	equal(t, host.Keys(), []string{"shop/again"})
	works("fail", true)
	works("fail", true)
	equal(t, slices.Contains(host.Lines(), "info shop/fail attempt=2 failures=1"), true)
}
