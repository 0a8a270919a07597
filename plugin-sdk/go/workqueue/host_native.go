//go:build !wasip1

package workqueue

import (
	"time"

	"github.com/informant-dev/informant/plugin-sdk/go/internal/native"
)

// In a test no key is delayed.

func add(key string) { native.Get().AddKey(key) }

func addAfter(key string, _ time.Duration) { add(key) }
func addRateLimited(key string)            { add(key) }
func forget(string)                        {}
func numRequeues(string) uint32            { return 0 }
func length() uint32                       { return uint32(len(native.Get().Keys)) }
