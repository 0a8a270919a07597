"""Warns of Deployments with unavailable replicas, again every 30 s."""

import logging

from informant import Plugin, exports
from informant.host import indexer

DEPLOYMENTS = "apps/v1/deployments"


class Watcher(Plugin):
    @staticmethod
    def describe(config):
        # The host makes a key of every change: the namespace and name of the Deployment.
        return {"version": "0.1.0", "subscriptions": [{"resource": DEPLOYMENTS, "enqueue": ["self"]}]}

    def reconcile(self, key, attempt):
        found = indexer.get(DEPLOYMENTS, key)
        if found is None:  # it is deleted
            return None
        wanted, available = found["spec"]["replicas"], found.get("status", {}).get("availableReplicas", 0)
        if available >= wanted:
            return None
        logging.warning("replicas are unavailable", extra={"deployment": key, "available": f"{available} of {wanted}"})
        return 30  # the seconds until the next call for this key


Lifecycle, _, Reconciler, *_ = exports(Watcher)
