// Package kube writes to the cluster, as far as whoever runs the host grants it to the plugin: Descriptor.Writes says beforehand what for. The plugin
// waits for the answer. It may write in Handle, Reconcile, Fire and Synced; a call that fails takes back nothing that it wrote.
package kube

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	informant "github.com/informant-dev/informant/plugin-sdk/go"
)

// Object names what is written: of a resource, v1/pods, and for some verbs a subresource, status.
type Object struct {
	Resource    string
	Subresource string
	Key         informant.Key
}

// PatchType is how a patch is read.
type PatchType uint32

// How.
const (
	JSONPatch PatchType = iota
	Merge
	// Strategic merges lists by key; not for custom resources.
	Strategic
	// Apply is server-side apply; the field manager is informant- and the plugin's name.
	Apply
	// ForceApply takes conflicting fields over.
	ForceApply
)

// Kind is how a write failed.
type Kind uint8

// How it can fail.
const (
	// NotGranted: nothing was sent; the message has the lines that would grant it.
	NotGranted Kind = iota
	// NotLeader: another replica of the host writes.
	NotLeader
	// Invalid: it cannot be a request.
	Invalid
	// Status: the API server refused it.
	Status
	// Transport: no answer came; it may have been done or not.
	Transport
)

// Error is why a write did not succeed.
type Error struct {
	Kind    Kind
	Message string
	// Code and Reason are the API server's: 409 and Conflict.
	Code   uint16
	Reason string
	// RetryAfter is when to try again, as the API server says it.
	RetryAfter time.Duration
}

func (e *Error) Error() string {
	if e.Kind == Status {
		return fmt.Sprintf("kube: %d %s: %s", e.Code, e.Reason, e.Message)
	}
	kinds := [...]string{"not granted", "not the leader", "invalid", "status", "no answer"}
	kind := "failed"
	if int(e.Kind) < len(kinds) {
		kind = kinds[e.Kind]
	}
	if e.Message == "" {
		return "kube: " + kind
	}
	return "kube: " + kind + ": " + e.Message
}

// IsReason says whether the API server refused a write for this: Conflict, AlreadyExists, NotFound.
func IsReason(err error, reason string) bool {
	var of *Error
	return errors.As(err, &of) && of.Kind == Status && of.Reason == reason
}

// Create makes an object, which is anything that becomes its JSON. An empty name leaves it to the object's generateName.
func Create(object Object, body any) (json.RawMessage, error) {
	return with(body, func(text []byte) (json.RawMessage, error) { return create(object, text) })
}

// Update replaces an object.
func Update(object Object, body any) (json.RawMessage, error) {
	return with(body, func(text []byte) (json.RawMessage, error) { return update(object, text) })
}

// Patch changes a part of an object.
func Patch(object Object, kind PatchType, body any) (json.RawMessage, error) {
	return with(body, func(text []byte) (json.RawMessage, error) { return patch(object, kind, text) })
}

// Delete deletes an object; with a UID only that object.
func Delete(object Object, uid string) error { return remove(object, uid) }

// RecordEvent writes a Kubernetes Event about an object, without waiting for it.
func RecordEvent(object Object, warning bool, reason, message string) error {
	return recordEvent(object, warning, reason, message)
}

func with(body any, send func([]byte) (json.RawMessage, error)) (json.RawMessage, error) {
	switch text := body.(type) {
	case json.RawMessage:
		return send(text)
	case []byte:
		return send(text)
	case string:
		return send([]byte(text))
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, informant.Never(fmt.Errorf("what is to be written is no JSON: %w", err))
	}
	return send(text)
}
