package informant

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Change is the kind of a change.
type Change uint8

// The kinds of changes.
const (
	Added Change = iota
	Updated
	Deleted
)

func (c Change) String() string { return word(int(c), "added", "updated", "deleted") }

// Reason is the reason for an event.
type Reason uint8

// The reasons.
const (
	// Initial: the object existed before the plugin subscribed.
	Initial Reason = iota
	// Watch: the API server reported the change.
	Watch
	// Relist: a list found a difference that the watch had missed.
	Relist
	// Resync: the subscription's period has passed; the object has not changed.
	Resync
	// Reload: a new version asked for its objects again.
	Reload
	// Redrive: a person sent a dead letter again.
	Redrive
)

func (r Reason) String() string {
	return word(int(r), "initial", "watch", "relist", "resync", "reload", "redrive")
}

// Gone is the kind of a deletion.
type Gone uint8

// The kinds of deletions.
const (
	// NotGone: the object exists.
	NotGone Gone = iota
	// GoneDeleted: the object was deleted.
	GoneDeleted
	// GoneLeftView: the object exists, but no longer matches the subscription.
	GoneLeftView
	// GoneUnknown: one of the two.
	GoneUnknown
)

func (g Gone) String() string { return word(int(g), "", "deleted", "left-view", "unknown") }

func word(number int, words ...string) string {
	if number < len(words) {
		return words[number]
	}
	return fmt.Sprintf("unknown (%d)", number)
}

// Key is an object's namespace and name. The namespace is empty if the object has none.
type Key struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String returns namespace/name, or the name alone.
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Name
	}
	return k.Namespace + "/" + k.Name
}

// Event is a change of one object.
type Event struct {
	// Seq rises with every event. A retry keeps its number.
	Seq uint64
	// Subscription is the index in the descriptor's list.
	Subscription uint32
	Change       Change
	Reason       Reason
	Key          Key
	UID          string
	// ResourceVersion is the object's resourceVersion.
	ResourceVersion string
	Gone            Gone
	// Coalesced is the number of older events that this event replaces.
	Coalesced uint32
	// Attempt is 1 for the first delivery.
	Attempt uint32
	// Object is the object's JSON. It is nil for a deleted object, and with lazy delivery.
	Object json.RawMessage
	// Old is the previous state: for every deletion, and for other events if the subscription has WithOld.
	Old json.RawMessage
}

// Decode decodes the object into a struct: the new state, or the last state of a deleted object.
func (e *Event) Decode(into any) error {
	object := e.Object
	if object == nil {
		object = e.Old
	}
	if object == nil {
		return Never(errors.New("the event brought no object; read it with package eventdata, or subscribe with full delivery"))
	}
	return json.Unmarshal(object, into)
}

// DecodeOld decodes the previous state into a struct. It returns whether there is one.
func (e *Event) DecodeOld(into any) (bool, error) {
	if e.Old == nil {
		return false, nil
	}
	return true, json.Unmarshal(e.Old, into)
}
