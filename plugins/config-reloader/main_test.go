package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	informant "github.com/informant-dev/informant/plugin-sdk/go"
	"github.com/informant-dev/informant/plugin-sdk/go/informanttest"
	"github.com/informant-dev/informant/plugin-sdk/go/kube"
	"github.com/informant-dev/informant/plugin-sdk/go/workqueue"
)

const deployments = "apps/v1/deployments"

// cluster is a host with one Deployment, to which patches are made as the API server would.
type cluster struct {
	*informanttest.Host
	t      *testing.T
	web    map[string]any
	writes int
}

// the Deployment web with this request, whose pods mount and read what is named in refers.
func start(t *testing.T, config any, request, refers string) *cluster {
	t.Helper()
	c := &cluster{Host: informanttest.Start(t, &reloader{}, config), t: t}
	text := fmt.Sprintf(`{"metadata": {"namespace": "shop", "name": "web", "annotations": {"%s": %q}},
		"spec": {"template": {"metadata": {}, "spec": %s}}}`, asks, request, refers)
	if err := json.Unmarshal([]byte(text), &c.web); err != nil {
		t.Fatal(err)
	}
	c.Put(deployments, c.web)
	c.AnswerWrites(func(write informanttest.Write) (json.RawMessage, error) {
		c.writes++
		if write.Verb != "patch" || write.PatchType != "merge" || write.Resource != deployments || write.Name != "web" {
			t.Fatalf("%+v", write)
		}
		var patch map[string]any
		if err := json.Unmarshal(write.Body, &patch); err != nil {
			t.Fatal(err)
		}
		merge(c.web, patch)
		c.Put(deployments, c.web)
		return write.Body, nil
	})
	return c
}

func merge(into, patch map[string]any) {
	for key, value := range patch {
		if of, ok := value.(map[string]any); ok {
			if inner, ok := into[key].(map[string]any); ok {
				merge(inner, of)
				continue
			}
		}
		into[key] = value
	}
}

func (c *cluster) put(resource, name, value string) {
	c.Put("v1/"+resource, fmt.Sprintf(`{"metadata": {"namespace": "shop", "name": %q, "uid": "uid-1"}, "data": {"a": %q}}`, name, value))
}

// work has keys worked on, and says how often the Deployment has been rolled and what was written.
func (c *cluster) work(keys ...string) {
	c.t.Helper()
	for _, key := range keys {
		workqueue.Add(key)
	}
	if err := c.Reconcile(); err != nil {
		c.t.Fatal(err)
	}
	// The workloads of a source follow a little later.
	c.Wait(settleMax)
	if err := c.Reconcile(); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) check(what string, writes int, rolls float64) {
	c.t.Helper()
	counted := c.Series()["config_reloader_rollouts_total map[resource:deployments]"]
	if c.writes != writes || counted != rolls {
		c.t.Fatalf("%s: %d writes and %v rollouts; %v", what, c.writes, counted, c.Lines())
	}
}

func (c *cluster) hash() any {
	pods := c.web["spec"].(map[string]any)["template"].(map[string]any)["metadata"].(map[string]any)
	annotations, _ := pods["annotations"].(map[string]any)
	return annotations[rolled]
}

const mounts = `{"volumes": [{"configMap": {"name": "settings"}}], "containers": [{}]}`

func TestAWorkloadIsRolledWhenWhatItUsesChanges(t *testing.T) {
	c := start(t, nil, "auto", mounts)
	c.put(configMaps, "settings", "1")
	c.work("deployments/shop/web")
	c.check("it is followed, and not rolled", 1, 0)
	c.work("deployments/shop/web", "configmaps/shop/settings", "configmaps/shop/other")
	c.check("nothing changed", 1, 0)
	c.put(configMaps, "settings", "2")
	c.work("configmaps/shop/settings")
	c.check("rolled", 2, 1)
	first := c.hash()
	c.work("configmaps/shop/settings", "deployments/shop/web")
	c.check("once", 2, 1)
	c.put(configMaps, "settings", "1")
	c.work("configmaps/shop/settings")
	c.check("and back", 3, 2)
	if first == nil || c.hash() == first {
		t.Fatal(first, c.hash())
	}
	want := []string{
		"info deployments shop/web is followed uses=1",
		"info rolled deployments shop/web changed=configmap/settings",
		"info rolled deployments shop/web changed=configmap/settings",
	}
	if !slices.Equal(c.Lines(), want) {
		t.Fatal(c.Lines())
	}
}

