// Config-reloader rolls the workloads that ask for it when a ConfigMap, or a Secret if that is granted, changes that they use.
//
// It is a controller: changes become keys on the host, of two kinds. The key of a source (configmaps/shop/settings) stands for "whoever may use this is to
// be looked at", that of a workload (deployments/shop/web) for "bring it in line". What a workload last ran with is written in its own annotations, so
// that nothing is missed while nobody runs, and nothing is done twice.
package main

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	informant "github.com/informant-dev/informant/plugin-sdk/go"
	"github.com/informant-dev/informant/plugin-sdk/go/indexer"
	"github.com/informant-dev/informant/plugin-sdk/go/kube"
	"github.com/informant-dev/informant/plugin-sdk/go/metrics"
	"github.com/informant-dev/informant/plugin-sdk/go/workqueue"
)

// The annotations: what a workload asks for, what it was last seen to use, and on its pods what rolls them.
const (
	asks   = "informant.dev/reload"
	seen   = "informant.dev/reload-seen"
	rolled = "informant.dev/reload-hash"
)

const (
	asksAt   = "/metadata/annotations/informant.dev~1reload"
	seenAt   = "/metadata/annotations/informant.dev~1reload-seen"
	rolledAt = "/spec/template/metadata/annotations/informant.dev~1reload-hash"
)

// byRequest is the index of workloads by what they ask for, word for word.
const byRequest = "reload"

const filter = `has(object.metadata.annotations) && '` + asks + `' in object.metadata.annotations`

// settleMax bounds the wait for more changes.
const settleMax = 10 * time.Minute

// staleWait is how long the cache is given to hear of a write.
const staleWait = 100 * time.Millisecond

var workloads = []string{"deployments", "statefulsets", "daemonsets"}

// The settings, as in config-reloader.yaml.
type settings struct {
	// Secrets are followed, too.
	Secrets bool `json:"secrets"`
	// Workloads are the resources that are rolled.
	Workloads []string `json:"workloads"`
	// Namespaces where this is done; all if there are none.
	Namespaces []string `json:"namespaces"`
	// Settle is how long a change waits for others.
	Settle string `json:"settle"`
	settle time.Duration
}

func read(config informant.Config) (settings, error) {
	found := settings{Workloads: slices.Clone(workloads), Settle: "5s"}
	if err := config.Decode(&found); err != nil {
		return found, err
	}
	var err error
	if found.settle, err = time.ParseDuration(found.Settle); err != nil || found.settle < 0 || found.settle > settleMax {
		return found, fmt.Errorf("`settle` is %q: it is a time from 0s to %s, as 5s", found.Settle, settleMax)
	}
	for _, one := range found.Workloads {
		if !slices.Contains(workloads, one) {
			return found, fmt.Errorf("`workloads` names %q: there are %s", one, strings.Join(workloads, ", "))
		}
	}
	if len(found.Workloads) == 0 {
		return found, errors.New("`workloads` names none: leave it out for all")
	}
	return found, nil
}

type reloader struct{ settings }

func (r *reloader) Describe(config informant.Config) (*informant.Descriptor, error) {
	settings, err := read(config)
	if err != nil {
		return nil, err
	}
	descriptor := &informant.Descriptor{Version: "0.1.0"}
	for _, one := range settings.Workloads {
		resource := "apps/v1/" + one
		descriptor.Subscriptions = append(descriptor.Subscriptions, informant.Subscription{
			Resource: resource, Namespaces: settings.Namespaces, Types: []string{"added", "updated"},
			OnlyIfChanged: []string{asksAt, seenAt, "/spec/template"}, Filter: filter,
			Enqueue: []informant.Enqueue{{Self: true, Prefix: one + "/"}},
		})
		descriptor.Indexes = append(descriptor.Indexes, informant.Index{Resource: resource, Name: byRequest, Pointer: asksAt})
		descriptor.Writes = append(descriptor.Writes, informant.Write{Resource: resource, Verbs: []string{"patch"}, Namespaces: settings.Namespaces})
	}
	sources := []string{configMaps}
	if settings.Secrets {
		sources = append(sources, secrets)
	}
	for _, one := range sources {
		// Those that are there when it begins are read by the workloads that use them.
		descriptor.Subscriptions = append(descriptor.Subscriptions, informant.Subscription{
			Resource: "v1/" + one, Namespaces: settings.Namespaces, Replay: "never", OnlyIfChanged: []string{"/data", "/binaryData"},
			Enqueue: []informant.Enqueue{{Self: true, Prefix: one + "/"}},
		})
	}
	return descriptor, nil
}

