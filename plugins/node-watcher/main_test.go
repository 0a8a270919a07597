package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/informant-dev/informant/plugin-sdk/go/informanttest"
	"github.com/informant-dev/informant/plugin-sdk/go/state"
)

// object is a node with these conditions, as Ready=True, and perhaps cordoned.
func object(name string, unschedulable bool, conditions ...string) string {
	var texts []string
	for _, one := range conditions {
		of, status, _ := strings.Cut(one, "=")
		texts = append(texts, fmt.Sprintf(`{"type": %q, "status": %q, "reason": "Because", "message": "it is so"}`, of, status))
	}
	return fmt.Sprintf(`{"metadata": {"name": %q}, "spec": {"unschedulable": %t}, "status": {"conditions": [%s]}}`,
		name, unschedulable, strings.Join(texts, ","))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func start(t *testing.T, config any) *informanttest.Host {
	t.Helper()
	return informanttest.Start(t, &watcher{}, config)
}

// check has a node change, and compares what is said.
func check(t *testing.T, before, now string, want ...string) {
	t.Helper()
	host := start(t, nil)
	must(t, host.Update(nodes, before, now))
	if !slices.Equal(host.Lines(), want) {
		t.Fatalf("%s", strings.Join(host.Lines(), "\n"))
	}
}

func TestOnlyWhatMattersIsTold(t *testing.T) {
	const because = " reason=Because why=it is so"
	well := object("a", false, "Ready=True", "DiskPressure=False")
	check(t, well, object("a", false, "Ready=False", "DiskPressure=False"), "warn node a is not ready node=a change=not-ready"+because)
	check(t, well, object("a", false, "Ready=Unknown", "DiskPressure=False"), "warn node a is not heard of node=a change=unknown"+because)
	check(t, object("a", false, "Ready=Unknown"), well, "info node a is ready node=a change=ready")
	check(t, well, object("a", true, "Ready=True", "DiskPressure=False"), "info node a is cordoned node=a change=cordoned")
	check(t, object("a", true, "Ready=True"), well, "info node a is uncordoned node=a change=uncordoned")
	full := object("a", false, "Ready=True", "DiskPressure=True")
	check(t, well, full, "warn node a has DiskPressure node=a change=DiskPressure"+because)
	check(t, full, well, "info node a has no DiskPressure any more node=a change=no-DiskPressure")
	// What nobody asked for, and what says the same in other words.
	check(t, well, object("a", false, "Ready=True", "DiskPressure=False", "KernelDeadlock=True"))
	check(t, well, strings.ReplaceAll(well, "it is so", "it still is"))
	// Nodes that have said nothing yet.
	check(t, `{"metadata": {"name": "a"}}`, object("a", false, "Ready=True"), "info node a is ready node=a change=ready")
}

func TestNodesComeAndGo(t *testing.T) {
	host := start(t, map[string]any{"conditions": []string{"KernelDeadlock"}})
	must(t, host.Synced(nodes))
	must(t, host.Add(nodes, object("b", true, "Ready=True", "KernelDeadlock=True")))
	must(t, host.Delete(nodes, object("b", true, "Ready=True")))
	want := []string{
		"info watching nodes nodes=0 ready=0 not-ready= unknown= cordoned=",
		"info node b joined, ready node=b change=added reason=Because",
		"info node b is cordoned node=b change=cordoned",
		"warn node b has KernelDeadlock node=b change=KernelDeadlock reason=Because why=it is so",
		"info node b is gone node=b change=deleted",
	}
	if !slices.Equal(host.Lines(), want) {
		t.Fatalf("%s", strings.Join(host.Lines(), "\n"))
	}
}

func TestGaugesFollow(t *testing.T) {
	host := start(t, map[string]any{"conditions": []string{"DiskPressure"}})
	host.Put(nodes, object("a", false, "Ready=True"))
	host.Put(nodes, object("b", true, "Ready=False", "DiskPressure=True"))
	host.Put(nodes, object("c", false))
	must(t, host.Synced(nodes))
	checkGauges := func(ready, notReady, unknown, cordoned, full float64) {
		t.Helper()
		want := map[string]float64{
			"node_watcher_nodes map[state:ready]":                           ready,
			"node_watcher_nodes map[state:not-ready]":                       notReady,
			"node_watcher_nodes map[state:unknown]":                         unknown,
			"node_watcher_nodes_with_condition map[condition:DiskPressure]": full,
			"node_watcher_cordoned_nodes map[]":                             cordoned,
		}
		found := maps.Clone(host.Series())
		maps.DeleteFunc(found, func(series string, _ float64) bool { return strings.Contains(series, "changes_total") })
		if !maps.Equal(found, want) {
			t.Fatal(found)
		}
	}
	checkGauges(1, 1, 1, 1, 1)
	must(t, host.Update(nodes, object("b", true, "Ready=False", "DiskPressure=True"), object("b", false, "Ready=True")))
	checkGauges(2, 0, 1, 0, 0)
	must(t, host.Delete(nodes, object("c", false)))
	checkGauges(2, 0, 0, 0, 0)
	want := []string{
		"info watching nodes nodes=3 ready=1 not-ready=b unknown=c cordoned=b",
		"info node a: ready node=a",
		"info node b: not-ready, cordoned node=b",
		"info node c: unknown node=c",
	}
	if got := host.Lines()[:len(want)]; !slices.Equal(got, want) {
		t.Fatal(got)
	}
	if counted := host.Series()["node_watcher_changes_total map[change:uncordoned]"]; counted != 1 {
		t.Fatal(counted)
	}
	// The host drops a series that nobody sets for an hour.
	clear(host.Series())
	must(t, host.Fire("measure", time.Unix(0, 0)))
	checkGauges(2, 0, 0, 0, 0)
}

func pod(name, more, phase string) string {
	return fmt.Sprintf(`{"metadata": {"namespace": "shop", "name": %q%s}, "spec": {"nodeName": "a"}, "status": {"phase": %q}}`, name, more, phase)
}

func TestADrainIsToldOnceAndOverReloads(t *testing.T) {
	const daemon = `, "ownerReferences": [{"kind": "DaemonSet", "controller": true}]`
	const mirror = `, "annotations": {"kubernetes.io/config.mirror": "x"}`
	host := start(t, nil)
	host.Put(nodes, object("a", true, "Ready=True"))
	host.Put(nodes, object("b", false, "Ready=True"))
	host.Put(pods, pod("web-1", "", "Running"))
	host.Put(pods, pod("log-1", daemon, "Running"))
	host.Put(pods, pod("proxy", mirror, "Running"))
	host.Put(pods, pod("job-1", "", "Succeeded"))
	must(t, host.Fire("drains", time.Unix(0, 0)))
	if got := host.Lines(); len(got) != 0 {
		t.Fatal("before the first sync nothing is known: ", got)
	}
	must(t, host.Synced(nodes))
	fire := func(want ...string) {
		t.Helper()
		before := len(host.Lines())
		must(t, host.Fire("drains", time.Unix(0, 0)))
		if got := host.Lines()[before:]; !slices.Equal(got, want) {
			t.Fatal(got)
		}
	}
	fire("info node a is not empty yet node=a pods=1")
	fire()
	host.Put(pods, pod("web-1", "", "Failed"))
	fire("info node a is drained node=a change=drained")
	fire()
	must(t, host.Update(nodes, object("a", true, "Ready=True"), object("a", false, "Ready=True")))
	must(t, host.Update(nodes, object("a", false, "Ready=True"), object("a", true, "Ready=True")))
	fire("info node a is drained node=a change=drained")
}

func TestDrainsThatEndedWhileNoHostRanAreForgotten(t *testing.T) {
	host := start(t, nil)
	host.Put(nodes, object("a", true, "Ready=True"))
	host.Put(nodes, object("b", false, "Ready=True"))
	for _, name := range []string{"a", "b", "gone"} {
		must(t, state.Set("drain/"+name, []byte(drained)))
	}
	check := func(want ...string) {
		t.Helper()
		must(t, host.Fire("drains", time.Unix(0, 0)))
		if found, err := state.Keys(""); err != nil || !slices.Equal(found, want) {
			t.Fatal(found, err)
		}
	}
	check("drain/a", "drain/b", "drain/gone")
	must(t, host.Synced(nodes))
	check("drain/a")
	must(t, host.Update(nodes, object("b", false, "Ready=True"), object("b", true, "Ready=True")))
	check("drain/a", "drain/b")
	if lines := host.Lines(); lines[len(lines)-1] != "info node b is drained node=b change=drained" {
		t.Fatal(lines)
	}
}

func TestWithoutDrainsNoPodIsRead(t *testing.T) {
	host := start(t, map[string]any{"drains": false})
	descriptor := host.Descriptor()
	if len(descriptor.Reads) != 0 || len(descriptor.Schedules) != 1 || len(descriptor.Indexes) != 1 {
		t.Fatalf("%+v", descriptor)
	}
	host.Put(nodes, object("a", false, "Ready=False"))
	must(t, host.Synced(nodes))
	clear(host.Series())
	must(t, host.Fire("measure", time.Unix(0, 0)))
	if down := host.Series()["node_watcher_nodes map[state:not-ready]"]; down != 1 {
		t.Fatal(host.Series())
	}
}

func TestSettingsThatAreNone(t *testing.T) {
	many := make([]string, conditionsMax+1)
	for _, config := range []string{`{"drain": true}`, `{"list": -1}`, `{"list": 4001}`, `{"conditions": ["Ready"]}`, fmt.Sprintf(`{"conditions": [%s""]}`, strings.Repeat(`"A", `, len(many)-1))} {
		if _, err := (&watcher{}).Describe([]byte(config)); err == nil {
			t.Fatal(config)
		}
	}
	if _, err := (&watcher{}).Describe([]byte(fmt.Sprintf(`{"conditions": ["A"%s]}`, strings.Repeat(`, "A"`, conditionsMax-1)))); err != nil {
		t.Fatal(err)
	}
}

func TestTheListOfNodesEndsAtItsBound(t *testing.T) {
	check := func(bound int, want ...string) {
		t.Helper()
		host := start(t, map[string]any{"list": bound})
		host.Put(nodes, object("a", false, "Ready=True"))
		host.Put(nodes, object("b", false, "Ready=True"))
		must(t, host.Synced(nodes))
		if got := host.Lines()[1:]; !slices.Equal(got, want) {
			t.Fatal(got)
		}
	}
	check(2, "info node a: ready node=a", "info node b: ready node=b")
	check(1, "info node a: ready node=a", "info the list of nodes ends here listed=1 nodes=2")
	check(0)
}

func TestLongListsOfNodesAreCutShort(t *testing.T) {
	var names []string
	for i := range 12 {
		names = append(names, fmt.Sprintf("n%02d", i))
	}
	if got := some(names); !strings.HasSuffix(got, "n09 and 2 more") {
		t.Fatal(got)
	}
}
