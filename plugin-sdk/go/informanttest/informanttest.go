//go:build !wasip1

// Package informanttest runs a plugin in an ordinary test, without WebAssembly and without a host.
package informanttest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	informant "github.com/informant-dev/informant/plugin-sdk/go"
	"github.com/informant-dev/informant/plugin-sdk/go/internal/native"
	"github.com/informant-dev/informant/plugin-sdk/go/synced"
	"github.com/informant-dev/informant/plugin-sdk/go/timer"
	"github.com/informant-dev/informant/plugin-sdk/go/workqueue"
)

// The actions of a plugin, as a test sees them.
type (
	// Write is a write to the cluster.
	Write = native.Write
	// Request is an HTTP request.
	Request = native.Request
	// Response is the answer to a request.
	Response = native.Response
)

// Host is a host with one plugin.
type Host struct {
	t          testing.TB
	plugin     informant.Plugin
	host       *native.Host
	descriptor *informant.Descriptor
	lines      []string
	writes     []Write
	requests   []Request
	seq        uint64
	again      map[string]time.Duration
}

// Start describes and starts a plugin with this configuration. nil means no configuration.
func Start(t testing.TB, plugin informant.Plugin, config any) *Host {
	t.Helper()
	h := &Host{t: t, plugin: plugin, host: native.NewHost()}
	h.host.Log = func(level uint32, message string, fields [][2]string) {
		words := [...]string{"trace", "debug", "info", "warn", "error"}
		line := []string{words[min(level, 4)], message}
		for _, field := range fields {
			line = append(line, field[0]+"="+field[1])
		}
		h.lines = append(h.lines, strings.Join(line, " "))
		t.Log(strings.Join(line, " "))
	}
	native.Use(h.host)
	t.Cleanup(func() { native.Use(native.NewHost()) })
	var text informant.Config
	if config != nil {
		text = informant.Config(h.json(config))
	}
	descriptor, err := plugin.Describe(text)
	if err != nil {
		t.Fatalf("describe: %v", err)
	}
	h.descriptor = descriptor
	for _, index := range descriptor.Indexes {
		h.host.Index(index.Resource, index.Name, index.Pointer)
	}
	if err := plugin.Start(text); err != nil {
		t.Fatalf("start: %v", err)
	}
	return h
}

// Descriptor returns the plugin's descriptor.
func (h *Host) Descriptor() *informant.Descriptor { return h.descriptor }

// Put puts an object into the cache without an event.
func (h *Host) Put(resource string, object any) json.RawMessage {
	h.t.Helper()
	text := h.json(object)
	namespace, name := native.KeyOf(text)
	h.host.Put(resource, informant.Key{Namespace: namespace, Name: name}.String(), text)
	return text
}

// Remove removes an object from the cache without an event.
func (h *Host) Remove(resource string, key informant.Key) { h.host.Put(resource, key.String(), nil) }

// Add delivers an added object to the plugin. If the subscription has rules in Enqueue, the keys of the object wait
// instead, as in a host. Of the subscription's conditions Types and OnlyIfChanged count: the object is in the view, and
// passes the filter. The same holds for Update and Delete.
func (h *Host) Add(resource string, object any) error {
	h.t.Helper()
	return h.tell(resource, informant.Added, h.Put(resource, object), nil)
}

// Update delivers a changed object to the plugin.
func (h *Host) Update(resource string, before, after any) error {
	h.t.Helper()
	return h.tell(resource, informant.Updated, h.Put(resource, after), h.json(before))
}

// Delete delivers a deleted object to the plugin.
func (h *Host) Delete(resource string, object any) error {
	h.t.Helper()
	text := h.json(object)
	namespace, name := native.KeyOf(text)
	h.host.Put(resource, informant.Key{Namespace: namespace, Name: name}.String(), nil)
	return h.tell(resource, informant.Deleted, nil, text)
}

// subscription returns the index of the subscription to a resource.
func (h *Host) subscription(resource string) int {
	h.t.Helper()
	place := slices.IndexFunc(h.descriptor.Subscriptions, func(one informant.Subscription) bool {
		return one.Resource == resource
	})
	if place < 0 {
		h.t.Fatalf("the plugin does not subscribe to %s", resource)
	}
	return place
}

