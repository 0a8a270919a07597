"""What nothing refers to, of each resource."""

from datetime import datetime

from informant.host import indexer

from references import CLAIMS, CONFIG_MAPS, PODS, SECRETS, Templates, secrets_of_others, used_by_pods

SERVICES = "v1/services"
REPLICA_SETS = "apps/v1/replicasets"
DEPLOYMENTS = "apps/v1/deployments"

#: The index that every resource has that is gone through, and those of owners.
BY_NAMESPACE, BY_OWNER, BY_UID = "namespace", "owner", "uid"

OFF = "/metadata/annotations/informant.dev~1orphan-finder"
LABELS, OWNERS, CREATED = "/metadata/labels", "/metadata/ownerReferences", "/metadata/creationTimestamp"
#: Service accounts' tokens, as they were made of themselves.
TOKEN_OF = "/metadata/annotations/kubernetes.io~1service-account.name"

NOTHING_REFERS = "nothing refers to it"


class Finder:
    """One look at everything, at a moment."""

    def __init__(self, settings, now):
        self.settings = settings
        self.now = now
        self.resources = [CONFIG_MAPS, CLAIMS] + ([SECRETS] if settings.secrets else [])
        self.templates = Templates(self.resources)

    def keys(self, resource):
        """Those that are looked at, by name: (namespace, name)."""
        for namespace in list(indexer.index_values(resource, BY_NAMESPACE)):
            if self.settings.skips_namespace(namespace):
                continue
            for key in indexer.index_keys(resource, BY_NAMESPACE, namespace):
                if not self.settings.skips_name(key.name):
                    yield key.namespace, key.name

    def is_meant(self, resource, key):
        """Whether it is old enough, and nothing of its own says that it is to be left alone. Nothing but metadata is read."""
        found = indexer.fields(resource, key, [OFF, LABELS, OWNERS, CREATED, TOKEN_OF])
        if found is None:
            return False
        off, labels, owners, created, token_of = found
        if off == "off" or token_of is not None or self.settings.skips_labels(labels or {}):
            return False
        # Who owns it knows what it is for; when the owner goes, so does it. ReplicaSets are looked at because of their owners.
        if owners and resource != REPLICA_SETS:
            return False
        return created is None or (self.now - moment(created)).total_seconds() >= self.settings.minimum_age

    def unreferenced(self, resource):
        """ConfigMaps, Secrets and claims that neither pods nor templates name."""
        keys = set(self.keys(resource))
        used = used_by_pods(resource, {name for _, name in keys}) | self.templates.names[resource]
        if resource == SECRETS:
            used |= secrets_of_others()
        for namespace, name in sorted(keys - used):
            if resource == CLAIMS and self.templates.makes_claim(namespace, name):
                continue
            if self.is_meant(resource, (namespace, name)):
                yield (namespace, name), NOTHING_REFERS

    def services(self):
        """Services that select pods, and none is there nor would any be made."""
        for namespace, name in sorted(self.keys(SERVICES)):
            [selector] = indexer.fields(SERVICES, (namespace, name), ["/spec/selector"]) or [None]
            if not selector or self.templates.selects(namespace, selector):
                continue
            labels = ",".join(f"{label}={value}" for label, value in sorted(selector.items()))
            if next(indexer.list(PODS, namespace, labels, page=1), None) is None and self.is_meant(SERVICES, (namespace, name)):
                yield (namespace, name), f"no pod has its labels {labels}"

    def replica_sets(self):
        """ReplicaSets whose Deployment is not there any more."""
        gone = set(indexer.index_values(REPLICA_SETS, BY_OWNER)) - set(indexer.index_values(DEPLOYMENTS, BY_UID))
        found = {}
        for uid in gone:
            for key in list(indexer.index_keys(REPLICA_SETS, BY_OWNER, uid)):
                if self.settings.skips_namespace(key.namespace) or self.settings.skips_name(key.name):
                    continue
                [owners] = indexer.fields(REPLICA_SETS, (key.namespace, key.name), [OWNERS]) or [None]
                for owner in owners or []:
                    # Owners of other kinds are not read: they may well be there.
                    if owner["uid"] == uid and owner["kind"] == "Deployment" and owner["apiVersion"].startswith("apps/"):
                        found[key.namespace, key.name] = owner["name"]
        for key, owner in sorted(found.items()):
            if self.is_meant(REPLICA_SETS, key):
                yield key, f"its Deployment {owner} is gone"

    def all(self):
        """Kind by kind: what is no longer needed, and why."""
        yield "ConfigMap", self.unreferenced(CONFIG_MAPS)
        if self.settings.secrets:
            yield "Secret", self.unreferenced(SECRETS)
        yield "PersistentVolumeClaim", self.unreferenced(CLAIMS)
        yield "Service", self.services()
        yield "ReplicaSet", self.replica_sets()


def moment(text):
    """A time as Kubernetes writes it."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
