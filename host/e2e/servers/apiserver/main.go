// The Kubernetes API server as it is, built here because no release archive is needed for it: the
// behaviour suite starts it as a child process beside an etcd built the same way.
package main

import (
	"fmt"
	"os"

	"k8s.io/component-base/cli"
	// Registers the "json" log format and the metrics every Kubernetes binary has.
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() {
	// `kube-apiserver signing-key FILE` spares the suite a dependency on openssl.
	if len(os.Args) == 3 && os.Args[1] == "signing-key" {
		if err := writeSigningKey(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(cli.Run(app.NewAPIServerCommand()))
}
