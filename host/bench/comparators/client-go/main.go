// client-go's shared informer, as a contender of the benchmark: a factory, typed pods, an indexer by namespace, handlers
// that count. `encode` is another thing: pods in JSON, a line each, become protobuf for the load server.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

const protobuf = "application/vnd.kubernetes.protobuf"

func main() {
	if len(os.Args) > 1 && os.Args[1] == "encode" {
		exit(encode(os.Stdin, os.Stdout))
	}
	kubeconfig := flag.String("kubeconfig", "", "the cluster")
	encoding := flag.String("encoding", "json", "json or protobuf")
	handlers := flag.Int("handlers", 1, "event handlers of the one informer")
	ownNamespaces := flag.Bool("own-namespaces", false, "each handler compares the namespace first and counts its own: ns-0, ns-1, ...")
	compare := flag.Bool("compare", false, "keep a hash of each event's object for /events")
	keepManagedFields := flag.Bool("keep-managed-fields", false, "cache them, as client-go does by itself")
	flag.Parse()
	exit(run(*kubeconfig, *encoding, *handlers, *ownNamespaces, *compare, *keepManagedFields))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func run(kubeconfig, encoding string, handlers int, ownNamespaces, compare, keepManagedFields bool) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	// Said in both cases: typed clients ask for protobuf by themselves.
	config.ContentType, config.AcceptContentTypes = protobuf, protobuf+",application/json"
	if encoding == "json" {
		config.ContentType, config.AcceptContentTypes = "application/json", "application/json"
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	var options []informers.SharedInformerOption
	if !keepManagedFields {
		// What controllers do that care for their memory.
		options = append(options, informers.WithTransform(withoutManagedFields))
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, options...)
	informer := factory.Core().V1().Pods().Informer()
	seen := make([]*counts, handlers)
	for i := range seen {
		seen[i] = &counts{compare: compare, events: map[string][]string{}}
		if ownNamespaces {
			seen[i].namespace = fmt.Sprintf("ns-%d", i)
		}
		if _, err := informer.AddEventHandler(seen[i].handler()); err != nil {
			return err
		}
	}
	stop := make(chan struct{})
	factory.Start(stop)
	return serve(seen, informer.HasSynced)
}

// handler counts, and reads the clock when it is done with an update.
func (c *counts) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(pod any, _ bool) {
			if !c.concerns(pod) {
				return
			}
			c.keep("added", pod)
			c.added.Add(1)
		},
		UpdateFunc: func(_, pod any) {
			if !c.concerns(pod) {
				return
			}
			c.keep("updated", pod)
			c.updated.Add(1)
			if c.recording.Load() {
				c.record(time.Now(), &pod.(*corev1.Pod).ObjectMeta)
			}
		},
		DeleteFunc: func(pod any) {
			c.keep("deleted", pod)
			c.deleted.Add(1)
		},
	}
}

// concerns says whether the handler is for this pod.
func (c *counts) concerns(pod any) bool {
	return c.namespace == "" || pod.(*corev1.Pod).Namespace == c.namespace
}

func withoutManagedFields(object any) (any, error) {
	if pod, ok := object.(*corev1.Pod); ok {
		pod.ManagedFields = nil
	}
	return object, nil
}

func stampOf(meta *metav1.ObjectMeta) string {
	return meta.Annotations["bench.informant.dev/stamp"]
}
