package informant

// Descriptor is what a plugin asks for. Its keys are those of plugin-sdk/descriptor.schema.json, which says what each means.
type Descriptor struct {
	// Version is the plugin's own.
	Version       string         `json:"version"`
	Subscriptions []Subscription `json:"subscriptions,omitempty"`
	Indexes       []Index        `json:"indexes,omitempty"`
	Reads         []Read         `json:"reads,omitempty"`
	Writes        []Write        `json:"writes,omitempty"`
	HTTP          []HTTP         `json:"http,omitempty"`
	Schedules     []Schedule     `json:"schedules,omitempty"`
	// Shards is in how many instances the plugin asks to run; one where it is 0.
	Shards int `json:"shards,omitempty"`
}

// Subscription asks to be told of the objects of a resource.
type Subscription struct {
	// Name is the resource's if it is empty.
	Name string `json:"name,omitempty"`
	// Resource as v1/pods or apps/v1/deployments.
	Resource      string   `json:"resource"`
	Namespaces    []string `json:"namespaces,omitempty"`
	LabelSelector string   `json:"labelSelector,omitempty"`
	FieldSelector string   `json:"fieldSelector,omitempty"`
	// Types are added, updated, deleted: only these.
	Types []string `json:"types,omitempty"`
	// Replay is initial, initial-and-reload or never.
	Replay string `json:"replay,omitempty"`
	// Delivery is full, metadata or lazy.
	Delivery      string   `json:"delivery,omitempty"`
	WithOld       bool     `json:"withOld,omitempty"`
	OnlyIfChanged []string `json:"onlyIfChanged,omitempty"`
	// Filter is an expression in CEL.
	Filter string `json:"filter,omitempty"`
	// ResyncPeriod has every object told again after so long, as an update for the reason Resync: 10m.
	ResyncPeriod string `json:"resyncPeriod,omitempty"`
	// Enqueue makes keys of events, for package workqueue.
	Enqueue []Enqueue `json:"enqueue,omitempty"`
}

// Enqueue is a rule by which an event becomes keys: one of Self, Owner and Pointer.
type Enqueue struct {
	Self    bool   `json:"self,omitempty"`
	Owner   string `json:"owner,omitempty"`
	Pointer string `json:"pointer,omitempty"`
	// Namespace is object, none or a pointer.
	Namespace string `json:"namespace,omitempty"`
	Prefix    string `json:"prefix,omitempty"`
}

// Index files objects by the value at a JSON pointer.
type Index struct {
	Resource string `json:"resource"`
	Name     string `json:"name"`
	Pointer  string `json:"pointer"`
}

// Read asks to read a resource without being told of it.
type Read struct {
	Resource   string   `json:"resource"`
	Namespaces []string `json:"namespaces,omitempty"`
}

// Write says what the plugin means to change: verbs are create, update, patch, delete.
type Write struct {
	Resource   string   `json:"resource"`
	Verbs      []string `json:"verbs"`
	Namespaces []string `json:"namespaces,omitempty"`
}

// HTTP says whom the plugin means to ask.
type HTTP struct {
	Origins   []string `json:"origins"`
	Methods   []string `json:"methods"`
	Paths     []string `json:"paths,omitempty"`
	Addresses []string `json:"addresses,omitempty"`
}

// Schedule asks to be called by the clock, through package timer: one of Cron and Every.
type Schedule struct {
	Name  string `json:"name"`
	Cron  string `json:"cron,omitempty"`
	Every string `json:"every,omitempty"`
}
