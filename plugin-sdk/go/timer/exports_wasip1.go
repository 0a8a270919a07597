package timer

import (
	"errors"
	"time"
	"unsafe"

	informant "github.com/informant-dev/informant/plugin-sdk/go"
	"github.com/informant-dev/informant/plugin-sdk/go/internal/abi"
)

//go:wasmexport informant:plugin/timer@0.1.0#fire
func wasmFire(at unsafe.Pointer, length uint32, unixMs uint64) unsafe.Pointer {
	schedule := abi.Text(at, length)
	abi.Clear()
	return informant.Settle(informant.Guard(func() error {
		if registered == nil {
			return informant.Never(errors.New("nobody is called by the clock; call timer.Register in an init function"))
		}
		return registered.Fire(schedule, time.UnixMilli(int64(unixMs)).UTC())
	}))
}
