//go:build !wasip1

package metrics

import (
	"fmt"

	"github.com/informant-dev/informant/plugin-sdk/go/internal/native"
)

// A map is shown with its keys in order, so that a series has one name.
func change(of kind, name string, labels Labels, value float64) error {
	series := name + " " + fmt.Sprint(map[string]string(labels))
	if of == gauge {
		native.Get().Series[series] = value
	} else {
		native.Get().Series[series] += value
	}
	return nil
}
