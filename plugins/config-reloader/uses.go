package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

const (
	configMaps = "configmaps"
	secrets    = "secrets"
)

// usesMax is how many sources a workload may use: their hashes are an annotation, and are read anew for each change.
const usesMax = 64

// source is a ConfigMap or a Secret of the workload's namespace.
type source struct{ resource, name string }

func (s source) String() string { return strings.TrimSuffix(s.resource, "s") + "/" + s.name }

// use is a source, and whether pods start without it.
type use struct {
	source
	optional bool
}

// request is what a workload's annotation asks for.
type request struct {
	// auto: all that its pods refer to.
	auto  bool
	named []source
}

// parseRequest reads `auto`, or names as `configmap/settings, secret/key`, or both.
func parseRequest(text string) (request, error) {
	var found request
	for _, word := range strings.Split(text, ",") {
		word = strings.TrimSpace(word)
		kind, name, ok := strings.Cut(word, "/")
		switch {
		case word == "auto" || word == "true":
			found.auto = true
		case ok && kind == "configmap" && name != "":
			found.named = append(found.named, source{configMaps, name})
		case ok && kind == "secret" && name != "":
			found.named = append(found.named, source{secrets, name})
		default:
			return found, fmt.Errorf("annotation %s has %q: it is auto, or names as configmap/settings, secret/key", asks, word)
		}
	}
	return found, nil
}

func (r request) mayUse(of source) bool { return r.auto || slices.Contains(r.named, of) }

type reference struct {
	Name, SecretName string
	Optional         bool
}

type container struct {
	EnvFrom []struct{ ConfigMapRef, SecretRef *reference }
	Env     []struct {
		ValueFrom *struct{ ConfigMapKeyRef, SecretKeyRef *reference }
	}
}

type podSpec struct {
	Containers, InitContainers []container
	Volumes                    []struct {
		ConfigMap, Secret *reference
		Projected         *struct {
			Sources []struct{ ConfigMap, Secret *reference }
		}
	}
}

// usesOf is what a workload uses, sorted and each once: by its annotation, and of its pods' spec if it asks for that.
func usesOf(asked string, spec *string, withSecrets bool) ([]use, error) {
	request, err := parseRequest(asked)
	if err != nil {
		return nil, err
	}
	// Whether a source is needed by anybody.
	found := map[source]bool{}
	for _, one := range request.named {
		if one.resource == secrets && !withSecrets {
			return nil, fmt.Errorf("annotation %s names %s, and Secrets are not followed: set `secrets: true` and grant them", asks, one)
		}
		found[one] = false
	}
	if request.auto && spec != nil {
		var pods podSpec
		if err := json.Unmarshal([]byte(*spec), &pods); err != nil {
			return nil, fmt.Errorf("its pods' spec cannot be read: %w", err)
		}
		pods.references(func(resource string, to *reference) {
			if to == nil || (resource == secrets && !withSecrets) {
				return
			}
			name := to.Name
			if name == "" {
				name = to.SecretName
			}
			of := source{resource, name}
			found[of] = found[of] || !to.Optional
		})
	}
	if len(found) > usesMax {
		return nil, errors.New("it uses more than " + fmt.Sprint(usesMax) + " ConfigMaps and Secrets: name those that matter in the annotation")
	}
	var uses []use
	for of, needed := range found {
		if of.name != "" {
			uses = append(uses, use{of, !needed})
		}
	}
	slices.SortFunc(uses, func(a, b use) int { return strings.Compare(a.String(), b.String()) })
	return uses, nil
}

// references hands over everything that a pod's spec refers to.
func (p *podSpec) references(each func(resource string, to *reference)) {
	both := func(configMap, secret *reference) {
		each(configMaps, configMap)
		each(secrets, secret)
	}
	for _, volume := range p.Volumes {
		both(volume.ConfigMap, volume.Secret)
		if volume.Projected != nil {
			for _, source := range volume.Projected.Sources {
				both(source.ConfigMap, source.Secret)
			}
		}
	}
	for _, container := range slices.Concat(p.InitContainers, p.Containers) {
		for _, from := range container.EnvFrom {
			both(from.ConfigMapRef, from.SecretRef)
		}
		for _, variable := range container.Env {
			if variable.ValueFrom != nil {
				both(variable.ValueFrom.ConfigMapKeyRef, variable.ValueFrom.SecretKeyRef)
			}
		}
	}
}
