// Package eventdata reads the objects of the event in hand, for subscriptions with lazy delivery: one field costs a fraction of the whole object.
package eventdata

import "encoding/json"

// Side is which of an event's objects is meant.
type Side uint32

// Which.
const (
	New Side = iota
	Old
)

// JSON is the whole object; nil if there is none.
func JSON(side Side) json.RawMessage { return whole(side) }

// Fields are the JSON values at pointers, nil where nothing is.
func Fields(side Side, pointers ...string) []*string { return fields(side, pointers) }

// Text is the string at a pointer, and whether there is one.
func Text(side Side, pointer string) (string, bool) {
	var text string
	values := fields(side, []string{pointer})
	if len(values) == 0 || values[0] == nil || json.Unmarshal([]byte(*values[0]), &text) != nil {
		return "", false
	}
	return text, true
}

// Changed says whether the value at a pointer is another than before.
func Changed(pointer string) bool { return changed(pointer) }
