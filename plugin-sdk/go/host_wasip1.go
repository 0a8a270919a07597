package informant

import (
	"runtime"
	"unsafe"

	"github.com/informant-dev/informant/plugin-sdk/go/internal/abi"
)

//go:wasmimport informant:plugin/log@0.1.0 enabled
func wasmEnabled(level uint32) uint32

//go:wasmimport informant:plugin/log@0.1.0 log
func wasmLog(level uint32, message string, fields unsafe.Pointer, count uint32)

//go:wasmimport informant:plugin/host-info@0.1.0 plugin-name
func wasmPluginName(answer unsafe.Pointer)

//go:wasmimport informant:plugin/host-info@0.1.0 is-leader
func wasmIsLeader() uint32

//go:wasmimport informant:plugin/host-info@0.1.0 shard
func wasmShard(answer unsafe.Pointer)

func enabled(level uint32) bool { return wasmEnabled(level) != 0 }

func write(level uint32, message string, fields [][2]string) {
	at, count := abi.List(abi.PairsOf(fields))
	wasmLog(level, message, at, count)
	runtime.KeepAlive(fields)
}

// Name returns the plugin's name, which is that of its file.
func Name() string {
	mark := abi.Mark()
	defer abi.Release(mark)
	wasmPluginName(abi.Area())
	return abi.Answer().Text(0)
}

// IsLeader returns whether this host leads.
func IsLeader() bool { return wasmIsLeader() != 0 }

// Shard returns the number of this instance, from 0, and the number of instances.
func Shard() (number, count int) {
	var answer [2]uint32
	wasmShard(unsafe.Pointer(&answer))
	return int(answer[0]), int(answer[1])
}
