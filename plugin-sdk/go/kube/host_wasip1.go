package kube

import (
	"encoding/json"
	"runtime"
	"time"
	"unsafe"

	"github.com/informant-dev/informant/plugin-sdk/go/internal/abi"
)

//go:wasmimport informant:plugin/kube@0.1.0 create
func wasmCreate(resource, namespace, name, subresource, body string, answer unsafe.Pointer)

//go:wasmimport informant:plugin/kube@0.1.0 update
func wasmUpdate(resource, namespace, name, subresource, body string, answer unsafe.Pointer)

//go:wasmimport informant:plugin/kube@0.1.0 patch
func wasmPatch(resource, namespace, name, subresource string, kind, force uint32, body string, answer unsafe.Pointer)

//go:wasmimport informant:plugin/kube@0.1.0 delete
func wasmDelete(resource, namespace, name string, some uint32, uid string, answer unsafe.Pointer)

//go:wasmimport informant:plugin/kube@0.1.0 record-event
func wasmRecordEvent(resource, namespace, name string, warning uint32, reason, message string, answer unsafe.Pointer)

// The error's variant is at offset 8 and its value at 16, because one of the values is a number of 64 bits.
func failed(m abi.Memory) error {
	if m.U8(0) == 0 {
		return nil
	}
	err := &Error{Kind: Kind(m.U8(8))}
	switch err.Kind {
	case NotLeader:
	case Status:
		err.Code, err.Reason, err.Message = m.U16(16), m.Text(20), m.Text(28)
		if m.U8(40) != 0 {
			err.RetryAfter = time.Duration(min(m.U64(48), 1<<40)) * time.Millisecond
		}
	default:
		err.Message = m.Text(16)
	}
	return err
}

func answered() (json.RawMessage, error) {
	m := abi.Answer()
	if err := failed(m); err != nil {
		return nil, err
	}
	return m.Bytes(8), nil
}

func create(object Object, body []byte) (json.RawMessage, error) {
	mark := abi.Mark()
	defer abi.Release(mark)
	key := object.Key
	wasmCreate(object.Resource, key.Namespace, key.Name, object.Subresource, abi.View(body), abi.Area())
	runtime.KeepAlive(body)
	return answered()
}

func update(object Object, body []byte) (json.RawMessage, error) {
	mark := abi.Mark()
	defer abi.Release(mark)
	key := object.Key
	wasmUpdate(object.Resource, key.Namespace, key.Name, object.Subresource, abi.View(body), abi.Area())
	runtime.KeepAlive(body)
	return answered()
}

func patch(object Object, kind PatchType, body []byte) (json.RawMessage, error) {
	mark := abi.Mark()
	defer abi.Release(mark)
	key, of, force := object.Key, min(kind, Apply), abi.Bit(kind == ForceApply)
	wasmPatch(object.Resource, key.Namespace, key.Name, object.Subresource, uint32(of), force, abi.View(body), abi.Area())
	runtime.KeepAlive(body)
	return answered()
}

func remove(object Object, uid string) error {
	mark := abi.Mark()
	defer abi.Release(mark)
	wasmDelete(object.Resource, object.Key.Namespace, object.Key.Name, abi.Bit(uid != ""), uid, abi.Area())
	return failed(abi.Answer())
}

func recordEvent(object Object, warning bool, reason, message string) error {
	mark := abi.Mark()
	defer abi.Release(mark)
	key := object.Key
	wasmRecordEvent(object.Resource, key.Namespace, key.Name, abi.Bit(warning), reason, message, abi.Area())
	return failed(abi.Answer())
}
