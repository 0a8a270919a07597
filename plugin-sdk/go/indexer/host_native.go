//go:build !wasip1

package indexer

import (
	"encoding/json"

	informant "github.com/informant-dev/informant/plugin-sdk/go"
	"github.com/informant-dev/informant/plugin-sdk/go/internal/native"
)

// In a test all objects are on one page.

func get(resource string, key informant.Key) (json.RawMessage, error) {
	return native.Get().Object(resource, key.String()), nil
}

func fields(resource string, key informant.Key, pointers []string) ([]*string, error) {
	object := native.Get().Object(resource, key.String())
	if object == nil {
		return nil, nil
	}
	values := make([]*string, len(pointers))
	for i, pointer := range pointers {
		values[i] = native.At(object, pointer)
	}
	return values, nil
}

func list(resource string, namespace *string, selector string, _ *string) ([]json.RawMessage, *string, error) {
	objects, err := native.Get().List(resource, namespace, selector)
	if err != nil {
		return nil, nil, &Error{Kind: Invalid, Message: err.Error()}
	}
	return objects, nil, nil
}

func byIndex(resource, index, value string, _ *string) ([]json.RawMessage, *string, error) {
	objects, ok := native.Get().ByIndex(resource, index, value)
	if !ok {
		return nil, nil, &Error{Kind: UnknownIndex, Message: index}
	}
	return objects, nil, nil
}

func indexKeys(resource, index, value string, _ *string) ([]informant.Key, *string, error) {
	objects, _, err := byIndex(resource, index, value, nil)
	keys := make([]informant.Key, 0, len(objects))
	for _, object := range objects {
		namespace, name := native.KeyOf(object)
		keys = append(keys, informant.Key{Namespace: namespace, Name: name})
	}
	return keys, nil, err
}

func indexValues(resource, index string, _ *string) ([]string, *string, error) {
	values, ok := native.Get().Values(resource, index)
	if !ok {
		return nil, nil, &Error{Kind: UnknownIndex, Message: index}
	}
	return values, nil, nil
}

func count(resource string, namespace *string) (uint64, error) {
	objects, err := native.Get().List(resource, namespace, "")
	return uint64(len(objects)), err
}

func hasSynced(string) (bool, error) { return true, nil }
