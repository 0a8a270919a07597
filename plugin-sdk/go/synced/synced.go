// Package synced is for plugins that need a call when all initial objects of a subscription were delivered.
package synced

// Aware gets this call.
type Aware interface {
	// Synced is called once for each subscription and instance, even without initial objects.
	Synced(subscription uint32) error
}

var registered Aware

// Register makes a the Aware of this plugin.
func Register(a Aware) { registered = a }

// Registered returns the registered Aware. For tests.
func Registered() Aware { return registered }
