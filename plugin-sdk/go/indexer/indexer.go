// Package indexer reads the shared cache: what the plugin subscribes to, and what it names in its descriptor's Reads. Reads never wait and never reach
// the API server.
package indexer

import (
	"encoding/json"
	"fmt"

	informant "github.com/informant-dev/informant/plugin-sdk/go"
)

// Kind is what is wrong with a read.
type Kind uint8

// What can be wrong.
const (
	NotGranted Kind = iota
	UnknownResource
	UnknownIndex
	// NotSynced: the first list is not complete; an absent object may be there.
	NotSynced
	// Expired: the cursor is too old.
	Expired
	Invalid
)

// Error is why a read was refused.
type Error struct {
	Kind    Kind
	Message string
}

func (e *Error) Error() string {
	kinds := [...]string{"not granted", "unknown resource", "unknown index", "not synced", "expired", "invalid"}
	kind := "refused"
	if int(e.Kind) < len(kinds) {
		kind = kinds[e.Kind]
	}
	if e.Message == "" {
		return "indexer: " + kind
	}
	return fmt.Sprintf("indexer: %s: %s", kind, e.Message)
}

// Get is one object's JSON; nil if it is not there.
func Get(resource string, key informant.Key) (json.RawMessage, error) { return get(resource, key) }

// Decode reads one object into a struct, and says whether it is there.
func Decode(resource string, key informant.Key, into any) (bool, error) {
	object, err := get(resource, key)
	if err != nil || object == nil {
		return false, err
	}
	return true, json.Unmarshal(object, into)
}

// Fields are the values at JSON pointers of one object, nil where nothing is; nil for no object. That is much cheaper than the whole object.
func Fields(resource string, key informant.Key, pointers ...string) ([]*string, error) {
	return fields(resource, key, pointers)
}

// In asks for one namespace, for List and Count; All for all of them.
type In struct{ namespace *string }

// All is all namespaces, and objects that have none.
var All In

// Namespace is one namespace.
func Namespace(name string) In { return In{&name} }

// List hands over every object with these labels, page by page: seen says whether to go on.
func List(resource string, in In, labelSelector string, seen func(json.RawMessage) bool) error {
	return pages(func(cursor *string) (items []json.RawMessage, next *string, err error) {
		return list(resource, in.namespace, labelSelector, cursor)
	}, seen)
}

// ByIndex hands over every object that an index files under value.
func ByIndex(resource, index, value string, seen func(json.RawMessage) bool) error {
	return pages(func(cursor *string) ([]json.RawMessage, *string, error) {
		return byIndex(resource, index, value, cursor)
	}, seen)
}

// IndexKeys hands over the key of every object that an index files under value.
func IndexKeys(resource, index, value string, seen func(informant.Key) bool) error {
	return pages(func(cursor *string) ([]informant.Key, *string, error) {
		return indexKeys(resource, index, value, cursor)
	}, seen)
}

// IndexValues hands over every value that an index has.
func IndexValues(resource, index string, seen func(string) bool) error {
	return pages(func(cursor *string) ([]string, *string, error) {
		return indexValues(resource, index, cursor)
	}, seen)
}

// Count is how many objects there are.
func Count(resource string, in In) (uint64, error) { return count(resource, in.namespace) }

// HasSynced says whether everything that was there has been listed.
func HasSynced(resource string) (bool, error) { return hasSynced(resource) }

func pages[T any](page func(cursor *string) ([]T, *string, error), seen func(T) bool) error {
	var cursor *string
	for {
		items, next, err := page(cursor)
		if err != nil {
			return err
		}
		for _, item := range items {
			if !seen(item) {
				return nil
			}
		}
		if next == nil {
			return nil
		}
		cursor = next
	}
}
