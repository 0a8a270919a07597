"""Finds what nothing refers to any more, on a schedule: ConfigMaps, PersistentVolumeClaims, Services, ReplicaSets, and Secrets if that is granted.

It deletes nothing. What it finds are metrics, and a line of the log for each that was not found before.
"""

import logging
from collections import Counter

from informant import Plugin, exports
from informant.host import metrics, state

from orphans import BY_NAMESPACE, BY_OWNER, BY_UID, DEPLOYMENTS, REPLICA_SETS, SERVICES, Finder
from references import ACCOUNTS, CLAIMS, CONFIG_MAPS, INGRESSES, PODS, SECRETS, TEMPLATES, indexes
from settings import Settings

LOOK = "look"
#: Sets the gauges of the last look again, well within the hour after which the host drops a series that nobody sets.
MEASURE, MEASURE_EVERY = "measure", "20m"
#: The last look's time and numbers, in the plugin's state. The other keys there are kinds.
LAST = "last"
ORPHANS = "orphan_finder_orphans"
#: Namespaces that have series of their own; those of the others are together.
NAMESPACES_MAX = 100
OTHERS = "(others)"
#: Orphans of one kind of which is known that they were told. More are counted, and not told.
TOLD_MAX = 2_000
#: Lines of one look.
LINES_MAX = 100


class OrphanFinder(Plugin):
    @staticmethod
    def describe(config):
        settings = Settings(config)
        looked_at = [CONFIG_MAPS, CLAIMS] + ([SECRETS] if settings.secrets else [])
        listed = [*looked_at, SERVICES, REPLICA_SETS]
        reads = [PODS, *listed, *TEMPLATES] + ([ACCOUNTS, INGRESSES] if settings.secrets else [])
        by_namespace = [resource for resource in listed if resource != REPLICA_SETS]
        return {
            "version": "0.1.0",
            "schedules": [{"name": LOOK, "every": settings.every}, {"name": MEASURE, "every": MEASURE_EVERY}],
            "reads": [{"resource": resource} for resource in reads],
            "indexes": [
                *indexes(looked_at),
                *({"resource": resource, "name": BY_NAMESPACE, "pointer": "/metadata/namespace"} for resource in by_namespace),
                {"resource": REPLICA_SETS, "name": BY_OWNER, "pointer": "/metadata/ownerReferences/*/uid"},
                {"resource": DEPLOYMENTS, "name": BY_UID, "pointer": "/metadata/uid"},
            ],
        }

    def start(self, config):
        self.settings = Settings(config)

    def fire(self, schedule, at):
        if schedule == LOOK:
            self.look(at)
        elif last := state.get(LAST):
            self.measure(last)

    def look(self, at):
        found = {kind: dict(orphans) for kind, orphans in Finder(self.settings, at).all()}
        last = {"at": at.timestamp(), "counts": self.counts(found)}
        # Gauges of a look that fails later are true, too.
        self.measure(last)
        state.set(LAST, last)
        lines = LINES_MAX
        for kind, orphans in found.items():
            lines = self.tell(kind, orphans, lines)

    def counts(self, found):
        """A count for each kind and namespace. A series of the last look without orphans gets the count 0."""
        all_of = Counter(namespace for orphans in found.values() for namespace, _ in orphans)
        own = set(sorted(all_of, key=lambda namespace: (-all_of[namespace], namespace))[:NAMESPACES_MAX])
        last = state.get(LAST) or {"counts": []}
        counts = {(kind, namespace): 0 for kind, namespace, count in last["counts"] if count > 0}
        for kind, orphans in found.items():
            # So that a kind of which there is none is seen to be looked at.
            counts[kind, ""] = len(orphans)
            for namespace, _ in orphans:
                series = kind, namespace if namespace in own else OTHERS
                counts[series] = counts.get(series, 0) + 1
        return [[*series, count] for series, count in sorted(counts.items())]

    def measure(self, last):
        """Sets the gauges to the numbers of the last look."""
        for kind, namespace, count in last["counts"]:
            if namespace == "":
                metrics.gauge_set("orphan_finder_orphans_of_all_namespaces", {"kind": kind}, count)
            else:
                metrics.gauge_set(ORPHANS, {"kind": kind, "namespace": namespace}, count)
        metrics.gauge_set("orphan_finder_last_look_seconds", None, last["at"])

    def tell(self, kind, orphans, lines):
        """Logs those that were not told before, as long as there are lines, and answers how many are left."""
        names = {f"{namespace}/{name}": why for (namespace, name), why in orphans.items()}
        told = set(state.get(kind) or [])
        fresh = sorted(set(names) - told)
        shown = fresh[: min(lines, max(0, TOLD_MAX - len(told & set(names))))]
        for name in shown:
            logging.info(f"{kind} {name} is an orphan: {names[name]}", extra={"kind": kind, "object": name})
        if len(shown) < len(fresh):
            logging.info(f"{len(fresh) - len(shown)} more of kind {kind} are orphans", extra={"kind": kind})
        now = sorted((told & set(names)) | set(shown))
        if now != sorted(told):
            state.set(kind, now or None)
        return lines - len(shown)


Lifecycle, _, _, Timer, *_ = exports(OrphanFinder)
