"""Who refers to what: pods by the host's indexes, templates of what makes pods by reading them."""

from informant.host import indexer

PODS = "v1/pods"
CONFIG_MAPS = "v1/configmaps"
SECRETS = "v1/secrets"
CLAIMS = "v1/persistentvolumeclaims"
ACCOUNTS = "v1/serviceaccounts"
INGRESSES = "networking.k8s.io/v1/ingresses"

#: Of a pod, where the names of each resource stand. `/spec/*/*` are the containers of all kinds.
POINTERS = {
    CONFIG_MAPS: [
        "/spec/volumes/*/configMap/name",
        "/spec/volumes/*/projected/sources/*/configMap/name",
        "/spec/*/*/envFrom/*/configMapRef/name",
        "/spec/*/*/env/*/valueFrom/configMapKeyRef/name",
    ],
    CLAIMS: ["/spec/volumes/*/persistentVolumeClaim/claimName"],
    SECRETS: [
        # Of volumes of Secrets, and of others that say so, as azureFile.
        "/spec/volumes/*/*/secretName",
        "/spec/volumes/*/projected/sources/*/secret/name",
        "/spec/*/*/envFrom/*/secretRef/name",
        "/spec/*/*/env/*/valueFrom/secretKeyRef/name",
        "/spec/imagePullSecrets/*/name",
    ],
}

#: What makes pods, and where their template stands. Of what they are scaled to nothing, no pod refers to anything.
TEMPLATES = {
    "apps/v1/deployments": ("spec", "template"),
    "apps/v1/statefulsets": ("spec", "template"),
    "apps/v1/daemonsets": ("spec", "template"),
    "batch/v1/cronjobs": ("spec", "jobTemplate", "spec", "template"),
}


def index_name(resource, place):
    """The name of the index of pods for a resource's pointer."""
    return f"{resource.rpartition('/')[2]}-{place}"


def indexes(resources):
    """The indexes of pods for these resources, as a descriptor has them."""
    return [
        {"resource": PODS, "name": index_name(resource, place), "pointer": pointer}
        for resource in resources
        for place, pointer in enumerate(POINTERS[resource])
    ]


def at(value, pointer):
    """All that a JSON pointer with `*` leads to."""
    found = [value]
    for step in pointer.split("/")[1:]:
        inside = []
        for one in found:
            if step == "*":
                inside += one.values() if isinstance(one, dict) else one if isinstance(one, list) else []
            elif isinstance(one, dict) and step in one:
                inside.append(one[step])
        found = inside
    return found


class Templates:
    """What the templates refer to, as far as no pod does: names by resource, as (namespace, name)."""

    def __init__(self, resources):
        self.names = {resource: set() for resource in resources}
        #: Namespace and labels of the pods that are made.
        self.labels = []
        #: How the names of the claims begin that StatefulSets make, as (namespace, beginning).
        self.claims = set()
        for resource, path in TEMPLATES.items():
            for found in indexer.list(resource):
                self._read(found, path)

    def _read(self, found, path):
        metadata, template = found["metadata"], found
        for step in path:
            template = template.get(step) or {}
        namespace = metadata.get("namespace", "")
        for resource, names in self.names.items():
            for pointer in POINTERS[resource]:
                names.update((namespace, name) for name in at(template, pointer))
        self.labels.append((namespace, template.get("metadata", {}).get("labels") or {}))
        for claim in found.get("spec", {}).get("volumeClaimTemplates") or []:
            self.claims.add((namespace, f"{claim['metadata']['name']}-{metadata['name']}-"))

    def makes_claim(self, namespace, name):
        """Whether a StatefulSet has made this claim, and takes it again when it is scaled up: `data-db-0`."""
        beginning, _, number = name.rpartition("-")
        return number.isdigit() and (namespace, f"{beginning}-") in self.claims

    def selects(self, namespace, selector):
        """Whether a selector fits the pods of some template."""
        return any(of == namespace and selector.items() <= labels.items() for of, labels in self.labels)


def used_by_pods(resource, names):
    """Of these names those that pods refer to, as (namespace, name)."""
    used = set()
    for place in range(len(POINTERS[resource])):
        index = index_name(resource, place)
        for name in indexer.index_values(PODS, index):
            if name in names:
                used.update((key.namespace, name) for key in indexer.index_keys(PODS, index, name))
    return used


def secrets_of_others():
    """The Secrets that service accounts and ingresses refer to, as (namespace, name)."""
    used = set()
    for resource, pointers in ((ACCOUNTS, ("/secrets/*/name", "/imagePullSecrets/*/name")), (INGRESSES, ("/spec/tls/*/secretName",))):
        for found in indexer.list(resource):
            for pointer in pointers:
                used.update((found["metadata"].get("namespace", ""), name) for name in at(found, pointer))
    return used
