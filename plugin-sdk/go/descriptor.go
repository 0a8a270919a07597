package informant

// Descriptor declares a plugin's needs. Its keys are those of plugin-sdk/descriptor.schema.json, which describes each
// of them.
type Descriptor struct {
	// Version is the plugin's own version.
	Version       string         `json:"version"`
	Subscriptions []Subscription `json:"subscriptions,omitempty"`
	Indexes       []Index        `json:"indexes,omitempty"`
	Reads         []Read         `json:"reads,omitempty"`
	Writes        []Write        `json:"writes,omitempty"`
	HTTP          []HTTP         `json:"http,omitempty"`
	Schedules     []Schedule     `json:"schedules,omitempty"`
	// Shards is the number of instances. 0 means one.
	Shards int `json:"shards,omitempty"`
}

// Subscription subscribes to the objects of a resource.
type Subscription struct {
	// Name is the resource's name if it is empty.
	Name string `json:"name,omitempty"`
	// Resource is a resource such as v1/pods or apps/v1/deployments.
	Resource   string   `json:"resource"`
	Namespaces []string `json:"namespaces,omitempty"`
	// NamespaceSelector restricts the namespaces by their labels, such as team=shop.
	NamespaceSelector string `json:"namespaceSelector,omitempty"`
	LabelSelector     string `json:"labelSelector,omitempty"`
	FieldSelector     string `json:"fieldSelector,omitempty"`
	// Types restricts the changes: added, updated, deleted.
	Types []string `json:"types,omitempty"`
	// Replay is initial, initial-and-reload or never.
	Replay string `json:"replay,omitempty"`
	// Delivery is full, metadata or lazy.
	Delivery      string   `json:"delivery,omitempty"`
	WithOld       bool     `json:"withOld,omitempty"`
	OnlyIfChanged []string `json:"onlyIfChanged,omitempty"`
	// Filter is an expression in CEL.
	Filter string `json:"filter,omitempty"`
	// ResyncPeriod delivers every object again after this time, such as 10m, as an update with the reason Resync.
	ResyncPeriod string `json:"resyncPeriod,omitempty"`
	// Enqueue adds keys for events, for package workqueue.
	Enqueue []Enqueue `json:"enqueue,omitempty"`
}

// Enqueue is a rule that makes a key from an event: one of Self, Owner and Pointer.
type Enqueue struct {
	Self    bool   `json:"self,omitempty"`
	Owner   string `json:"owner,omitempty"`
	Pointer string `json:"pointer,omitempty"`
	// Namespace is object, none or a pointer.
	Namespace string `json:"namespace,omitempty"`
	Prefix    string `json:"prefix,omitempty"`
}

// Index finds objects by the value at a JSON pointer.
type Index struct {
	Resource string `json:"resource"`
	Name     string `json:"name"`
	Pointer  string `json:"pointer"`
}

// Read reads a resource without events for its changes.
type Read struct {
	Resource   string   `json:"resource"`
	Namespaces []string `json:"namespaces,omitempty"`
	// NamespaceSelector restricts the namespaces by their labels, such as team=shop.
	NamespaceSelector string `json:"namespaceSelector,omitempty"`
}

// Write declares writes of the plugin. Its verbs are create, update, patch and delete.
type Write struct {
	Resource   string   `json:"resource"`
	Verbs      []string `json:"verbs"`
	Namespaces []string `json:"namespaces,omitempty"`
}

// HTTP declares HTTP requests of the plugin.
type HTTP struct {
	Origins   []string `json:"origins"`
	Methods   []string `json:"methods"`
	Paths     []string `json:"paths,omitempty"`
	Addresses []string `json:"addresses,omitempty"`
}

// Schedule sets times at which the host calls the plugin, through package timer: one of Cron and Every.
type Schedule struct {
	Name  string `json:"name"`
	Cron  string `json:"cron,omitempty"`
	Every string `json:"every,omitempty"`
}
