package stateful

import (
	"errors"
	"unsafe"

	informant "github.com/informant-dev/informant/plugin-sdk/go"
	"github.com/informant-dev/informant/plugin-sdk/go/internal/abi"
)

var errNobody = errors.New("nobody carries memory over; call stateful.Register in an init function")

//go:wasmexport informant:plugin/stateful@0.1.0#snapshot
func wasmSnapshot() unsafe.Pointer {
	var data []byte
	err := informant.Guard(func() (err error) {
		if registered == nil {
			return errNobody
		}
		data, err = registered.Snapshot()
		return err
	})
	if err != nil {
		return abi.Refused(err.Error())
	}
	return abi.DoneSome(data)
}

//go:wasmexport informant:plugin/stateful@0.1.0#restore
func wasmRestore(at unsafe.Pointer, length uint32, data unsafe.Pointer, size uint32) unsafe.Pointer {
	from, bytes := abi.Text(at, length), abi.Bytes(data, size)
	abi.Clear()
	err := informant.Guard(func() error {
		if registered == nil {
			return errNobody
		}
		return registered.Restore(from, bytes)
	})
	if err != nil {
		return abi.Refused(err.Error())
	}
	return abi.Done()
}
