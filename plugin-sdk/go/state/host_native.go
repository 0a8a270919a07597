//go:build !wasip1

package state

import (
	"bytes"
	"slices"
	"strings"

	"github.com/informant-dev/informant/plugin-sdk/go/internal/native"
)

func get(key string) ([]byte, error) { return native.Get().State[key], nil }

func set(key string, value []byte) error {
	if value == nil {
		delete(native.Get().State, key)
	} else {
		native.Get().State[key] = append([]byte{}, value...)
	}
	return nil
}

func compareAndSet(key string, expected, value []byte) (bool, error) {
	found, there := native.Get().State[key]
	if there != (expected != nil) || !bytes.Equal(found, expected) {
		return false, nil
	}
	return true, set(key, value)
}

func keys(prefix string) ([]string, error) {
	var found []string
	for key := range native.Get().State {
		if strings.HasPrefix(key, prefix) {
			found = append(found, key)
		}
	}
	slices.Sort(found)
	return found, nil
}