func TestEachRolloutChangesThePods(t *testing.T) {
	c := start(t, nil, "auto", mounts)
	uses := func(what any) {
		c.web["spec"].(map[string]any)["template"].(map[string]any)["spec"] = what
		c.Put(deployments, c.web)
		c.work("deployments/shop/web")
	}
	mounted := map[string]any{"volumes": []any{map[string]any{"configMap": map[string]any{"name": "settings"}}}}
	c.put(configMaps, "settings", "1")
	uses(mounted)
	c.put(configMaps, "settings", "2")
	c.work("configmaps/shop/settings")
	c.check("rolled", 2, 1)
	first := c.hash()
	// Meanwhile it does not use the ConfigMap, which changes back.
	uses(map[string]any{})
	c.put(configMaps, "settings", "1")
	uses(mounted)
	c.check("followed again", 4, 1)
	c.put(configMaps, "settings", "2")
	c.work("configmaps/shop/settings")
	c.check("rolled again", 5, 2)
	if c.hash() == first {
		t.Fatal("the pods were not rolled: ", first)
	}
}

func TestAWorkloadThatNobodyNamesIsLeftAlone(t *testing.T) {
	c := start(t, nil, "configmap/other", mounts)
	c.put(configMaps, "settings", "1")
	c.put(configMaps, "other", "1")
	c.work("deployments/shop/web")
	c.put(configMaps, "settings", "2")
	c.work("configmaps/shop/settings", "configmaps/elsewhere/other", "deployments/shop/gone")
	c.check("it did not ask for that", 1, 0)
	c.put(configMaps, "other", "2")
	c.work("configmaps/shop/other")
	c.check("it asked for this", 2, 1)
}

func TestWhatIsNewToAWorkloadDoesNotRollItAgain(t *testing.T) {
	c := start(t, nil, "configmap/a", mounts)
	c.put(configMaps, "a", "1")
	c.put(configMaps, "b", "1")
	c.work("deployments/shop/web")
	c.web["metadata"].(map[string]any)["annotations"].(map[string]any)[asks] = "configmap/a, configmap/b"
	c.Put(deployments, c.web)
	c.work("deployments/shop/web")
	c.check("written down", 2, 0)
}

func TestWhatIsNotThereIsWaitedFor(t *testing.T) {
	c := start(t, nil, "auto", mounts)
	c.work("deployments/shop/web")
	c.check("nothing to write down", 0, 0)
	c.put(configMaps, "settings", "1")
	c.work("configmaps/shop/settings")
	c.Put("v1/configmaps", `{"metadata": {"namespace": "shop", "name": "other"}}`)
	c.check("written down", 1, 0)
	c.Host.Remove("v1/configmaps", informant.Key{Namespace: "shop", Name: "settings"})
	c.work("configmaps/shop/settings")
	c.check("its pods would not start", 1, 0)
	c.put(configMaps, "settings", "1")
	c.work("configmaps/shop/settings")
	c.check("it is as it was", 1, 0)
	c.Host.Remove("v1/configmaps", informant.Key{Namespace: "shop", Name: "settings"})
	c.put(configMaps, "settings", "2")
	c.work("configmaps/shop/settings")
	c.check("it is another", 2, 1)
}

func TestOptionalSourcesMayComeAndGo(t *testing.T) {
	c := start(t, nil, "auto", `{"containers": [{"envFrom": [{"configMapRef": {"name": "extra", "optional": true}}]}]}`)
	c.work("deployments/shop/web")
	c.check("followed", 1, 0)
	c.put(configMaps, "extra", "1")
	c.work("configmaps/shop/extra")
	c.check("it came", 2, 1)
	c.Host.Remove("v1/configmaps", informant.Key{Namespace: "shop", Name: "extra"})
	c.work("configmaps/shop/extra")
	c.check("it went", 3, 2)
}

func TestSecretsAreFollowedWhereThatIsSaid(t *testing.T) {
	refers := `{"volumes": [{"secret": {"secretName": "key"}}], "containers": [{}]}`
	without := start(t, nil, "auto", refers)
	without.put(secrets, "key", "1")
	without.work("deployments/shop/web")
	without.check("none of its business", 0, 0)
	if len(without.Descriptor().Subscriptions) != 4 {
		t.Fatal(without.Descriptor())
	}
	with := start(t, map[string]any{"secrets": true}, "auto", refers)
	with.put(secrets, "key", "1")
	with.work("deployments/shop/web")
	with.put(secrets, "key", "2")
	with.work("secrets/shop/key")
	with.check("rolled", 2, 1)
	first := with.hash()
	with.Put("v1/secrets", `{"metadata": {"namespace": "shop", "name": "key", "uid": "uid-2"}, "data": {"a": "2"}}`)
	with.work("secrets/shop/key")
	if with.hash() == first {
		t.Fatal("the hash of a Secret is keyed with its UID")
	}
}

