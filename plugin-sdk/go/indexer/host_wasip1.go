package indexer

import (
	"encoding/json"
	"runtime"
	"unsafe"

	informant "github.com/informant-dev/informant/plugin-sdk/go"
	"github.com/informant-dev/informant/plugin-sdk/go/internal/abi"
)

//go:wasmimport informant:plugin/indexer@0.1.0 get
func wasmGet(resource, namespace, name string, answer unsafe.Pointer)

//go:wasmimport informant:plugin/indexer@0.1.0 fields
func wasmFields(resource, namespace, name string, pointers unsafe.Pointer, count uint32, answer unsafe.Pointer)

//go:wasmimport informant:plugin/indexer@0.1.0 list
func wasmList(resource string, some uint32, namespace, selector string, limit, more uint32, cursor string, answer unsafe.Pointer)

//go:wasmimport informant:plugin/indexer@0.1.0 by-index
func wasmByIndex(resource, index, value string, limit, more uint32, cursor string, answer unsafe.Pointer)

//go:wasmimport informant:plugin/indexer@0.1.0 index-keys
func wasmIndexKeys(resource, index, value string, limit, more uint32, cursor string, answer unsafe.Pointer)

//go:wasmimport informant:plugin/indexer@0.1.0 index-values
func wasmIndexValues(resource, index string, limit, more uint32, cursor string, answer unsafe.Pointer)

//go:wasmimport informant:plugin/indexer@0.1.0 count
func wasmCount(resource string, some uint32, namespace string, answer unsafe.Pointer)

//go:wasmimport informant:plugin/indexer@0.1.0 has-synced
func wasmHasSynced(resource string, answer unsafe.Pointer)

// failed returns the error of an answer. at is the offset of its variant.
func failed(m abi.Memory, at uintptr) error {
	if m.U8(0) == 0 {
		return nil
	}
	err := &Error{Kind: Kind(m.U8(at))}
	if err.Kind != Expired {
		err.Message = m.Text(at + 4)
	}
	return err
}

// option returns an optional string in the format of imports.
func option(text *string) (uint32, string) {
	if text == nil {
		return 0, ""
	}
	return 1, *text
}

func get(resource string, key informant.Key) (json.RawMessage, error) {
	mark := abi.Mark()
	defer abi.Release(mark)
	wasmGet(resource, key.Namespace, key.Name, abi.Area())
	m := abi.Answer()
	if err := failed(m, 4); err != nil {
		return nil, err
	}
	return m.OptionalBytes(4), nil
}

func fields(resource string, key informant.Key, pointers []string) ([]*string, error) {
	mark := abi.Mark()
	defer abi.Release(mark)
	at, count := abi.List(abi.Strings(pointers))
	wasmFields(resource, key.Namespace, key.Name, at, count, abi.Area())
	runtime.KeepAlive(pointers)
	m := abi.Answer()
	if err := failed(m, 4); err != nil || m.U8(4) == 0 {
		return nil, err
	}
	return m.OptionalTexts(8), nil
}

// page reads a page: its items, and the cursor of the next page.
func page[T any](size uintptr, read func(abi.Memory) T) ([]T, *string, error) {
	m := abi.Answer()
	if err := failed(m, 4); err != nil {
		return nil, nil, err
	}
	var items []T
	m.Each(4, size, func(item abi.Memory) { items = append(items, read(item)) })
	if next, more := m.OptionalText(12); more {
		return items, &next, nil
	}
	return items, nil, nil
}

func object(m abi.Memory) json.RawMessage { return m.Bytes(0) }

func list(resource string, namespace *string, selector string, cursor *string) ([]json.RawMessage, *string, error) {
	mark := abi.Mark()
	defer abi.Release(mark)
	some, in := option(namespace)
	more, from := option(cursor)
	wasmList(resource, some, in, selector, 0, more, from, abi.Area())
	return page(8, object)
}

func byIndex(resource, index, value string, cursor *string) ([]json.RawMessage, *string, error) {
	mark := abi.Mark()
	defer abi.Release(mark)
	more, from := option(cursor)
	wasmByIndex(resource, index, value, 0, more, from, abi.Area())
	return page(8, object)
}

func indexKeys(resource, index, value string, cursor *string) ([]informant.Key, *string, error) {
	mark := abi.Mark()
	defer abi.Release(mark)
	more, from := option(cursor)
	wasmIndexKeys(resource, index, value, 0, more, from, abi.Area())
	return page(16, func(m abi.Memory) informant.Key {
		return informant.Key{Namespace: m.Text(0), Name: m.Text(8)}
	})
}

func indexValues(resource, index string, cursor *string) ([]string, *string, error) {
	mark := abi.Mark()
	defer abi.Release(mark)
	more, from := option(cursor)
	wasmIndexValues(resource, index, 0, more, from, abi.Area())
	return page(8, func(m abi.Memory) string { return m.Text(0) })
}

func count(resource string, namespace *string) (uint64, error) {
	mark := abi.Mark()
	defer abi.Release(mark)
	some, in := option(namespace)
	wasmCount(resource, some, in, abi.Area())
	m := abi.Answer()
	if err := failed(m, 8); err != nil {
		return 0, err
	}
	return m.U64(8), nil
}

func hasSynced(resource string) (bool, error) {
	mark := abi.Mark()
	defer abi.Release(mark)
	wasmHasSynced(resource, abi.Area())
	m := abi.Answer()
	if err := failed(m, 4); err != nil {
		return false, err
	}
	return m.U8(4) != 0, nil
}
