// Package indexer reads the shared cache: the resources of the plugin's subscriptions and of its descriptor's Reads.
// Reads never wait and never reach the API server.
package indexer

import (
	"encoding/json"
	"fmt"

	informant "github.com/informant-dev/informant/plugin-sdk/go"
)

// Kind is the kind of an error.
type Kind uint8

// The kinds of errors.
const (
	NotGranted Kind = iota
	UnknownResource
	UnknownIndex
	// NotSynced: the first list is not complete, so an absent object may exist.
	NotSynced
	// Expired: the cursor is too old.
	Expired
	Invalid
)

// Error is the reason for a refused read.
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

// Get returns one object's JSON, or nil if the object does not exist.
func Get(resource string, key informant.Key) (json.RawMessage, error) { return get(resource, key) }

// Decode decodes one object into a struct. It returns whether the object exists.
func Decode(resource string, key informant.Key, into any) (bool, error) {
	object, err := get(resource, key)
	if err != nil || object == nil {
		return false, err
	}
	return true, json.Unmarshal(object, into)
}

// Fields returns the values at JSON pointers of one object, with nil for each missing value. It returns nil if there
// is no object. It is much cheaper than the whole object.
func Fields(resource string, key informant.Key, pointers ...string) ([]*string, error) {
	return fields(resource, key, pointers)
}

// In chooses one namespace for List and Count, or All for all of them.
type In struct{ namespace *string }

// All stands for all namespaces, and for objects without a namespace.
var All In

// Namespace stands for one namespace.
func Namespace(name string) In { return In{&name} }

// List passes every object with these labels to seen, page by page. seen returns whether to continue.
func List(resource string, in In, labelSelector string, seen func(json.RawMessage) bool) error {
	return pages(func(cursor *string) (items []json.RawMessage, next *string, err error) {
		return list(resource, in.namespace, labelSelector, cursor)
	}, seen)
}

// ByIndex passes every object that an index has for value to seen.
func ByIndex(resource, index, value string, seen func(json.RawMessage) bool) error {
	return pages(func(cursor *string) ([]json.RawMessage, *string, error) {
		return byIndex(resource, index, value, cursor)
	}, seen)
}

// IndexKeys passes the key of every object that an index has for value to seen.
func IndexKeys(resource, index, value string, seen func(informant.Key) bool) error {
	return pages(func(cursor *string) ([]informant.Key, *string, error) {
		return indexKeys(resource, index, value, cursor)
	}, seen)
}

// IndexValues passes every value of an index to seen.
func IndexValues(resource, index string, seen func(string) bool) error {
	return pages(func(cursor *string) ([]string, *string, error) {
		return indexValues(resource, index, cursor)
	}, seen)
}

// Count returns the number of objects.
func Count(resource string, in In) (uint64, error) { return count(resource, in.namespace) }

// HasSynced returns whether the first list is complete.
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
