package native

import (
	"encoding/json"
	"slices"
	"strings"
)

// Rule is a rule of `enqueue`, as in a descriptor.
type Rule struct{ Owner, Pointer, Namespace, Prefix string }

// AddKey adds a key to the queue, once.
func (h *Host) AddKey(key string) {
	if !slices.Contains(h.Keys, key) {
		h.Keys = append(h.Keys, key)
	}
}

// KeysOf returns the keys that a rule makes of one state of an object.
func (r Rule) KeysOf(object json.RawMessage) []string {
	var of struct {
		Metadata struct {
			Namespace, Name string
			OwnerReferences []struct{ APIVersion, Kind, Name string }
		}
	}
	_ = json.Unmarshal(object, &of) // what cannot be read has no keys
	space := r.Prefix
	switch namespace := of.Metadata.Namespace; {
	case r.Namespace == "none":
	case strings.HasPrefix(r.Namespace, "/"):
		if namespace = textAt(object, r.Namespace); namespace == "" {
			return nil
		}
		space += namespace + "/"
	case namespace != "":
		space += namespace + "/"
	}
	names := []string{of.Metadata.Name}
	if r.Pointer != "" {
		names = []string{textAt(object, r.Pointer)}
	} else if r.Owner != "" {
		names = nil
		for _, owner := range of.Metadata.OwnerReferences {
			if sameKind(owner.APIVersion+"/"+owner.Kind, r.Owner) {
				names = append(names, owner.Name)
			}
		}
	}
	var keys []string
	for _, name := range names {
		if name != "" {
			keys = append(keys, space+name)
		}
	}
	return keys
}

// sameKind compares group and kind of two texts such as apps/v1/ReplicaSet.
func sameKind(one, other string) bool {
	group := func(parts []string) string {
		if len(parts) == 3 {
			return parts[0]
		}
		return ""
	}
	a, b := strings.Split(one, "/"), strings.Split(other, "/")
	return group(a) == group(b) && a[len(a)-1] == b[len(b)-1]
}

// textAt returns the text at a pointer, or nothing.
func textAt(object json.RawMessage, pointer string) string {
	for _, value := range walk(object, pointer) {
		text, _ := value.(string)
		return text
	}
	return ""
}
