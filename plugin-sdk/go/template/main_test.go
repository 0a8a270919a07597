package main

import (
	"slices"
	"testing"

	"github.com/informant-dev/informant/plugin-sdk/go/informanttest"
)

const pod = `{"metadata": {"namespace": "default", "name": "web"}}`

func TestEveryPodIsGreeted(t *testing.T) {
	host := informanttest.Start(t, &hello{}, map[string]string{"greeting": "good morning"})
	if err := host.Add("v1/pods", pod); err != nil {
		t.Fatal(err)
	}
	if err := host.Delete("v1/pods", pod); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"info good morning change=added pod=default/web",
		"info good morning change=deleted pod=default/web",
	}
	if !slices.Equal(host.Lines(), want) {
		t.Fatal(host.Lines())
	}
}
