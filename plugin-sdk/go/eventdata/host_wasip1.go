package eventdata

import (
	"encoding/json"
	"runtime"
	"unsafe"

	"github.com/informant-dev/informant/plugin-sdk/go/internal/abi"
)

//go:wasmimport informant:plugin/event-data@0.1.0 json
func wasmJSON(side uint32, answer unsafe.Pointer)

//go:wasmimport informant:plugin/event-data@0.1.0 fields
func wasmFields(side uint32, pointers unsafe.Pointer, count uint32, answer unsafe.Pointer)

//go:wasmimport informant:plugin/event-data@0.1.0 changed
func wasmChanged(pointer string) uint32

func whole(side Side) json.RawMessage {
	mark := abi.Mark()
	defer abi.Release(mark)
	wasmJSON(uint32(side), abi.Area())
	return abi.Answer().OptionalBytes(0)
}

func fields(side Side, pointers []string) []*string {
	mark := abi.Mark()
	defer abi.Release(mark)
	at, count := abi.List(abi.Strings(pointers))
	wasmFields(uint32(side), at, count, abi.Area())
	runtime.KeepAlive(pointers)
	return abi.Answer().OptionalTexts(0)
}

func changed(pointer string) bool { return wasmChanged(pointer) != 0 }
