//go:build !wasip1

package metrics

import (
	"fmt"

	"github.com/informant-dev/informant/plugin-sdk/go/internal/native"
)

// fmt.Sprint sorts the keys of a map, so that a series has one name.
func change(of kind, name string, labels Labels, value float64) error {
	series := name + " " + fmt.Sprint(map[string]string(labels))
	if of == gauge {
		native.Get().Series[series] = value
	} else {
		native.Get().Series[series] += value
	}
	return nil
}
