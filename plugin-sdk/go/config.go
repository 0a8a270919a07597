package informant

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
)

// Config is the plugin's section of the host's configuration, as JSON.
type Config []byte

// Decode decodes the configuration into a struct. Fields without a key keep their values. A key that the struct does
// not have is an error.
//
// A configured slice replaces the present one, and configured entries of a map are added to a copy of the present map.
// Neither the present slice nor the present map is changed, because others may share them.
func (c Config) Decode(into any) error {
	if len(bytes.TrimSpace(c)) == 0 {
		return nil
	}
	var had defaults
	if into := reflect.ValueOf(into); into.Kind() == reflect.Pointer && !into.IsNil() {
		had.take(into.Elem())
	}
	decoder := json.NewDecoder(bytes.NewReader(c))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	had.giveBack(err == nil)
	if err != nil {
		return Never(fmt.Errorf("the plugin's configuration does not fit: %w", err))
	}
	return nil
}

// defaults are the slices and maps of a value before it is decoded into. They are removed from the value meanwhile.
type defaults []struct{ at, had reflect.Value }

// take looks into structs and arrays, but not behind pointers, which the configuration may change.
func (d *defaults) take(value reflect.Value) {
	switch value.Kind() {
	case reflect.Struct:
		for i := range value.NumField() {
			if field := value.Field(i); field.CanSet() || value.Type().Field(i).Anonymous {
				d.take(field)
			}
		}
	case reflect.Array:
		for i := range value.Len() {
			d.take(value.Index(i))
		}
	case reflect.Slice, reflect.Map:
		if !value.CanSet() || value.IsNil() {
			return
		}
		had := reflect.New(value.Type()).Elem()
		had.Set(value)
		*d = append(*d, struct{ at, had reflect.Value }{value, had})
		value.SetZero()
	}
}

// giveBack restores the default if the configuration has no value, or one that does not fit.
func (d defaults) giveBack(fits bool) {
	for _, it := range d {
		switch {
		case !fits || it.at.IsNil():
			it.at.Set(it.had)
		case it.at.Kind() == reflect.Map:
			said := it.at.MapRange()
			all := reflect.MakeMapWithSize(it.at.Type(), it.had.Len()+it.at.Len())
			for had := it.had.MapRange(); had.Next(); {
				all.SetMapIndex(had.Key(), had.Value())
			}
			for said.Next() {
				all.SetMapIndex(said.Key(), said.Value())
			}
			it.at.Set(all)
		}
	}
}
