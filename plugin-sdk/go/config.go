package informant

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Config is the plugin's section of the host's configuration, as JSON.
type Config []byte

// Decode reads the configuration into a struct, whose fields keep what they have where nothing is said. A key that the struct does not have is an
// error.
func (c Config) Decode(into any) error {
	if len(bytes.TrimSpace(c)) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(c))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return Never(fmt.Errorf("the plugin's configuration does not fit: %w", err))
	}
	return nil
}
