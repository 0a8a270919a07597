// Package state keeps up to 1 MiB under names: over reloads, and over restarts where the host has a state directory. It is written in Handle, Reconcile
// and Fire, and what they write counts once they have succeeded.
package state

// Get is the value of a key; nil if there is none.
func Get(key string) ([]byte, error) { return get(key) }

// Set sets the value of a key; nil removes it.
func Set(key string, value []byte) error { return set(key, value) }

// CompareAndSet sets the value if it is as expected, where nil is none, and says whether it was.
func CompareAndSet(key string, expected, value []byte) (bool, error) {
	return compareAndSet(key, expected, value)
}

// Keys are those that begin so, sorted.
func Keys(prefix string) ([]string, error) { return keys(prefix) }
