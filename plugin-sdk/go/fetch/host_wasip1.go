package fetch

import (
	"math"
	"runtime"
	"unsafe"

	informant "github.com/informant-dev/informant/plugin-sdk/go"
	"github.com/informant-dev/informant/plugin-sdk/go/internal/abi"
)

//go:wasmimport informant:plugin/http@0.1.0 send
func wasmSend(method, url string, headers unsafe.Pointer, count uint32, body string, timeoutMs uint32, answer unsafe.Pointer)

func send(request Request) (int, [][2]string, []byte, error) {
	mark := abi.Mark()
	defer abi.Release(mark)
	at, count := abi.List(abi.Pairs(request.Headers))
	timeout := uint32(min(informant.Milliseconds(request.Timeout), math.MaxUint32))
	wasmSend(request.Method, request.URL, at, count, abi.View(request.Body), timeout, abi.Area())
	runtime.KeepAlive(request)
	m := abi.Answer()
	if m.U8(0) != 0 {
		err := &Error{Kind: Kind(m.U8(4))}
		if err.Kind != NotLeader {
			err.Message = m.Text(8)
		}
		return 0, nil, nil, err
	}
	var headers [][2]string
	m.Each(8, 16, func(field abi.Memory) {
		headers = append(headers, [2]string{field.Text(0), field.Text(8)})
	})
	return int(m.U16(4)), headers, m.Bytes(16), nil
}
