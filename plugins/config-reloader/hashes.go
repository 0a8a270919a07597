package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	informant "github.com/informant-dev/informant/plugin-sdk/go"
	"github.com/informant-dev/informant/plugin-sdk/go/indexer"
)

// hashBytes of a hash are enough to tell a source from what it was before.
const hashBytes = 8

// none is the hash of an optional source that is not there.
const none = "none"

// hashes are those of sources, as in the annotation: configmap/settings=0123456789abcdef,secret/key=...
type hashes map[source]string

func parseHashes(text string) hashes {
	found := hashes{}
	for _, word := range strings.Split(text, ",") {
		name, hash, _ := strings.Cut(word, "=")
		if request, err := parseRequest(name); err == nil && len(request.named) == 1 {
			found[request.named[0]] = hash
		}
	}
	return found
}

func (h hashes) String() string {
	var words []string
	for of, hash := range h {
		words = append(words, of.String()+"="+hash)
	}
	slices.Sort(words)
	return strings.Join(words, ",")
}

// digest is one hash of all hashes and of last, the digest that the pods have. Without last, a rollout could give the pods
// the digest that they already have, and Kubernetes would not roll them.
func (h hashes) digest(last string) string {
	sum := sha256.Sum256([]byte(last + " " + h.String()))
	return hex.EncodeToString(sum[:hashBytes])
}

// changed are the sources that are in both with another hash, sorted. What is new to a workload came with a change of its own.
func (h hashes) changed(before hashes) []string {
	var found []string
	for of, hash := range h {
		if was, ok := before[of]; ok && was != hash {
			found = append(found, of.String())
		}
	}
	slices.Sort(found)
	return found
}

// hashOf is the hash of what a source holds; empty if it is not there.
//
// That of a Secret is keyed with its UID: annotations are read by more people than Secrets are, and a plain hash of a password is its guess confirmed.
func hashOf(of source, namespace string) (string, error) {
	key := informant.Key{Namespace: namespace, Name: of.name}
	fields, err := indexer.Fields("v1/"+of.resource, key, "/data", "/binaryData", "/metadata/uid")
	if err != nil || fields == nil {
		return "", err
	}
	var content [2]map[string]string
	for place := range content {
		if fields[place] != nil {
			if err := json.Unmarshal([]byte(*fields[place]), &content[place]); err != nil {
				return "", informant.Never(fmt.Errorf("%s in %s cannot be read: %w", of, namespace, err))
			}
		}
	}
	// Keys are sorted in JSON that is made of maps.
	canonical, err := json.Marshal(content)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	if of.resource == secrets {
		hash = hmac.New(sha256.New, []byte(text(fields[2])))
	}
	hash.Write(canonical)
	return hex.EncodeToString(hash.Sum(nil)[:hashBytes]), nil
}

// text is the string that a field's JSON is; empty where there is none.
func text(field *string) string {
	var found string
	if field != nil {
		_ = json.Unmarshal([]byte(*field), &found) // what is no string is nothing
	}
	return found
}
