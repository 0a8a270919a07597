"""The settings, as in orphan-finder.yaml."""

import re
from fnmatch import fnmatchcase

from informant import Never

UNITS = {"s": 1, "m": 60, "h": 3600}
AGE_MAX = 90 * 24 * 3600
#: Patterns and labels that may be named, each list for itself.
LIST_MAX = 100

DEFAULTS = {
    "every": "10m",
    "minimumAge": "1h",
    "secrets": False,
    "excludeNamespaces": ["kube-system", "kube-public", "kube-node-lease"],
    "excludeNames": [],
    "excludeLabels": [],
}

#: What is made for every namespace, and Helm's releases, which only Helm reads.
NAMES = ["kube-root-ca.crt", "openshift-service-ca.crt", "istio-ca-root-cert", "sh.helm.release.v1.*"]
#: What sidecars look for by itself.
LABELS = ["grafana_dashboard", "grafana_datasource"]


def seconds(key, text):
    """`90s`, `5m`, `2h`."""
    found = re.fullmatch(r"(\d{1,8})([smh])", text) if isinstance(text, str) else None
    if found is None or int(found[1]) * UNITS[found[2]] > AGE_MAX:
        raise Never(f"`{key}` is {text!r}: it is a time up to {AGE_MAX // 3600}h, as 90s, 5m or 2h")
    return int(found[1]) * UNITS[found[2]]


class Settings:
    """The configuration with the defaults; raises what is wrong with it."""

    def __init__(self, config):
        unknown = sorted(set(config) - set(DEFAULTS))
        if unknown:
            raise Never(f"`{unknown[0]}` is no setting: there are {', '.join(DEFAULTS)}")
        found = DEFAULTS | config
        if not isinstance(found["secrets"], bool):
            raise Never(f"`secrets` is {found['secrets']!r}: it is true or false")
        for key in ("excludeNamespaces", "excludeNames", "excludeLabels"):
            names = found[key]
            if not isinstance(names, list) or len(names) > LIST_MAX or not all(isinstance(one, str) for one in names):
                raise Never(f"`{key}` is a list of up to {LIST_MAX} texts")
        seconds("every", found["every"])
        self.every = found["every"]
        self.minimum_age = seconds("minimumAge", found["minimumAge"])
        self.secrets = found["secrets"]
        self.namespaces = found["excludeNamespaces"]
        self.names = NAMES + found["excludeNames"]
        self.labels = LABELS + found["excludeLabels"]

    def skips_namespace(self, namespace):
        return any(fnmatchcase(namespace, pattern) for pattern in self.namespaces)

    def skips_name(self, name):
        return any(fnmatchcase(name, pattern) for pattern in self.names)

    def skips_labels(self, labels):
        return any(label in labels or any(f"{name}={value}" == label for name, value in labels.items()) for label in self.labels)
