// Package synced is for plugins that want to know when the initial objects of a subscription have all been told.
package synced

// Aware is told of it.
type Aware interface {
	// Synced is called once for each subscription and instance, also where there was nothing to tell.
	Synced(subscription uint32) error
}

var registered Aware

// Register makes a the one who is told.
func Register(a Aware) { registered = a }

// Registered is the one who is told. For tests.
func Registered() Aware { return registered }
