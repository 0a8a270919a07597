package metrics

import (
	"errors"
	"runtime"
	"unsafe"

	"github.com/informant-dev/informant/plugin-sdk/go/internal/abi"
)

//go:wasmimport informant:plugin/metrics@0.1.0 counter-add
func wasmCounterAdd(name string, labels unsafe.Pointer, count uint32, value float64, answer unsafe.Pointer)

//go:wasmimport informant:plugin/metrics@0.1.0 gauge-set
func wasmGaugeSet(name string, labels unsafe.Pointer, count uint32, value float64, answer unsafe.Pointer)

//go:wasmimport informant:plugin/metrics@0.1.0 histogram-observe
func wasmHistogramObserve(name string, labels unsafe.Pointer, count uint32, value float64, answer unsafe.Pointer)

func change(of kind, name string, labels Labels, value float64) error {
	mark := abi.Mark()
	defer abi.Release(mark)
	at, count := abi.List(abi.Pairs(labels))
	switch of {
	case counter:
		wasmCounterAdd(name, at, count, value, abi.Area())
	case gauge:
		wasmGaugeSet(name, at, count, value, abi.Area())
	default:
		wasmHistogramObserve(name, at, count, value, abi.Area())
	}
	runtime.KeepAlive(labels)
	if m := abi.Answer(); m.U8(0) != 0 {
		return errors.New("metrics: " + m.Text(4))
	}
	return nil
}
