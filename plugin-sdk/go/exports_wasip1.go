package informant

import (
	"encoding/json"
	"errors"
	"time"
	"unsafe"

	"github.com/informant-dev/informant/plugin-sdk/go/internal/abi"
)

var errNobody = errors.New("no plugin is registered; call informant.Register in an init function")

//go:wasmexport informant:plugin/lifecycle@0.1.0#describe
func wasmDescribe(at unsafe.Pointer, length uint32) unsafe.Pointer {
	config := Config(abi.Bytes(at, length))
	abi.Clear()
	var text []byte
	err := Guard(func() error {
		if registered == nil {
			return errNobody
		}
		descriptor, err := registered.Describe(config)
		if err == nil {
			text, err = json.Marshal(descriptor)
		}
		return err
	})
	if err != nil {
		return abi.Refused(err.Error())
	}
	return abi.DoneBytes(text, 4)
}

//go:wasmexport informant:plugin/lifecycle@0.1.0#start
func wasmStart(at unsafe.Pointer, length uint32) unsafe.Pointer {
	config := Config(abi.Bytes(at, length))
	abi.Clear()
	err := Guard(func() error {
		if registered == nil {
			return errNobody
		}
		return registered.Start(config)
	})
	if err != nil {
		return abi.Refused(err.Error())
	}
	return abi.Done()
}

//go:wasmexport informant:plugin/lifecycle@0.1.0#stop
func wasmStop() {
	// A panic is logged; no call follows this one.
	_ = Guard(func() error {
		if stopper, ok := registered.(Stopper); ok {
			stopper.Stop()
		}
		return nil
	})
}

//go:wasmexport informant:plugin/handler@0.1.0#handle
func wasmHandle(at unsafe.Pointer) unsafe.Pointer {
	event := read(abi.At(at))
	abi.Clear()
	return Settle(Guard(func() error { return registered.Handle(event) }))
}

// Settle passes the result of a call to the host. For the packages beside this one.
func Settle(err error) unsafe.Pointer {
	if err == nil {
		return abi.Done()
	}
	never, after := Retry(err)
	return abi.Failed(err.Error(), never, Milliseconds(after))
}

// Milliseconds returns a wait in the contract's milliseconds, rounded up.
func Milliseconds(wait time.Duration) uint64 {
	return uint64((max(wait, 0) + time.Millisecond - 1) / time.Millisecond)
}

func read(m abi.Memory) *Event {
	event := &Event{
		Seq:             m.U64(0),
		Subscription:    m.U32(8),
		Change:          Change(m.U8(12)),
		Reason:          Reason(m.U8(13)),
		Key:             Key{Namespace: m.Text(16), Name: m.Text(24)},
		UID:             m.Text(32),
		ResourceVersion: m.Text(40),
		Coalesced:       m.U32(52),
		Attempt:         m.U32(56),
		Object:          m.OptionalBytes(60),
		Old:             m.OptionalBytes(72),
	}
	if m.U8(48) != 0 {
		event.Gone = GoneDeleted + Gone(m.U8(49))
	}
	return event
}
