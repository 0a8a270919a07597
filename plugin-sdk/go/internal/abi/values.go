//go:build wasip1

package abi

import "unsafe"

// String is a string or a list in the host's format. Its memory must stay alive; the callers ensure that with
// runtime.KeepAlive.
type String struct{ at, length uint32 }

// StringOf converts s to the host's format.
func StringOf(s string) String {
	return String{uint32(uintptr(unsafe.Pointer(unsafe.StringData(s)))), uint32(len(s))}
}

// Strings converts a list of strings to the host's format.
func Strings(texts []string) []String {
	list := make([]String, len(texts))
	for i, text := range texts {
		list[i] = StringOf(text)
	}
	return list
}

// Pair is a tuple of two strings.
type Pair struct{ first, second String }

// Pairs converts a map to a list of tuples in the host's format.
func Pairs(texts map[string]string) []Pair {
	list := make([]Pair, 0, len(texts))
	for first, second := range texts {
		list = append(list, Pair{StringOf(first), StringOf(second)})
	}
	return list
}

// PairsOf converts an ordered list in the same way.
func PairsOf(texts [][2]string) []Pair {
	list := make([]Pair, 0, len(texts))
	for _, text := range texts {
		list = append(list, Pair{StringOf(text[0]), StringOf(text[1])})
	}
	return list
}

// List returns the address and the length of a list.
func List[T any](list []T) (unsafe.Pointer, uint32) {
	return unsafe.Pointer(unsafe.SliceData(list)), uint32(len(list))
}

// View returns bytes as a string, without a copy. It is for arguments, which do not change.
func View(bytes []byte) string { return unsafe.String(unsafe.SliceData(bytes), len(bytes)) }

// Bit returns 1 for true.
func Bit(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// The answer of an export stays reachable from here until the next call. The collector does not move memory.
var (
	answer [4]uint64
	kept   string
)

func words() *[8]uint32 { return (*[8]uint32)(unsafe.Pointer(&answer)) }

// Done answers with success, without a value.
func Done() unsafe.Pointer {
	answer = [4]uint64{}
	return unsafe.Pointer(&answer)
}

// DoneBytes answers with bytes. at is the offset of the bytes in this answer.
func DoneBytes(bytes []byte, at int) unsafe.Pointer {
	answer, kept = [4]uint64{}, string(bytes)
	s := StringOf(kept)
	words()[at/4], words()[at/4+1] = s.at, s.length
	return unsafe.Pointer(&answer)
}

// DoneSome answers with optional bytes. nil means none.
func DoneSome(bytes []byte) unsafe.Pointer {
	if bytes == nil {
		return Done()
	}
	place := DoneBytes(bytes, 8)
	words()[1] = 1
	return place
}

// DoneAfter answers with optional milliseconds. nil means none.
func DoneAfter(ms *uint64) unsafe.Pointer {
	answer = [4]uint64{}
	if ms != nil {
		answer[1], answer[2] = 1, *ms
	}
	return unsafe.Pointer(&answer)
}

// Refused answers with an error that is one text.
func Refused(text string) unsafe.Pointer {
	answer, kept = [4]uint64{}, text
	s := StringOf(kept)
	words()[0], words()[1], words()[2] = 1, s.at, s.length
	return unsafe.Pointer(&answer)
}

// Failed answers with the contract's failure: backoff, after some milliseconds, or never.
func Failed(text string, never bool, afterMs uint64) unsafe.Pointer {
	answer, kept = [4]uint64{}, text
	s := StringOf(kept)
	words()[0], words()[2], words()[3] = 1, s.at, s.length
	switch {
	case never:
		words()[4] = 2
	case afterMs > 0:
		words()[4], answer[3] = 1, afterMs
	}
	return unsafe.Pointer(&answer)
}
