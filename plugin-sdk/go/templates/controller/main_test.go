package main

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/informant-dev/informant/plugin-sdk/go/informanttest"
)

func web(available int) string {
	const text = `{"metadata": {"namespace": "shop", "name": "web"}, "spec": {"replicas": 3}, "status": {"availableReplicas": %d}}`
	return fmt.Sprintf(text, available)
}

func TestUnavailableReplicasAreWarnedOfAgain(t *testing.T) {
	host := informanttest.Start(t, watcher{}, nil)
	check := func(change error, again time.Duration) {
		t.Helper()
		if change != nil || host.Reconcile() != nil || host.Again()["shop/web"] != again {
			t.Fatal(change, host.Again())
		}
	}
	check(host.Add(deployments, web(1)), 30*time.Second)
	check(host.Update(deployments, web(1), web(3)), 0)
	check(host.Delete(deployments, web(3)), 0)
	if !slices.Equal(host.Lines(), []string{"warn replicas are unavailable deployment=shop/web available=1 of 3"}) {
		t.Fatal(host.Lines())
	}
}
