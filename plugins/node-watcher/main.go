// Node-watcher lists all nodes after the first sync. Then it logs and counts changes of nodes: additions, deletions, readiness, cordons, drains and
// conditions such as DiskPressure. Heartbeats are no changes.
//
// The host compares the relevant fields before it calls the plugin (the filter below). A quiet cluster costs nothing here.
package main

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	informant "github.com/informant-dev/informant/plugin-sdk/go"
	"github.com/informant-dev/informant/plugin-sdk/go/eventdata"
	"github.com/informant-dev/informant/plugin-sdk/go/indexer"
	"github.com/informant-dev/informant/plugin-sdk/go/synced"
	"github.com/informant-dev/informant/plugin-sdk/go/timer"
)

const (
	nodes = "v1/nodes"
	pods  = "v1/pods"
	// The indexes: all nodes, those that are cordoned, pods by their node.
	byName   = "name"
	cordoned = "unschedulable"
	byNode   = "node"
	// The schedules: a look at drains, and gauges that are set again.
	drains  = "drains"
	measure = "measure"
)

// measureEvery is well below the hour after which the host drops a series that nobody sets.
const measureEvery = "20m"

// What differs in an update that is told: whether it is cordoned, and its conditions. A heartbeat changes their times alone.
var filter = "change != 'updated' || " + isCordoned("object") + " != " + isCordoned("old") + " || " + hasConditions("object") + " != " + hasConditions("old") +
	" || (" + hasConditions("object") + " && " + conditionsOf("object") + " != " + conditionsOf("old") + ")"

func isCordoned(of string) string {
	return fmt.Sprintf("(has(%[1]s.spec) && has(%[1]s.spec.unschedulable) && %[1]s.spec.unschedulable)", of)
}

func hasConditions(of string) string {
	return fmt.Sprintf("(has(%[1]s.status) && has(%[1]s.status.conditions))", of)
}

func conditionsOf(of string) string { return of + ".status.conditions.map(c, c.type + '=' + c.status)" }

// The settings, as in node-watcher.yaml.
type settings struct {
	// Conditions that are trouble where they are true.
	Conditions []string `json:"conditions"`
	// Drains are told where this is set; pods are read for that.
	Drains bool `json:"drains"`
	// DrainCheck is how often cordoned nodes are looked at.
	DrainCheck string `json:"drainCheck"`
	// List is the most nodes that are listed after the first sync; 0 lists none.
	List int `json:"list"`
}

func read(config informant.Config) (settings, error) {
	found := settings{
		Conditions: []string{"MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"},
		Drains:     true,
		DrainCheck: "10s",
		List:       1000,
	}
	if err := config.Decode(&found); err != nil {
		return found, err
	}
	if len(found.Conditions) > conditionsMax {
		return found, fmt.Errorf("`conditions` names %d: name %d at most", len(found.Conditions), conditionsMax)
	}
	if slices.Contains(found.Conditions, ready) {
		return found, errors.New("`conditions` names Ready: it is told without being named, and is good where it is true")
	}
	if found.List < 0 || found.List > listMax {
		return found, fmt.Errorf("`list` is %d: set it to 0 to %d", found.List, listMax)
	}
	return found, nil
}

// listMax keeps the list within one second of the host's default log budget: 5,000 lines.
const listMax = 4000

// conditionsMax bounds the series: one for each condition.
const conditionsMax = 32

type watcher struct {
	settings
	// nodes are what they were when they were last heard of; nil until all have been read.
	nodes map[string]node
}

