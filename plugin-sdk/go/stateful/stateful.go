// Package stateful carries memory over a reload. A plugin that imports it must register a Stateful.
package stateful

// Stateful hands what it knows to its next version.
type Stateful interface {
	// Snapshot is asked of the version that runs, when the next one has started. nil carries nothing over.
	Snapshot() ([]byte, error)
	// Restore is called on the next version after Start and before any event. An error keeps it from taking over.
	Restore(fromVersion string, data []byte) error
}

var registered Stateful

// Register makes s the one who carries memory over.
func Register(s Stateful) { registered = s }
