package workqueue

import (
	"errors"
	"time"
	"unsafe"

	informant "github.com/informant-dev/informant/plugin-sdk/go"
	"github.com/informant-dev/informant/plugin-sdk/go/internal/abi"
)

//go:wasmimport informant:plugin/workqueue@0.1.0 add
func wasmAdd(key string)

//go:wasmimport informant:plugin/workqueue@0.1.0 add-after
func wasmAddAfter(key string, ms uint64)

//go:wasmimport informant:plugin/workqueue@0.1.0 add-rate-limited
func wasmAddRateLimited(key string)

//go:wasmimport informant:plugin/workqueue@0.1.0 forget
func wasmForget(key string)

//go:wasmimport informant:plugin/workqueue@0.1.0 num-requeues
func wasmNumRequeues(key string) uint32

//go:wasmimport informant:plugin/workqueue@0.1.0 len
func wasmLen() uint32

//go:wasmexport informant:plugin/reconciler@0.1.0#reconcile
func wasmReconcile(at unsafe.Pointer, length, attempt uint32) unsafe.Pointer {
	key := abi.Text(at, length)
	abi.Clear()
	var again time.Duration
	err := informant.Guard(func() (err error) {
		if registered == nil {
			return informant.Never(errors.New("nobody works on keys; call workqueue.Register in an init function"))
		}
		again, err = registered.Reconcile(key, attempt)
		return err
	})
	if err != nil {
		return informant.Settle(err)
	}
	if again <= 0 {
		return abi.DoneAfter(nil)
	}
	ms := informant.Milliseconds(again)
	return abi.DoneAfter(&ms)
}

func add(key string)                          { wasmAdd(key) }
func addAfter(key string, wait time.Duration) { wasmAddAfter(key, informant.Milliseconds(wait)) }
func addRateLimited(key string)               { wasmAddRateLimited(key) }
func forget(key string)                       { wasmForget(key) }
func numRequeues(key string) uint32           { return wasmNumRequeues(key) }
func length() uint32                          { return wasmLen() }