func (r *reloader) Start(config informant.Config) (err error) {
	r.settings, err = read(config)
	return err
}

// Handle is not called: every subscription has rules for keys.
func (r *reloader) Handle(*informant.Event) error { return nil }

func (r *reloader) Reconcile(key string, _ uint32) (time.Duration, error) {
	parts := strings.SplitN(key, "/", 3)
	if len(parts) != 3 {
		return 0, informant.Never(fmt.Errorf("%q is no key of this plugin's", key))
	}
	of := informant.Key{Namespace: parts[1], Name: parts[2]}
	if parts[0] == configMaps || parts[0] == secrets {
		return 0, r.enqueueUsers(source{parts[0], of.Name}, of.Namespace)
	}
	err := r.bringInLine(parts[0], of)
	if kube.IsReason(err, "Conflict") {
		// The cache is behind, maybe behind this plugin's own write.
		return staleWait, nil
	}
	return 0, err
}

// enqueueUsers adds the keys of all workloads that may use a source. Those that use it only perhaps find nothing to do.
func (r *reloader) enqueueUsers(of source, namespace string) error {
	for _, one := range r.Workloads {
		var requests []string
		err := indexer.IndexValues("apps/v1/"+one, byRequest, func(text string) bool {
			requests = append(requests, text)
			return true
		})
		if err != nil {
			return err
		}
		for _, text := range requests {
			if asked, err := parseRequest(text); err != nil || !asked.mayUse(of) {
				continue
			}
			err := indexer.IndexKeys("apps/v1/"+one, byRequest, text, func(key informant.Key) bool {
				if key.Namespace == namespace {
					workqueue.AddAfter(one+"/"+key.String(), r.settle)
				}
				return true
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// bringInLine rolls a workload if something that it used before is another now, and writes down what it uses.
func (r *reloader) bringInLine(resource string, key informant.Key) error {
	fields, err := indexer.Fields("apps/v1/"+resource, key, asksAt, seenAt, "/spec/template/spec", "/metadata/resourceVersion", rolledAt)
	if err != nil || fields == nil || fields[0] == nil {
		return err
	}
	uses, err := usesOf(text(fields[0]), fields[2], r.Secrets)
	if err != nil {
		return informant.Never(fmt.Errorf("%s %s: %w", resource, key, err))
	}
	before, now := parseHashes(text(fields[1])), hashes{}
	for _, one := range uses {
		hash, err := hashOf(one.source, key.Namespace)
		if err != nil {
			return err
		}
		switch {
		case hash != "":
			now[one.source] = hash
		case one.optional:
			now[one.source] = none
		default:
			// Pods without it would not start: it is waited for, and what it was is kept to be compared with.
			slog.Info(fmt.Sprintf("%s %s waits for %s, which is not there", resource, key, one.source))
			if was, ok := before[one.source]; ok {
				now[one.source] = was
			}
		}
	}
	if now.String() == before.String() {
		return nil
	}
	return r.write(resource, key, text(fields[3]), now, now.changed(before), text(fields[4]))
}

// write brings it about, if the workload is still as the cache has it. last is what its pods were rolled with.
func (r *reloader) write(resource string, key informant.Key, version string, now hashes, changed []string, last string) error {
	type annotations map[string]string
	type metadata struct {
		Annotations     annotations `json:"annotations"`
		ResourceVersion string      `json:"resourceVersion,omitempty"`
	}
	patch := map[string]any{"metadata": metadata{annotations{seen: now.String()}, version}}
	if len(changed) > 0 {
		patch["spec"] = map[string]any{"template": map[string]any{"metadata": metadata{Annotations: annotations{rolled: now.digest(last)}}}}
	}
	_, err := kube.Patch(kube.Object{Resource: "apps/v1/" + resource, Key: key}, kube.Merge, patch)
	if kube.IsReason(err, "NotFound") {
		return nil
	}
	if err != nil {
		return err
	}
	if len(changed) == 0 {
		slog.Info(fmt.Sprintf("%s %s is followed", resource, key), "uses", len(now))
		return nil
	}
	slog.Info(fmt.Sprintf("rolled %s %s", resource, key), "changed", strings.Join(changed, ", "))
	return metrics.CounterAdd("config_reloader_rollouts_total", metrics.Labels{"resource": resource}, 1)
}

func init() {
	r := &reloader{}
	informant.Register(r)
	workqueue.Register(r)
}

func main() {}