func (h *Host) tell(resource string, change informant.Change, object, old json.RawMessage) error {
	h.t.Helper()
	place := h.subscription(resource)
	subscription := h.descriptor.Subscriptions[place]
	if len(subscription.Types) > 0 && !slices.Contains(subscription.Types, change.String()) {
		return nil
	}
	differs := func(pointer string) bool { return native.Differs(object, old, pointer) }
	if change == informant.Updated && len(subscription.OnlyIfChanged) > 0 && !slices.ContainsFunc(subscription.OnlyIfChanged, differs) {
		return nil
	}
	for _, rule := range subscription.Enqueue {
		made := native.Rule{Owner: rule.Owner, Pointer: rule.Pointer, Namespace: rule.Namespace, Prefix: rule.Prefix}
		for _, state := range []json.RawMessage{old, object} {
			if state == nil {
				continue
			}
			for _, key := range made.KeysOf(state) {
				h.host.AddKey(key)
			}
		}
	}
	if len(subscription.Enqueue) > 0 {
		return nil
	}
	h.host.New, h.host.Old = object, old
	defer func() { h.host.New, h.host.Old = nil, nil }()
	h.seq++
	event := &informant.Event{
		Seq: h.seq, Subscription: uint32(place), Change: change, Reason: informant.Watch, Attempt: 1,
		ResourceVersion: fmt.Sprint(h.seq), Object: object, Old: old,
	}
	of := object
	if change == informant.Deleted {
		of, event.Gone = old, informant.GoneDeleted
	} else if !subscription.WithOld {
		event.Old = nil
	}
	event.Key.Namespace, event.Key.Name = native.KeyOf(of)
	if subscription.Delivery == "lazy" {
		event.Object, event.Old = nil, nil
	}
	return informant.Guard(func() error { return h.plugin.Handle(event) })
}

// Reconcile lets the plugin, or the registered Reconciler of workqueue, work on every key that is due, in turn, until one
// fails. Its key comes again as the failure says.
func (h *Host) Reconcile() error {
	reconciler, ok := h.plugin.(workqueue.Reconciler)
	if !ok {
		reconciler = workqueue.Registered()
	}
	h.again = map[string]time.Duration{}
	for len(h.host.Keys) > 0 {
		key, attempt := h.host.TakeKey()
		var again time.Duration
		err := informant.Guard(func() (err error) {
			again, err = reconciler.Reconcile(key, attempt)
			return err
		})
		if err != nil {
			never, wait := informant.Retry(err)
			h.host.SettleKey(true, never, wait)
			return err
		}
		h.host.SettleKey(false, false, again)
		if again > 0 {
			h.again[key] = again
		}
	}
	return nil
}

// Wait lets time pass for the queue: the delayed keys that are due by then wait in Keys, in the order of their times. It
// does not wait, and it moves neither time.Now nor schedules: call Fire.
func (h *Host) Wait(passes time.Duration) { h.host.Wait(passes) }

// Delayed returns the time until each delayed key is due.
func (h *Host) Delayed() map[string]time.Duration { return h.host.Delayed() }

// Again returns the times after which keys come again, as the last Reconcile was answered.
func (h *Host) Again() map[string]time.Duration { return h.again }

// Fire calls Fire of the plugin, or of the registered Timer of timer.
func (h *Host) Fire(schedule string, at time.Time) error {
	h.t.Helper()
	if !slices.ContainsFunc(h.descriptor.Schedules, func(one informant.Schedule) bool { return one.Name == schedule }) {
		h.t.Fatalf("the plugin has no schedule %q", schedule)
	}
	called, ok := h.plugin.(timer.Timer)
	if !ok {
		called = timer.Registered()
	}
	return informant.Guard(func() error { return called.Fire(schedule, at) })
}

// Synced calls Synced of the plugin, or of the registered Aware of synced: the initial objects of the subscription to
// a resource were delivered.
func (h *Host) Synced(resource string) error {
	h.t.Helper()
	aware, ok := h.plugin.(synced.Aware)
	if !ok {
		aware = synced.Registered()
	}
	place := h.subscription(resource)
	return informant.Guard(func() error { return aware.Synced(uint32(place)) })
}

// SetShard sets the number of this instance, and the number of instances: informant.Shard. One of one by default.
func (h *Host) SetShard(number, count int) { h.host.Shard = [2]int{number, count} }

// Keys returns the keys that are due.
func (h *Host) Keys() []string { return slices.Clone(h.host.Keys) }

// Lines returns the lines that the plugin logged: the level, the message, the fields.
func (h *Host) Lines() []string { return slices.Clone(h.lines) }

// Series returns the plugin's metrics. A key is the name, a space, and the labels as fmt.Sprint formats them.
func (h *Host) Series() map[string]float64 { return h.host.Series }

// AnswerWrites sets the answers to writes. Writes returns the writes.
func (h *Host) AnswerWrites(answer func(Write) (json.RawMessage, error)) {
	h.host.Write = func(write Write) (json.RawMessage, error) {
		h.writes = append(h.writes, write)
		return answer(write)
	}
}

// Writes returns the writes of the plugin.
func (h *Host) Writes() []Write { return slices.Clone(h.writes) }

// AnswerRequests sets the answers to requests. Requests returns the requests.
func (h *Host) AnswerRequests(answer func(Request) (Response, error)) {
	h.host.Ask = func(request Request) (Response, error) {
		h.requests = append(h.requests, request)
		return answer(request)
	}
}

// Requests returns the requests of the plugin.
func (h *Host) Requests() []Request { return slices.Clone(h.requests) }

func (h *Host) json(value any) json.RawMessage {
	h.t.Helper()
	switch text := value.(type) {
	case string:
		return json.RawMessage(text)
	case json.RawMessage:
		return text
	}
	text, err := json.Marshal(value)
	if err != nil {
		h.t.Fatalf("an object that is no JSON: %v", err)
	}
	return text
}
