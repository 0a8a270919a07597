// Package workqueue is the plugin's own rate-limited queue of keys, with the meaning that client-go gives it. A plugin that imports it must register a
// Reconciler:
//
//	func init() { p := &plugin{}; informant.Register(p); workqueue.Register(p) }
package workqueue

import "time"

// Reconciler works on keys.
type Reconciler interface {
	// Reconcile brings about what the key stands for. again, if it is not zero, has the key come again after that time. An error brings it back as
	// the rate limiter says, or as informant.Never and informant.After do.
	Reconcile(key string, attempt uint32) (again time.Duration, err error)
}

var registered Reconciler

// Register makes r the one who works on the keys.
func Register(r Reconciler) { registered = r }

// Registered is the one who works on the keys. For tests.
func Registered() Reconciler { return registered }

// Add adds a key, to be worked on at once.
func Add(key string) { add(key) }

// AddAfter adds a key for later; of several times for one key the earliest counts.
func AddAfter(key string, wait time.Duration) { addAfter(key, wait) }

// AddRateLimited adds a key after the wait that one more failure gives it.
func AddRateLimited(key string) { addRateLimited(key) }

// Forget has a key's failures count no more.
func Forget(key string) { forget(key) }

// NumRequeues is how often a key failed since it was last forgotten.
func NumRequeues(key string) uint32 { return numRequeues(key) }

// Len is how many keys could be worked on now.
func Len() uint32 { return length() }
