package informant_test

import (
	"encoding/json"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	informant "github.com/informant-dev/informant/plugin-sdk/go"
	"github.com/informant-dev/informant/plugin-sdk/go/indexer"
	"github.com/informant-dev/informant/plugin-sdk/go/informanttest"
	"github.com/informant-dev/informant/plugin-sdk/go/stateful"
	"github.com/informant-dev/informant/plugin-sdk/go/synced"
	"github.com/informant-dev/informant/plugin-sdk/go/timer"
	"github.com/informant-dev/informant/plugin-sdk/go/workqueue"
)

// As README.md has it from here on.

type counts struct{ Worked int }

func (c *counts) Describe(informant.Config) (*informant.Descriptor, error) {
	return &informant.Descriptor{
		Version:       "0.1.0",
		Subscriptions: []informant.Subscription{{Resource: "v1/pods", Enqueue: []informant.Enqueue{{Self: true}}}},
		Schedules:     []informant.Schedule{{Name: "hourly", Cron: "0 * * * *"}},
	}, nil
}
func (c *counts) Start(config informant.Config) error { return nil }

// Handle is not called: the host makes keys of the events.
func (c *counts) Handle(*informant.Event) error { return nil }
func (c *counts) Reconcile(key string, attempt uint32) (again time.Duration, err error) {
	c.Worked++
	return 0, nil
}

// Synced says that the first objects are through; the number is the subscription's place in Describe.
func (c *counts) Synced(subscription uint32) error {
	pods, err := indexer.Count("v1/pods", indexer.All)
	slog.Info("all are here", "pods", pods)
	return err
}

// Fire goes through a large cache a page at a time, until it has seen enough.
func (c *counts) Fire(schedule string, at time.Time) error {
	some := 0
	err := indexer.List("v1/pods", indexer.All, "", func(json.RawMessage) bool { some++; return some < 100 })
	slog.Info("so far", "some", some, "worked", c.Worked)
	return err
}

// Snapshot is called on this version after the start of the next, and Restore on the next before any other call.
func (c *counts) Snapshot() ([]byte, error)              { return json.Marshal(c) }
func (c *counts) Restore(from string, data []byte) error { return json.Unmarshal(data, c) }

// In a plugin it is called init.
func register() {
	c := &counts{}
	informant.Register(c)
	workqueue.Register(c)
	timer.Register(c)
	synced.Register(c)
	stateful.Register(c)
}

func TestTheReadmeShowsWhatWorks(t *testing.T) {
	here, err := os.ReadFile("readme_test.go")
	equal(t, err, nil)
	readme, err := os.ReadFile("README.md")
	equal(t, err, nil)
	_, code, _ := strings.Cut(string(here), "from here on.\n\n")
	code, _, _ = strings.Cut(code, "\nfunc TestTheReadme")
	code = strings.Replace(code, "// In a plugin it is called init.\nfunc register()", "func init()", 1)
	if !strings.Contains(string(readme), "```go\n"+code+"```\n") {
		t.Fatalf("README.md does not have:\n%s", code)
	}
}

func TestWhatTheReadmeShowsWorks(t *testing.T) {
	register()
	plugin, _ := timer.Registered().(*counts)
	host := informanttest.Start(t, plugin, nil)
	host.Put("v1/pods", pod("web", "a"))
	host.Put("v1/pods", pod("other", "a"))
	equal(t, host.Synced("v1/pods"), nil)
	_, err := workqueue.Registered().Reconcile("shop/web", 1)
	equal(t, err, nil)
	equal(t, host.Fire("hourly", time.Unix(0, 0)), nil)
	equal(t, host.Lines(), []string{"info all are here pods=2", "info so far some=2 worked=1"})
	data, err := plugin.Snapshot()
	equal(t, err, nil)
	next := &counts{}
	equal(t, next.Restore("0.1.0", data), nil)
	equal(t, next, plugin)
}
