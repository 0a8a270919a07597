// Package stateful carries memory over a reload. A plugin that imports it must register a Stateful.
package stateful

// Stateful passes a snapshot to its next version.
type Stateful interface {
	// Snapshot is called on the running version when the next one has started. nil means no snapshot.
	Snapshot() ([]byte, error)
	// Restore is called on the next version after Start and before any event. After an error the next version does not
	// take over.
	Restore(fromVersion string, data []byte) error
}

var registered Stateful

// Register makes s the Stateful of this plugin.
func Register(s Stateful) { registered = s }
