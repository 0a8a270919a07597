"""Counts the pending pods, every minute."""

import logging

from informant import Plugin, exports
from informant.host import indexer, metrics

PODS = "v1/pods"


class Counter(Plugin):
    @staticmethod
    def describe(config):
        return {"version": "0.1.0", "reads": [{"resource": PODS}], "schedules": [{"name": "minute", "every": "1m"}]}

    def fire(self, schedule, at):
        pending = [pod for pod in indexer.list(PODS) if pod.get("status", {}).get("phase") == "Pending"]
        metrics.gauge_set("pending_pods", None, len(pending))
        logging.info("pending pods", extra={"count": len(pending)})


Lifecycle, _, _, Timer, *_ = exports(Counter)
