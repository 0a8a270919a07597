package native

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// The wait after a key's first failure. It doubles with each further one.
const (
	waitBase = 5 * time.Millisecond
	waitMax  = 30 * time.Second
)

// Rule is a rule of `enqueue`, as in a descriptor.
type Rule struct{ Owner, Pointer, Namespace, Prefix string }

// AddKey adds a key to the queue, once.
func (h *Host) AddKey(key string) {
	if !slices.Contains(h.Keys, key) {
		h.Keys = append(h.Keys, key)
	}
}

// delayed is a key that is due at a time after the start of the test.
type delayed struct {
	key string
	due time.Duration
}

// AddKeyAfter adds a key for later, or at once without a wait.
func (h *Host) AddKeyAfter(key string, wait time.Duration) {
	if wait <= 0 {
		h.AddKey(key)
	} else {
		h.DelayKey(key, wait)
	}
}

// DelayKey adds a key for later. If a key has several times, the earliest counts.
func (h *Host) DelayKey(key string, wait time.Duration) {
	due := h.now + wait
	for i := range h.delayed {
		if h.delayed[i].key == key {
			h.delayed[i].due = min(h.delayed[i].due, due)
			return
		}
	}
	h.delayed = append(h.delayed, delayed{key, due})
}

// AddKeyRateLimited adds a key after the wait for one more failure.
func (h *Host) AddKeyRateLimited(key string) {
	if key == h.working {
		h.limited = true
	}
	failures := h.failures[key]
	h.failures[key] = failures + 1
	h.DelayKey(key, min(waitBase<<min(failures, 20), waitMax))
}

// ForgetKey resets a key's failures.
func (h *Host) ForgetKey(key string) { delete(h.failures, key) }

// KeyFailures returns the number of a key's failures.
func (h *Host) KeyFailures(key string) uint32 { return h.failures[key] }

// Delayed returns the time until each delayed key is due.
func (h *Host) Delayed() map[string]time.Duration {
	waits := map[string]time.Duration{}
	for _, one := range h.delayed {
		waits[one.key] = one.due - h.now
	}
	return waits
}

// Wait lets time pass. The keys that are due by then follow in the order of their times.
func (h *Host) Wait(passes time.Duration) {
	h.now += passes
	slices.SortStableFunc(h.delayed, func(a, b delayed) int { return cmp.Compare(a.due, b.due) })
	for len(h.delayed) > 0 && h.delayed[0].due <= h.now {
		key := h.delayed[0].key
		h.delayed = h.delayed[1:]
		h.AddKey(key)
	}
}

// TakeKey takes the first key that is due. It returns the key and the number of its attempt.
func (h *Host) TakeKey() (key string, attempt uint32) {
	h.working, h.limited = h.Keys[0], false
	h.Keys = h.Keys[1:]
	return h.working, h.failures[h.working] + 1
}

// SettleKey ends the call for the key that was taken. The wait is that of the result, or of the failure.
func (h *Host) SettleKey(failed, never bool, wait time.Duration) {
	key := h.working
	h.working = ""
	if never || (!failed && !h.limited) {
		h.ForgetKey(key)
	}
	if wait > 0 {
		h.DelayKey(key, wait)
	} else if failed && !never {
		h.AddKeyRateLimited(key)
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
	for _, value := range walk(object, pointer, false) {
		text, _ := value.(string)
		return text
	}
	return ""
}