func TestAnAPIServerThatRefusesIsAskedAgain(t *testing.T) {
	c := start(t, nil, "auto", mounts)
	c.put(configMaps, "settings", "1")
	refuse := func(reason string) error {
		c.AnswerWrites(func(informanttest.Write) (json.RawMessage, error) {
			return nil, &kube.Error{Kind: kube.Status, Code: 409, Reason: reason}
		})
		workqueue.Add("deployments/shop/web")
		return c.Reconcile()
	}
	if err := refuse("Forbidden"); err == nil {
		t.Fatal("it comes again")
	}
	// The cache is behind: it is looked at again, and nobody is told of a failure.
	if err := refuse("Conflict"); err != nil {
		t.Fatal(err)
	}
	if err := refuse("NotFound"); err != nil {
		t.Fatal(err)
	}
}

// checkUses compares what a workload with this request and these pods uses; an optional source has a question mark.
func checkUses(t *testing.T, request, spec string, want ...string) {
	t.Helper()
	uses, err := usesOf(request, &spec, true)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, one := range uses {
		mark := ""
		if one.optional {
			mark = "?"
		}
		got = append(got, one.String()+mark)
	}
	if !slices.Equal(got, want) {
		t.Fatal(got)
	}
}

func TestEveryWayToReferIsFound(t *testing.T) {
	checkUses(t, "auto", `{"volumes": [
		{"configMap": {"name": "a"}}, {"secret": {"secretName": "b"}}, {"emptyDir": {}},
		{"projected": {"sources": [{"configMap": {"name": "c", "optional": true}}, {"secret": {"name": "d"}}]}}],
		"initContainers": [{"envFrom": [{"configMapRef": {"name": "e"}}, {"secretRef": {"name": "f"}}]}],
		"containers": [{"env": [{"name": "x", "value": "1"}, {"valueFrom": {"configMapKeyRef": {"name": "c"}}},
			{"valueFrom": {"secretKeyRef": {"name": "g", "optional": true}}}, {"valueFrom": {"fieldRef": {"fieldPath": "x"}}}]}]}`,
		"configmap/a", "configmap/c", "configmap/e", "secret/b", "secret/d", "secret/f", "secret/g?")
	checkUses(t, "true, configmap/b", mounts, "configmap/b?", "configmap/settings")
	checkUses(t, " secret/key ,configmap/a", mounts, "configmap/a?", "secret/key?")
}

func TestRequestsThatAreNone(t *testing.T) {
	for _, text := range []string{"", "always", "configmap/", "pod/x", "auto,"} {
		if _, err := usesOf(text, nil, true); err == nil {
			t.Fatal(text)
		}
	}
	if _, err := usesOf("secret/key", nil, false); err == nil || !strings.Contains(err.Error(), "secrets: true") {
		t.Fatal(err)
	}
	c := start(t, nil, "always", mounts)
	workqueue.Add("deployments/shop/web")
	if never, _ := informant.Retry(c.Reconcile()); !never {
		t.Fatal("another try would not help")
	}
}

func TestAWorkloadUsesAsManyAsItMay(t *testing.T) {
	var names []string
	for i := range usesMax {
		names = append(names, fmt.Sprintf("configmap/%d", i))
	}
	if uses, err := usesOf(strings.Join(names, ","), nil, false); err != nil || len(uses) != usesMax {
		t.Fatal(len(uses), err)
	}
	if _, err := usesOf(strings.Join(append(names, "configmap/more"), ","), nil, false); err == nil {
		t.Fatal("one more")
	}
}

func TestHashesAreReadAsTheyAreWritten(t *testing.T) {
	all := hashes{{configMaps, "a"}: "12", {secrets, "b.c"}: none}
	if text := all.String(); text != "configmap/a=12,secret/b.c=none" || !maps.Equal(parseHashes(text), all) {
		t.Fatal(text)
	}
	if len(parseHashes("what somebody wrote, by hand=1")) != 0 {
		t.Fatal("that is none")
	}
}

func TestSettingsAreWithinTheirBounds(t *testing.T) {
	for config, ok := range map[string]bool{
		`{"settle": "0s"}`: true, `{"settle": "10m"}`: true, `{"settle": "10m1s"}`: false, `{"settle": "-1s"}`: false, `{"settle": "soon"}`: false,
		`{"workloads": ["daemonsets"]}`: true, `{"workloads": ["pods"]}`: false, `{"workloads": []}`: false, `{"secret": true}`: false,
	} {
		if _, err := (&reloader{}).Describe([]byte(config)); (err == nil) != ok {
			t.Fatal(config, err)
		}
	}
	found, err := read([]byte(`{"settle": "1m30s"}`))
	if err != nil || found.settle != 90*time.Second || !slices.Equal(found.Workloads, []string{"deployments", "statefulsets", "daemonsets"}) {
		t.Fatal(found, err)
	}
}
