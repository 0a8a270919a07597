package informant

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Change is what happened to an object.
type Change uint8

// What can happen.
const (
	Added Change = iota
	Updated
	Deleted
)

func (c Change) String() string { return word(int(c), "added", "updated", "deleted") }

// Reason is why the plugin hears of it now.
type Reason uint8

// Why.
const (
	// Initial: the object was there before the plugin subscribed.
	Initial Reason = iota
	// Watch: the API server reported it.
	Watch
	// Relist found a difference that the watch had missed.
	Relist
	// Resync: the subscription's period came round; nothing changed.
	Resync
	// Reload: a new version asked for its objects again.
	Reload
	// Redrive: somebody sent a dead letter again.
	Redrive
)

func (r Reason) String() string {
	return word(int(r), "initial", "watch", "relist", "resync", "reload", "redrive")
}

// Gone is how an object went.
type Gone uint8

// How.
const (
	// NotGone: it is there.
	NotGone Gone = iota
	// GoneDeleted: it was deleted.
	GoneDeleted
	// GoneLeftView: it lives on, but no longer matches the subscription.
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

// Key is an object's namespace, empty if it has none, and name.
type Key struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String is namespace/name, or the name alone.
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Name
	}
	return k.Namespace + "/" + k.Name
}

// Event is a change of one object.
type Event struct {
	// Seq rises with every event; one that comes again keeps its own.
	Seq uint64
	// Subscription is the place in the descriptor's list.
	Subscription uint32
	Change       Change
	Reason       Reason
	Key          Key
	UID          string
	// ResourceVersion of the object.
	ResourceVersion string
	Gone            Gone
	// Coalesced is how many older events this one stands for.
	Coalesced uint32
	// Attempt is 1 for the first delivery.
	Attempt uint32
	// Object is its JSON; nil if it was deleted, and with lazy delivery.
	Object json.RawMessage
	// Old is the state before: of a deletion always, else where the subscription says WithOld.
	Old json.RawMessage
}

// Decode reads the object into a struct: the new state, or the last one of an object that is gone.
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

// DecodeOld reads the state before into a struct, and says whether there is one.
func (e *Event) DecodeOld(into any) (bool, error) {
	if e.Old == nil {
		return false, nil
	}
	return true, json.Unmarshal(e.Old, into)
}
