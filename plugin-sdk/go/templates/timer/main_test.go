package main

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/informant-dev/informant/plugin-sdk/go/informanttest"
)

func TestPendingPodsAreCounted(t *testing.T) {
	host := informanttest.Start(t, counter{}, nil)
	for name, phase := range map[string]string{"a": "Pending", "b": "Running", "c": "Pending"} {
		host.Put(pods, fmt.Sprintf(`{"metadata": {"namespace": "shop", "name": %q}, "status": {"phase": %q}}`, name, phase))
	}
	if err := host.Fire("minute", time.Now()); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(host.Lines(), []string{"info pending pods count=2"}) {
		t.Fatal(host.Lines())
	}
}
