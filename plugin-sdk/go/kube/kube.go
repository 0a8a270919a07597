// Package kube writes to the cluster, if the host's operator has granted the writes to the plugin: Descriptor.Writes
// declares them. The plugin waits for the answer. Writes are possible in Handle, Reconcile, Fire and Synced. A failed
// call does not undo its writes.
package kube

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	informant "github.com/informant-dev/informant/plugin-sdk/go"
)

// Object names the object of a write: its resource, such as v1/pods, and for some verbs a subresource, such as status.
type Object struct {
	Resource    string
	Subresource string
	Key         informant.Key
}

// PatchType is the format of a patch.
type PatchType uint32

// The formats.
const (
	JSONPatch PatchType = iota
	Merge
	// Strategic merges lists by key. Not for custom resources.
	Strategic
	// Apply is server-side apply. The field manager is informant- and the plugin's name.
	Apply
	// ForceApply takes over fields of other managers.
	ForceApply
)

// Kind is the kind of an error.
type Kind uint8

// The kinds of errors.
const (
	// NotGranted: nothing was sent. The message contains the lines that would grant the write.
	NotGranted Kind = iota
	// NotLeader: another replica of the host leads.
	NotLeader
	// Invalid: the write is not valid.
	Invalid
	// Status: the API server refused the write.
	Status
	// Transport: no answer came. The write may have been carried out.
	Transport
)

// Error is the reason for a failed write.
type Error struct {
	Kind    Kind
	Message string
	// Code and Reason are those of the API server, such as 409 and Conflict.
	Code   uint16
	Reason string
	// RetryAfter is the API server's time until the next try. An event that fails with this error comes again after it.
	RetryAfter time.Duration
}

// APIServerWait returns RetryAfter, for informant.Retry.
func (e *Error) APIServerWait() time.Duration { return e.RetryAfter }

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

// IsReason returns whether the API server refused a write for this reason: Conflict, AlreadyExists, NotFound.
func IsReason(err error, reason string) bool {
	var of *Error
	return errors.As(err, &of) && of.Kind == Status && of.Reason == reason
}

// Create creates an object from any value that can be encoded as JSON. If the name is empty, the object's generateName
// applies.
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

// Delete deletes an object. With a UID, it deletes only the object with this UID.
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
