//go:build !wasip1

package workqueue

import (
	"slices"
	"time"

	"github.com/informant-dev/informant/plugin-sdk/go/internal/native"
)

// In a test no key is delayed.

func add(key string) {
	if host := native.Get(); !slices.Contains(host.Keys, key) {
		host.Keys = append(host.Keys, key)
	}
}

func addAfter(key string, _ time.Duration) { add(key) }
func addRateLimited(key string)            { add(key) }
func forget(string)                        {}
func numRequeues(string) uint32            { return 0 }
func length() uint32                       { return uint32(len(native.Get().Keys)) }
