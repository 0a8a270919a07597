// Package informant writes Informant plugins in Go.
//
// A plugin declares its subscriptions (Describe). It then gets events, one at a time and in order for each object
// (Handle). It registers itself in an init function; main stays empty:
//
//	func init() { informant.Register(&plugin{}) }
//	func main() {}
//
// Logs are slog's and the log package's. Both go to the host, with the keys of all of the host's logs. An error or a
// panic of Handle is a failed event, which comes again. The contract, plugin-sdk/wit, contains the host's guarantees.
package informant

// Plugin is the interface that every plugin implements.
type Plugin interface {
	// Describe returns the plugin's needs. The host calls it in an instance without permissions, which ends afterwards.
	Describe(config Config) (*Descriptor, error)
	// Start is called once for each instance, before all other calls. An error keeps this version from running.
	Start(config Config) error
	// Handle handles one event. Events come at least once, so Handle must be idempotent.
	Handle(event *Event) error
}

// Stopper is a plugin that gets a call when it ends.
type Stopper interface {
	// Stop is the last call. It is not called after a trap or an exceeded deadline.
	Stop()
}

var registered Plugin

// Register makes p the plugin of this file. Call it once, in an init function.
func Register(p Plugin) {
	if registered != nil {
		panic("two plugins are registered; a file has one")
	}
	registered = p
}
