// Package native replaces the host in an ordinary test. Package informanttest fills it and reads it.
package native

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Host is the host of one test.
type Host struct {
	Name string
	// Log gets every line.
	Log     func(level uint32, message string, fields [][2]string)
	objects map[string]map[string]json.RawMessage
	indexes map[string]string
	State   map[string][]byte
	// Keys are due. The others are delayed until now has reached their times.
	Keys     []string
	delayed  []delayed
	now      time.Duration
	failures map[string]uint32
	// working is the key of the present call, and limited says whether that call has added it rate limited.
	working string
	limited bool
	// Shard has the number of this instance, and the number of instances.
	Shard [2]int
	// Series are the plugin's metrics: the last value of a gauge or histogram, and the sum of a counter.
	Series map[string]float64
	// Write fails until a test sets the answers.
	Write func(Write) (json.RawMessage, error)
	Ask   func(Request) (Response, error)
	// New and Old are the objects of the present event.
	New, Old json.RawMessage
}

// Write is a write of a plugin.
type Write struct {
	Verb, Resource, Namespace, Name, Subresource, PatchType string
	Body                                                    json.RawMessage
}

// Request is an HTTP request.
type Request struct {
	Method, URL string
	Headers     [][2]string
	Body        []byte
}

// Response is the answer to a request.
type Response struct {
	Status  int
	Headers [][2]string
	Body    []byte
}

var host = NewHost()

// NewHost returns an empty host.
func NewHost() *Host {
	return &Host{
		Name:     "test",
		Shard:    [2]int{0, 1},
		objects:  map[string]map[string]json.RawMessage{},
		indexes:  map[string]string{},
		State:    map[string][]byte{},
		Series:   map[string]float64{},
		failures: map[string]uint32{},
	}
}

// Use makes this the host of plugins.
func Use(h *Host) { host = h }

// Get returns the host of plugins.
func Get() *Host { return host }

// Log passes a line on.
func Log(level uint32, message string, fields [][2]string) {
	if host.Log != nil {
		host.Log(level, message, fields)
		return
	}
	fmt.Fprintln(os.Stderr, message, fields)
}

// Index declares an index.
func (h *Host) Index(resource, name, pointer string) { h.indexes[resource+" "+name] = pointer }

// Put puts an object into the cache. nil removes it.
func (h *Host) Put(resource, key string, object json.RawMessage) {
	of := h.objects[resource]
	if of == nil {
		of = map[string]json.RawMessage{}
		h.objects[resource] = of
	}
	if object == nil {
		delete(of, key)
		return
	}
	of[key] = object
}

// Object returns an object of the cache.
func (h *Host) Object(resource, key string) json.RawMessage { return h.objects[resource][key] }

// List returns objects sorted by key. Selectors have the form a=b,c=d here.
func (h *Host) List(resource string, namespace *string, selector string) ([]json.RawMessage, error) {
	wanted := map[string]string{}
	for _, part := range strings.FieldsFunc(selector, func(r rune) bool { return r == ',' }) {
		key, value, ok := strings.Cut(part, "=")
		if !ok {
			return nil, fmt.Errorf("tests know selectors of the form a=b,c=d, not %q", selector)
		}
		wanted[strings.TrimSpace(key)] = strings.TrimSpace(strings.TrimPrefix(value, "="))
	}
	return h.where(resource, func(object json.RawMessage) bool {
		var of struct {
			Metadata struct {
				Namespace string
				Labels    map[string]string
			}
		}
		_ = json.Unmarshal(object, &of) // what cannot be read has no labels
		for key, value := range wanted {
			if found, ok := of.Metadata.Labels[key]; !ok || found != value {
				return false
			}
		}
		return namespace == nil || *namespace == of.Metadata.Namespace
	}), nil
}

func (h *Host) where(resource string, is func(json.RawMessage) bool) []json.RawMessage {
	var keys []string
	for key := range h.objects[resource] {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	var found []json.RawMessage
	for _, key := range keys {
		if object := h.objects[resource][key]; is(object) {
			found = append(found, object)
		}
	}
	return found
}

// ByIndex returns the objects that an index has for value.
func (h *Host) ByIndex(resource, index, value string) ([]json.RawMessage, bool) {
	pointer, ok := h.indexes[resource+" "+index]
	return h.where(resource, func(object json.RawMessage) bool {
		return slices.Contains(valuesAt(object, pointer), value)
	}), ok
}

// Values returns the values of an index.
func (h *Host) Values(resource, index string) ([]string, bool) {
	pointer, ok := h.indexes[resource+" "+index]
	var values []string
	for _, object := range h.where(resource, func(json.RawMessage) bool { return true }) {
		values = append(values, valuesAt(object, pointer)...)
	}
	slices.Sort(values)
	return slices.Compact(values), ok
}

// KeyOf returns an object's key.
func KeyOf(object json.RawMessage) (namespace, name string) {
	var of struct {
		Metadata struct{ Namespace, Name string }
	}
	_ = json.Unmarshal(object, &of) // what cannot be read has no name
	return of.Metadata.Namespace, of.Metadata.Name
}

// At returns the JSON value at a pointer, or nil.
func At(object json.RawMessage, pointer string) *string {
	for _, value := range walk(object, pointer, false) {
		text, err := json.Marshal(value)
		if err != nil {
			return nil
		}
		found := string(text)
		return &found
	}
	return nil
}

// Differs reports whether two objects have different values at a pointer.
func Differs(one, other json.RawMessage, pointer string) bool {
	here, there := At(one, pointer), At(other, pointer)
	if here == nil || there == nil {
		return here != there
	}
	return *here != *there
}

func valuesAt(object json.RawMessage, pointer string) []string {
	var values []string
	for _, value := range walk(object, pointer, true) {
		if text, ok := value.(string); ok {
			values = append(values, text)
		} else if text, err := json.Marshal(value); err == nil {
			values = append(values, string(text))
		}
	}
	return values
}

// walk returns the values at a pointer. With every, as in an index, * steps into every member.
func walk(object json.RawMessage, pointer string, every bool) []any {
	var tree any
	if json.Unmarshal(object, &tree) != nil {
		return nil
	}
	found := []any{tree}
	if pointer == "" {
		return found
	}
	for _, step := range strings.Split(pointer, "/")[1:] {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		var next []any
		for _, value := range found {
			next = append(next, into(value, step, every && step == "*")...)
		}
		found = next
	}
	return found
}

func into(value any, step string, every bool) []any {
	var found []any
	switch of := value.(type) {
	case map[string]any:
		if every {
			for _, one := range of {
				found = append(found, one)
			}
		} else if one, ok := of[step]; ok {
			return []any{one}
		}
	case []any:
		if every {
			return of
		}
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(of) {
			return []any{of[i]}
		}
	}
	return found
}