func (w *watcher) Describe(config informant.Config) (*informant.Descriptor, error) {
	settings, err := read(config)
	if err != nil {
		return nil, err
	}
	descriptor := &informant.Descriptor{
		Version: "0.1.0",
		Subscriptions: []informant.Subscription{{
			Resource: nodes, Delivery: "lazy", Replay: "never",
			OnlyIfChanged: []string{unschedulableAt, conditionsAt},
			Filter:        filter,
		}},
		Indexes:   []informant.Index{{Resource: nodes, Name: byName, Pointer: "/metadata/name"}},
		Schedules: []informant.Schedule{{Name: measure, Every: measureEvery}},
	}
	if settings.Drains {
		descriptor.Reads = []informant.Read{{Resource: pods}}
		descriptor.Indexes = append(descriptor.Indexes,
			informant.Index{Resource: nodes, Name: cordoned, Pointer: unschedulableAt},
			informant.Index{Resource: pods, Name: byNode, Pointer: "/spec/nodeName"})
		descriptor.Schedules = append(descriptor.Schedules, informant.Schedule{Name: drains, Every: settings.DrainCheck})
	}
	return descriptor, nil
}

func (w *watcher) Start(config informant.Config) (err error) {
	w.settings, err = read(config)
	return err
}

// Synced reads all nodes, once for each instance: from then on events say what changes.
func (w *watcher) Synced(uint32) error {
	found := map[string]node{}
	var failed error
	err := indexer.IndexValues(nodes, byName, func(name string) bool {
		var fields []*string
		if fields, failed = indexer.Fields(nodes, informant.Key{Name: name}, unschedulableAt, conditionsAt); failed == nil && fields != nil {
			found[name] = parse(fields)
		}
		return failed == nil
	})
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	w.nodes = found
	w.summary()
	w.list()
	return w.measure()
}

func (w *watcher) Handle(event *informant.Event) error {
	name := event.Key.Name
	before := parse(eventdata.Fields(eventdata.Old, unschedulableAt, conditionsAt))
	now := parse(eventdata.Fields(eventdata.New, unschedulableAt, conditionsAt))
	var changes []change
	switch event.Change {
	case informant.Added:
		changes = joined(now, w.Conditions)
	case informant.Deleted:
		changes = []change{{name: "deleted", text: "is gone"}}
	default:
		changes = differences(before, now, w.Conditions)
	}
	if err := count(changes); err != nil {
		return err
	}
	for _, change := range changes {
		change.tell(name)
	}
	if w.Drains && !now.unschedulable {
		if err := forgetDrain(name); err != nil {
			return err
		}
	}
	if w.nodes == nil {
		return nil
	}
	if event.Change == informant.Deleted {
		delete(w.nodes, name)
	} else {
		w.nodes[name] = now
	}
	return w.measure()
}

// Fire sets the gauges again, or looks whether the nodes that are cordoned are empty.
func (w *watcher) Fire(schedule string, _ time.Time) error {
	switch {
	case w.nodes == nil:
		// Before the first sync a node that is not in the cache may well exist.
		return nil
	case schedule == measure:
		return w.measure()
	default:
		return lookAtDrains()
	}
}

// summary is one line on what there is, with the names of those that are not as they should be.
func (w *watcher) summary() {
	of := map[string][]string{}
	for name, node := range w.nodes {
		of[node.state()] = append(of[node.state()], name)
		if node.unschedulable {
			of["cordoned"] = append(of["cordoned"], name)
		}
	}
	slog.Info("watching nodes", "nodes", len(w.nodes), "ready", len(of[isReady]), "not-ready", some(of[notReady]),
		"unknown", some(of[unknown]), "cordoned", some(of["cordoned"]))
}

// list is one line for each node, by name, up to the bound.
func (w *watcher) list() {
	if w.List == 0 {
		return
	}
	for place, name := range slices.Sorted(maps.Keys(w.nodes)) {
		if place == w.List {
			slog.Info("the list of nodes ends here", "listed", place, "nodes", len(w.nodes))
			return
		}
		node := w.nodes[name]
		state := node.state()
		if node.unschedulable {
			state += ", cordoned"
		}
		slog.Info("node "+name+": "+state, "node", name)
	}
}

// some is the first of these names, sorted, and how many more there are.
func some(names []string) string {
	const shown = 10
	slices.Sort(names)
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}

func init() {
	w := &watcher{}
	informant.Register(w)
	synced.Register(w)
	timer.Register(w)
}

func main() {}
