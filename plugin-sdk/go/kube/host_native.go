//go:build !wasip1

package kube

import (
	"encoding/json"

	"github.com/informant-dev/informant/plugin-sdk/go/internal/native"
)

func write(verb string, object Object, kind string, body []byte) (json.RawMessage, error) {
	answer := native.Get().Write
	if answer == nil {
		return nil, &Error{Kind: NotGranted, Message: "the test answers no writes"}
	}
	return answer(native.Write{
		Verb: verb, Resource: object.Resource, Namespace: object.Key.Namespace, Name: object.Key.Name,
		Subresource: object.Subresource, PatchType: kind, Body: body,
	})
}

func create(object Object, body []byte) (json.RawMessage, error) {
	return write("create", object, "", body)
}

func update(object Object, body []byte) (json.RawMessage, error) {
	return write("update", object, "", body)
}

func patch(object Object, kind PatchType, body []byte) (json.RawMessage, error) {
	kinds := [...]string{"json-patch", "merge", "strategic", "apply", "apply"}
	return write("patch", object, kinds[min(kind, ForceApply)], body)
}

func remove(object Object, _ string) error {
	_, err := write("delete", object, "", nil)
	return err
}

func recordEvent(object Object, _ bool, reason, message string) error {
	_, err := write("event", object, reason, []byte(message))
	return err
}
