// Package state keeps up to 1 MiB under names: over reloads, and over restarts if the host has a state directory.
// Handle, Reconcile and Fire write it. Their writes take effect when they succeed.
package state

// Get returns the value of a key, or nil if there is none.
func Get(key string) ([]byte, error) { return get(key) }

// Set sets the value of a key. nil removes it.
func Set(key string, value []byte) error { return set(key, value) }

// CompareAndSet sets the value if the present one is as expected, where nil means none. It returns whether it was.
func CompareAndSet(key string, expected, value []byte) (bool, error) {
	return compareAndSet(key, expected, value)
}

// Keys returns the keys with this prefix, sorted.
func Keys(prefix string) ([]string, error) { return keys(prefix) }
