package informant

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
)

// Config is the plugin's section of the host's configuration, as JSON.
type Config []byte

// Decode reads the configuration into a struct, whose fields keep what they have where nothing is said. A key that the struct does not have is an
// error.
//
// A slice that is said takes the place of the one that was there, and entries of a map join those that were there in a new map: neither is written into,
// as others may have it, too.
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

// defaults are the slices and maps of a value before it is decoded into, which are taken out of it meanwhile.
type defaults []struct{ at, had reflect.Value }

// take looks into structs and arrays, not behind pointers: what is there is meant to be written into.
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

// giveBack leaves what was there where nothing was said, or what was said does not fit.
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
