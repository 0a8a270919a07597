package state

import (
	"errors"
	"unsafe"

	"github.com/informant-dev/informant/plugin-sdk/go/internal/abi"
)

//go:wasmimport informant:plugin/state@0.1.0 get
func wasmGet(key string, answer unsafe.Pointer)

//go:wasmimport informant:plugin/state@0.1.0 set
func wasmSet(key string, some uint32, value string, answer unsafe.Pointer)

//go:wasmimport informant:plugin/state@0.1.0 compare-and-set
func wasmCompareAndSet(key string, expects uint32, expected string, some uint32, value string, answer unsafe.Pointer)

//go:wasmimport informant:plugin/state@0.1.0 keys
func wasmKeys(prefix string, answer unsafe.Pointer)

func failed(m abi.Memory) error {
	if m.U8(0) == 0 {
		return nil
	}
	return errors.New("state: " + m.Text(4))
}

func get(key string) ([]byte, error) {
	mark := abi.Mark()
	defer abi.Release(mark)
	wasmGet(key, abi.Area())
	m := abi.Answer()
	if err := failed(m); err != nil {
		return nil, err
	}
	return m.OptionalBytes(4), nil
}

func set(key string, value []byte) error {
	mark := abi.Mark()
	defer abi.Release(mark)
	wasmSet(key, abi.Bit(value != nil), abi.View(value), abi.Area())
	return failed(abi.Answer())
}

func compareAndSet(key string, expected, value []byte) (bool, error) {
	mark := abi.Mark()
	defer abi.Release(mark)
	expects, some := abi.Bit(expected != nil), abi.Bit(value != nil)
	wasmCompareAndSet(key, expects, abi.View(expected), some, abi.View(value), abi.Area())
	m := abi.Answer()
	if err := failed(m); err != nil {
		return false, err
	}
	return m.U8(4) != 0, nil
}

func keys(prefix string) ([]string, error) {
	mark := abi.Mark()
	defer abi.Release(mark)
	wasmKeys(prefix, abi.Area())
	m := abi.Answer()
	if err := failed(m); err != nil {
		return nil, err
	}
	return m.Texts(4), nil
}
