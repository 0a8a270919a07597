package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// counts is what one handler has seen.
type counts struct {
	added, updated, deleted atomic.Int64
	recording               atomic.Bool
	mutex                   sync.Mutex
	// From the server's stamp to the end of the handler, in nanoseconds.
	latencies []int64
	compare   bool
	// The one namespace that the handler is for; all of them if it is empty.
	namespace string
	// By key, in order: the event, the object's version, a hash of the whole object.
	events map[string][]string
}

// keep keeps an event for /events.
func (c *counts) keep(event string, object any) {
	if !c.compare {
		return
	}
	if unseen, ok := object.(cache.DeletedFinalStateUnknown); ok {
		event, object = event+" unseen", unseen.Obj
	}
	pod := object.(*corev1.Pod)
	text, err := json.Marshal(pod)
	if err != nil {
		event += " " + err.Error()
	}
	key := pod.Namespace + "/" + pod.Name
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.events[key] = append(c.events[key], fmt.Sprintf("%s %s %x", event, pod.ResourceVersion, sha256.Sum256(text)))
}

func (c *counts) record(now time.Time, meta *metav1.ObjectMeta) {
	stamp, err := strconv.ParseInt(stampOf(meta), 10, 64)
	if err != nil {
		return
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.latencies = append(c.latencies, now.UnixNano()-stamp)
}

// serve answers the runner's questions: what was counted, and what was recorded since the last time.
func serve(seen []*counts, synced func() bool) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	http.HandleFunc("/counts", func(out http.ResponseWriter, _ *http.Request) {
		answer := map[string]any{"synced": synced()}
		var added, updated, deleted int64
		for _, c := range seen {
			added += c.added.Load()
			updated += c.updated.Load()
			deleted += c.deleted.Load()
		}
		answer["added"], answer["updated"], answer["deleted"] = added, updated, deleted
		_ = json.NewEncoder(out).Encode(answer)
	})
	http.HandleFunc("/events", func(out http.ResponseWriter, _ *http.Request) {
		c := seen[0]
		c.mutex.Lock()
		defer c.mutex.Unlock()
		_ = json.NewEncoder(out).Encode(c.events)
	})
	http.HandleFunc("/record", func(http.ResponseWriter, *http.Request) {
		for _, c := range seen {
			c.recording.Store(true)
		}
	})
	http.HandleFunc("/latencies", func(out http.ResponseWriter, _ *http.Request) {
		latencies := []int64{}
		for _, c := range seen {
			c.recording.Store(false)
			c.mutex.Lock()
			latencies = append(latencies, c.latencies...)
			c.latencies = nil
			c.mutex.Unlock()
		}
		_ = json.NewEncoder(out).Encode(latencies)
	})
	http.HandleFunc("/release", func(http.ResponseWriter, *http.Request) { debug.FreeOSMemory() })
	fmt.Printf("READY %s\n", listener.Addr())
	return http.Serve(listener, nil)
}
