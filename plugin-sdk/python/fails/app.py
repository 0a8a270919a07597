"""Does with every pod what the pod's annotation asks for, and is what the host's facts about this SDK are tried with."""

import logging
import os
import sys
import time
import uuid

from informant import HostError, Never, Plugin, exports
from informant.host import event_data, host_info, http, indexer, kube, metrics, state, workqueue


def kind_of(call, *arguments):
    try:
        call(*arguments)
        return "none"
    except HostError as error:
        return error.kind


def use(event):
    found = [
        *indexer.list("v1/pods", event.namespace, "app=sdk"),
        *indexer.by_index("v1/pods", "app", "sdk"),
        *indexer.index_keys("v1/pods", "app", "sdk"),
        *indexer.index_values("v1/pods", "app"),
    ]
    state.set("a", {"b": 1})
    if not state.compare_and_set("a", {"b": 1}, {"b": 2}) or host_info.shard() != (0, 1):
        raise ValueError("the state or the shard is another")
    metrics.counter_add("sdk_total", {"language": "python"})
    metrics.gauge_set("sdk_gauge", {}, 2)
    metrics.histogram_observe("sdk_seconds", {}, 3)
    workqueue.add(event.key)
    used = {
        "pod": event_data.field("/metadata/name"),
        "none": indexer.get("v1/pods", (event.namespace, "none")) is None,
        "app": indexer.fields("v1/pods", event.key, ["/metadata/labels/app", "/none"]),
        "found": len(found) > 3,
        "value": state.get("a")["b"],
        "keys": len(state.keys()),
        "pods": indexer.count("v1/pods") > 0,
        "synced": indexer.has_synced("v1/pods"),
        "leader": host_info.is_leader(),
        "plugin": host_info.plugin_name(),
        "old": event.old is None,
        "refused": kind_of(indexer.get, "v1/nothing", event.key),
        "denied": kind_of(kube.patch, "v1/pods", event.key, {}),
        "closed": kind_of(http.send, "GET", "https://example.com", {"a": "b"}),
    }
    logging.info("used", extra=used)


class Fails(Plugin):
    fired = False

    @staticmethod
    def describe(config):
        return {
            "version": "0.1.0",
            "subscriptions": [{"resource": "v1/pods", "withOld": True}],
            "indexes": [{"resource": "v1/pods", "name": "app", "pointer": "/metadata/labels/app"}],
            "schedules": [{"name": "soon", "every": "1s"}],
        }

    def handle(self, event):
        if event.change != "added":
            return
        asked = event.object["metadata"].get("annotations", {}).get("does")
        if asked == "fail":
            raise Never("asked to fail")
        if asked == "panic":
            raise ValueError(f"asked to panic by {event.name}")
        if asked == "exit":
            sys.exit(3)
        if asked == "look":
            began = time.time()
            time.sleep(0.02)
            slept = time.time() - began >= 0.02
            print("printed", uuid.uuid4() != uuid.uuid4())
            logging.info("looked", extra={"environment": len(os.environ), "file": os.path.exists("/etc/passwd"), "slept": slept})
        elif asked == "use":
            use(event)
        else:
            logging.info("well", extra={"pod": event.key})

    def reconcile(self, key, attempt):
        logging.info("reconciled", extra={"attempt": attempt, "waiting": workqueue.len()})

    def fire(self, schedule, at):
        if not self.fired:
            logging.info("fired", extra={"schedule": schedule, "ago": time.time() - at.timestamp() < 3600})
        self.fired = True

    def synced(self, subscription):
        logging.info("synced", extra={"subscription": subscription})

    def snapshot(self):
        return {"fired": self.fired}

    def restore(self, from_version, known):
        self.fired = known["fired"]
        logging.info("restored", extra={"from": from_version})


Lifecycle, Handler, Reconciler, Timer, SyncAware, Stateful = exports(Fails)
