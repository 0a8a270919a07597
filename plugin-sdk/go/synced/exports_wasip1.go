package synced

import (
	"unsafe"

	informant "github.com/informant-dev/informant/plugin-sdk/go"
)

//go:wasmexport informant:plugin/sync-aware@0.1.0#synced
func wasmSynced(subscription uint32) unsafe.Pointer {
	return informant.Settle(informant.Guard(func() error {
		if registered == nil {
			return nil
		}
		return registered.Synced(subscription)
	}))
}
