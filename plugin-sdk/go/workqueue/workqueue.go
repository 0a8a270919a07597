// Package workqueue is the plugin's own rate-limited queue of keys, with the meaning of client-go's. A plugin that
// imports it must register a Reconciler:
//
//	func init() { p := &plugin{}; informant.Register(p); workqueue.Register(p) }
package workqueue

import "time"

// Reconciler works on keys.
type Reconciler interface {
	// Reconcile works on a key. If again is not zero, the key comes again after that time. After an error the key comes
	// again after the rate limiter's wait, or as informant.Never and informant.After say.
	Reconcile(key string, attempt uint32) (again time.Duration, err error)
}

var registered Reconciler

// Register makes r the Reconciler of this plugin.
func Register(r Reconciler) { registered = r }

// Registered returns the registered Reconciler. For tests.
func Registered() Reconciler { return registered }

// Add adds a key that is due at once.
func Add(key string) { add(key) }

// AddAfter adds a key for later. If a key has several times, the earliest counts.
func AddAfter(key string, wait time.Duration) { addAfter(key, wait) }

// AddRateLimited adds a key after the rate limiter's wait for one more failure.
func AddRateLimited(key string) { addRateLimited(key) }

// Forget resets a key's failures.
func Forget(key string) { forget(key) }

// NumRequeues returns the number of a key's failures since the last Forget.
func NumRequeues(key string) uint32 { return numRequeues(key) }

// Len returns the number of keys that are due.
func Len() uint32 { return length() }
