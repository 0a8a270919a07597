// Package informant writes Informant plugins in Go.
//
// A plugin says what it wants to hear of (Describe) and is then told of it, one event at a time and in order for each object (Handle). It registers
// itself in an init function; main stays empty:
//
//	func init() { informant.Register(&plugin{}) }
//	func main() {}
//
// Logs are slog's, and the log package's: both go to the host, with the keys that all of its logs have. An error that Handle returns is a failed event,
// which comes again; so is a panic. What the host promises is written in the contract, plugin-sdk/wit.
package informant

// Plugin is what everybody implements.
type Plugin interface {
	// Describe says what the plugin wants. It is asked in an instance that has nothing and ends afterwards.
	Describe(config Config) (*Descriptor, error)
	// Start is called once for an instance, before anything else. An error keeps this version from running.
	Start(config Config) error
	// Handle is told of one event. Events come at least once: it must be idempotent.
	Handle(event *Event) error
}

// Stopper is a plugin that wants to know when it ends.
type Stopper interface {
	// Stop is the last call; there is none after a trap or a deadline.
	Stop()
}

var registered Plugin

// Register makes p the plugin of this file. It is called in an init function, and once.
func Register(p Plugin) {
	if registered != nil {
		panic("two plugins are registered; a file has one")
	}
	registered = p
}
