package main

import (
	"encoding/json"
	"log/slog"
	"slices"

	"github.com/informant-dev/informant/plugin-sdk/go/metrics"
)

// What is read of a node.
const (
	unschedulableAt = "/spec/unschedulable"
	conditionsAt    = "/status/conditions"
)

// ready is the condition that is good where it is true.
const ready = "Ready"

// The states of a node, as its condition Ready has them.
const (
	isReady  = "ready"
	notReady = "not-ready"
	unknown  = "unknown"
)

type condition struct{ Type, Status, Reason, Message string }

// node is what matters of one.
type node struct {
	unschedulable bool
	conditions    []condition
}

// parse reads the two fields; what is not there, or is something else, is nothing.
func parse(fields []*string) node {
	var found node
	for place, into := range []any{&found.unschedulable, &found.conditions} {
		if place < len(fields) && fields[place] != nil {
			_ = json.Unmarshal([]byte(*fields[place]), into) // the API server has checked what it is
		}
	}
	return found
}

func (n node) condition(of string) condition {
	place := slices.IndexFunc(n.conditions, func(one condition) bool { return one.Type == of })
	if place < 0 {
		return condition{Type: of}
	}
	return n.conditions[place]
}

func (n node) has(of string) bool { return n.condition(of).Status == "True" }

func (n node) state() string {
	switch n.condition(ready).Status {
	case "True":
		return isReady
	case "False":
		return notReady
	}
	return unknown
}

// change is something to tell of a node: under a name for the counter, as a text behind the node's name.
type change struct {
	name, text string
	bad        bool
	why        condition
}

// joined is what there is to say of a node that is new.
func joined(now node, conditions []string) []change {
	state := now.condition(ready)
	changes := []change{{name: "added", text: "joined, " + now.state(), why: condition{Reason: state.Reason}}}
	// As if it had been well before.
	before := node{conditions: []condition{state}}
	return append(changes, differences(before, now, conditions)...)
}

// differences is what there is to say of a node that changed.
func differences(before, now node, conditions []string) []change {
	var changes []change
	if state := now.state(); state != before.state() {
		why := now.condition(ready)
		switch state {
		case isReady:
			changes = append(changes, change{name: isReady, text: "is ready"})
		case notReady:
			changes = append(changes, change{name: notReady, text: "is not ready", bad: true, why: why})
		default:
			changes = append(changes, change{name: unknown, text: "is not heard of", bad: true, why: why})
		}
	}
	if before.unschedulable != now.unschedulable {
		name := "uncordoned"
		if now.unschedulable {
			name = "cordoned"
		}
		changes = append(changes, change{name: name, text: "is " + name})
	}
	for _, of := range conditions {
		switch {
		case now.has(of) && !before.has(of):
			changes = append(changes, change{name: of, text: "has " + of, bad: true, why: now.condition(of)})
		case before.has(of) && !now.has(of):
			changes = append(changes, change{name: "no-" + of, text: "has no " + of + " any more"})
		}
	}
	return changes
}

func (c change) tell(name string) {
	line := slog.With("node", name, "change", c.name)
	if c.why.Reason != "" {
		line = line.With("reason", c.why.Reason)
	}
	if c.why.Message != "" {
		line = line.With("why", c.why.Message)
	}
	if c.bad {
		line.Warn("node " + name + " " + c.text)
	} else {
		line.Info("node " + name + " " + c.text)
	}
}

func count(changes []change) error {
	for _, change := range changes {
		if err := metrics.CounterAdd("node_watcher_changes_total", metrics.Labels{"change": change.name}, 1); err != nil {
			return err
		}
	}
	return nil
}

// measure sets the gauges to what there is.
func (w *watcher) measure() error {
	states := map[string]float64{}
	unschedulable, troubles := 0.0, map[string]float64{}
	for _, node := range w.nodes {
		states[node.state()]++
		if node.unschedulable {
			unschedulable++
		}
		for _, of := range w.Conditions {
			if node.has(of) {
				troubles[of]++
			}
		}
	}
	for _, state := range []string{isReady, notReady, unknown} {
		if err := metrics.GaugeSet("node_watcher_nodes", metrics.Labels{"state": state}, states[state]); err != nil {
			return err
		}
	}
	for _, of := range w.Conditions {
		if err := metrics.GaugeSet("node_watcher_nodes_with_condition", metrics.Labels{"condition": of}, troubles[of]); err != nil {
			return err
		}
	}
	return metrics.GaugeSet("node_watcher_cordoned_nodes", nil, unschedulable)
}
