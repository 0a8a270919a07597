//go:build !wasip1

package eventdata

import (
	"encoding/json"

	"github.com/informant-dev/informant/plugin-sdk/go/internal/native"
)

func whole(side Side) json.RawMessage {
	if side == Old {
		return native.Get().Old
	}
	return native.Get().New
}

func fields(side Side, pointers []string) []*string {
	values := make([]*string, len(pointers))
	for i, pointer := range pointers {
		values[i] = native.At(whole(side), pointer)
	}
	return values
}

func changed(pointer string) bool {
	before, after := native.At(whole(Old), pointer), native.At(whole(New), pointer)
	if before == nil || after == nil {
		return before != after
	}
	return *before != *after
}
