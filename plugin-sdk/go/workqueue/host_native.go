//go:build !wasip1

package workqueue

import (
	"time"

	"github.com/informant-dev/informant/plugin-sdk/go/internal/native"
)

func add(key string)                          { native.Get().AddKey(key) }
func addAfter(key string, wait time.Duration) { native.Get().AddKeyAfter(key, wait) }
func addRateLimited(key string)               { native.Get().AddKeyRateLimited(key) }
func forget(key string)                       { native.Get().ForgetKey(key) }
func numRequeues(key string) uint32           { return native.Get().KeyFailures(key) }
func length() uint32                          { return uint32(len(native.Get().Keys)) }
