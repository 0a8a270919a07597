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
	return native.Differs(whole(New), whole(Old), pointer)
}
