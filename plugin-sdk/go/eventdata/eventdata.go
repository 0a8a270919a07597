// Package eventdata reads the objects of the present event, for subscriptions with lazy delivery. One field costs a
// fraction of the whole object.
package eventdata

import "encoding/json"

// Side chooses one of an event's objects.
type Side uint32

// The two objects.
const (
	New Side = iota
	Old
)

// JSON returns the whole object, or nil if there is none. With the delivery "metadata" it returns only the object's
// metadata.
func JSON(side Side) json.RawMessage { return whole(side) }

// Fields returns the JSON values at pointers, with nil for each missing value.
func Fields(side Side, pointers ...string) []*string { return fields(side, pointers) }

// Text returns the string at a pointer, and whether there is one.
func Text(side Side, pointer string) (string, bool) {
	var text string
	values := fields(side, []string{pointer})
	if len(values) == 0 || values[0] == nil || json.Unmarshal([]byte(*values[0]), &text) != nil {
		return "", false
	}
	return text, true
}

// Changed returns whether the value at a pointer has changed.
func Changed(pointer string) bool { return changed(pointer) }
