package main

import (
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"

	informant "github.com/informant-dev/informant/plugin-sdk/go"
	"github.com/informant-dev/informant/plugin-sdk/go/indexer"
	"github.com/informant-dev/informant/plugin-sdk/go/state"
)

// What is read of a pod.
const (
	ownersAt = "/metadata/ownerReferences"
	mirrorAt = "/metadata/annotations/kubernetes.io~1config.mirror"
	phaseAt  = "/status/phase"
)

// What has been told of a node's drain is in the plugin's state, so that a new version tells nothing twice.
const (
	begun   = "begun"
	drained = "drained"
)

const drainPrefix = "drain/"

func drainKey(name string) string { return drainPrefix + name }

// lookAtDrains looks at the cordoned nodes, and forgets the drains of nodes that were uncordoned or deleted while no host ran.
func lookAtDrains() error {
	if listed, err := indexer.HasSynced(pods); err != nil || !listed {
		return err
	}
	cordonedNow := map[string]bool{}
	err := indexer.IndexKeys(nodes, cordoned, "true", func(key informant.Key) bool {
		cordonedNow[key.Name] = true
		return true
	})
	if err != nil {
		return err
	}
	told, err := state.Keys(drainPrefix)
	if err != nil {
		return err
	}
	for _, key := range told {
		if !cordonedNow[strings.TrimPrefix(key, drainPrefix)] {
			if err := state.Set(key, nil); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cordonedNow)) {
		if err := lookAtDrain(name); err != nil {
			return err
		}
	}
	return nil
}

// forgetDrain is for nodes that are not cordoned, or gone.
func forgetDrain(name string) error {
	told, err := state.Get(drainKey(name))
	if err != nil || told == nil {
		return err
	}
	return state.Set(drainKey(name), nil)
}

// lookAtDrain tells that the drain of a cordoned node has begun, and that it is over.
func lookAtDrain(name string) error {
	found, err := state.Get(drainKey(name))
	told := string(found)
	if err != nil || told == drained {
		return err
	}
	left, err := leaving(name)
	if err != nil {
		return err
	}
	switch {
	case left == 0:
		change{name: drained, text: "is drained"}.tell(name)
		if err := count([]change{{name: drained}}); err != nil {
			return err
		}
		return state.Set(drainKey(name), []byte(drained))
	case told == "":
		slog.Info("node "+name+" is not empty yet", "node", name, "pods", left)
		return state.Set(drainKey(name), []byte(begun))
	}
	return nil
}

// leaving is how many of a node's pods a drain waits for: neither those of DaemonSets, nor a kubelet's own, nor those that have ended.
func leaving(name string) (left int, err error) {
	var failed error
	err = indexer.IndexKeys(pods, byNode, name, func(key informant.Key) bool {
		var fields []*string
		if fields, failed = indexer.Fields(pods, key, ownersAt, mirrorAt, phaseAt); failed != nil {
			return false
		}
		if fields != nil && leaves(fields[0], fields[1], fields[2]) {
			left++
		}
		return true
	})
	return left, errors.Join(err, failed)
}

// leaves says whether a drain waits for the pod that has these owners, this annotation and this phase.
func leaves(owners, mirror, phase *string) bool {
	if mirror != nil || (phase != nil && (*phase == `"Succeeded"` || *phase == `"Failed"`)) {
		return false
	}
	var of []struct {
		Kind       string
		Controller bool
	}
	if owners != nil {
		_ = json.Unmarshal([]byte(*owners), &of) // the API server has checked what it is
	}
	for _, owner := range of {
		if owner.Controller && owner.Kind == "DaemonSet" {
			return false
		}
	}
	return true
}
