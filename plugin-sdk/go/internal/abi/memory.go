//go:build wasip1

// Package abi implements the part of the canonical ABI that plugins need: memory into which the host writes, and
// values that are read and written by their offsets. It needs no generator and no other module: the host makes a
// component from the output of Go's own compiler.
package abi

import (
	"strings"
	"sync"
	"unsafe"
)

// arenaSize is the largest size of one call's data: an event of 8 MiB, which is the host's own bound, and its other
// data.
const arenaSize = 9 << 20

// The host writes into memory that it gets from cabi_realloc. The collector must not run meanwhile: it reads the
// clock, which the component model forbids there. So the host gets a static arena. Pages that are never used cost
// nothing.
var (
	arena    [arenaSize]byte
	top      uintptr
	overflow [][]uint64 // what does not fit; making it may start the collector, which ends the instance
)

//go:wasmexport cabi_realloc
func realloc(old unsafe.Pointer, oldSize, align, size uintptr) unsafe.Pointer {
	at := (top + align - 1) &^ (align - 1)
	if at+size >= arenaSize {
		block := make([]uint64, size/8+1)
		overflow = append(overflow, block)
		place := unsafe.Pointer(unsafe.SliceData(block))
		copy(unsafe.Slice((*byte)(place), size), unsafe.Slice((*byte)(old), oldSize))
		return place
	}
	place := unsafe.Pointer(&arena[at])
	if old != nil {
		copy(unsafe.Slice((*byte)(place), size), unsafe.Slice((*byte)(old), oldSize))
	}
	top = at + size
	return place
}

// The adapter to WASI keeps its state in this memory forever, so it has its own.
var (
	adapter    [160 << 10]byte
	adapterTop uintptr
)

//go:wasmexport cabi_realloc_adapter
func reallocAdapter(_ unsafe.Pointer, _, align, size uintptr) unsafe.Pointer {
	at := (adapterTop + align - 1) &^ (align - 1)
	adapterTop = at + size
	return unsafe.Pointer(&adapter[at])
}

// The arena and the area of answers are for one call of the host at a time. The collector may switch to another
// goroutine between a call and the copy of its answer.
var asking sync.Mutex

// Mark begins a call of the host, and returns the used size of the arena. Other goroutines wait until Release.
func Mark() uintptr {
	asking.Lock()
	return top
}

// Release ends the call that began with this mark, and frees all memory after it.
func Release(mark uintptr) {
	top, overflow = mark, nil
	asking.Unlock()
}

// Clear frees all memory, once an export has copied its arguments.
func Clear() {
	Mark()
	Release(0)
}

// Text copies a string that the host wrote.
func Text(at unsafe.Pointer, length uint32) string {
	return strings.Clone(unsafe.String((*byte)(at), length))
}

// Bytes copies a list of bytes that the host wrote. The copy is never nil.
func Bytes(at unsafe.Pointer, length uint32) []byte {
	return append([]byte{}, unsafe.Slice((*byte)(at), length)...)
}

// Memory is a value that the host wrote. It is read by offsets.
type Memory struct{ base unsafe.Pointer }

// At returns the value at this address.
func At(base unsafe.Pointer) Memory { return Memory{base} }

func (m Memory) U8(at uintptr) uint8   { return *(*uint8)(unsafe.Add(m.base, at)) }
func (m Memory) U16(at uintptr) uint16 { return *(*uint16)(unsafe.Add(m.base, at)) }
func (m Memory) U32(at uintptr) uint32 { return *(*uint32)(unsafe.Add(m.base, at)) }
func (m Memory) U64(at uintptr) uint64 { return *(*uint64)(unsafe.Add(m.base, at)) }

func (m Memory) address(at uintptr) unsafe.Pointer {
	return unsafe.Pointer(uintptr(m.U32(at)))
}

// Text returns the string at this offset.
func (m Memory) Text(at uintptr) string { return Text(m.address(at), m.U32(at+4)) }

// Bytes returns the list of bytes at this offset.
func (m Memory) Bytes(at uintptr) []byte { return Bytes(m.address(at), m.U32(at+4)) }

// OptionalText returns an optional string.
func (m Memory) OptionalText(at uintptr) (string, bool) {
	if m.U8(at) == 0 {
		return "", false
	}
	return m.Text(at + 4), true
}

// OptionalBytes returns an optional list of bytes, or nil.
func (m Memory) OptionalBytes(at uintptr) []byte {
	if m.U8(at) == 0 {
		return nil
	}
	return m.Bytes(at + 4)
}

// Each calls f with every element of the list at this offset.
func (m Memory) Each(at, size uintptr, f func(Memory)) {
	base := m.address(at)
	for i := uintptr(0); i < uintptr(m.U32(at+4)); i++ {
		f(Memory{unsafe.Add(base, i*size)})
	}
}

// Texts returns a list of strings.
func (m Memory) Texts(at uintptr) []string {
	texts := make([]string, 0, m.U32(at+4))
	m.Each(at, 8, func(one Memory) { texts = append(texts, one.Text(0)) })
	return texts
}

// OptionalTexts returns a list of optional strings, with nil for each missing one.
func (m Memory) OptionalTexts(at uintptr) []*string {
	texts := make([]*string, 0, m.U32(at+4))
	m.Each(at, 12, func(one Memory) {
		if text, ok := one.OptionalText(0); ok {
			texts = append(texts, &text)
		} else {
			texts = append(texts, nil)
		}
	})
	return texts
}

var area [8]uint64

// Area returns the address at which an import writes its answer.
func Area() unsafe.Pointer { return unsafe.Pointer(&area) }

// Answer returns the answer of an import.
func Answer() Memory { return Memory{unsafe.Pointer(&area)} }
