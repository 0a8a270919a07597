//go:build wasip1

package abi

import "unsafe"

// String is a string or a list as the host reads it. What it points to must stay alive, for which runtime.KeepAlive sees in the callers.
type String struct{ at, length uint32 }

// StringOf is how the host reads s.
func StringOf(s string) String {
	return String{uint32(uintptr(unsafe.Pointer(unsafe.StringData(s)))), uint32(len(s))}
}

// Strings is how the host reads a list of strings.
func Strings(texts []string) []String {
	list := make([]String, len(texts))
	for i, text := range texts {
		list[i] = StringOf(text)
	}
	return list
}

// Pair is a tuple of two strings.
type Pair struct{ first, second String }

// Pairs is how the host reads a map as a list of tuples.
func Pairs(texts map[string]string) []Pair {
	list := make([]Pair, 0, len(texts))
	for first, second := range texts {
		list = append(list, Pair{StringOf(first), StringOf(second)})
	}
	return list
}

// PairsOf is the same of a list that has an order.
func PairsOf(texts [][2]string) []Pair {
	list := make([]Pair, 0, len(texts))
	for _, text := range texts {
		list = append(list, Pair{StringOf(text[0]), StringOf(text[1])})
	}
	return list
}

// List is where a list is, and how long.
func List[T any](list []T) (unsafe.Pointer, uint32) {
	return unsafe.Pointer(unsafe.SliceData(list)), uint32(len(list))
}

// View is bytes as a string, without a copy: for arguments, which nobody changes.
func View(bytes []byte) string { return unsafe.String(unsafe.SliceData(bytes), len(bytes)) }

// Bit is 1 for true.
func Bit(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// What an export answers stays reachable from here until the next call; the collector moves nothing.
var (
	answer [4]uint64
	kept   string
)

func words() *[8]uint32 { return (*[8]uint32)(unsafe.Pointer(&answer)) }

// Done answers well, with nothing.
func Done() unsafe.Pointer {
	answer = [4]uint64{}
	return unsafe.Pointer(&answer)
}

// DoneBytes answers with bytes, at the offset that they have in this answer.
func DoneBytes(bytes []byte, at int) unsafe.Pointer {
	answer, kept = [4]uint64{}, string(bytes)
	s := StringOf(kept)
	words()[at/4], words()[at/4+1] = s.at, s.length
	return unsafe.Pointer(&answer)
}

// DoneSome is an option of bytes; none for nil.
func DoneSome(bytes []byte) unsafe.Pointer {
	if bytes == nil {
		return Done()
	}
	place := DoneBytes(bytes, 8)
	words()[1] = 1
	return place
}

// DoneAfter is an option of milliseconds; none for nil.
func DoneAfter(ms *uint64) unsafe.Pointer {
	answer = [4]uint64{}
	if ms != nil {
		answer[1], answer[2] = 1, *ms
	}
	return unsafe.Pointer(&answer)
}

// Refused answers with an error of one text.
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
