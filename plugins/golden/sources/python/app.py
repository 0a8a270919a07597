"""The golden plugin in Python. Its twins in the other languages do the same, call by call."""

import logging

from informant import After, Never, Plugin, exports
from informant.host import event_data, host_info, http, indexer, kube, metrics, state, workqueue

PODS = "v1/pods"
APP = "/metadata/labels/app"
ORIGIN = "https://golden.example"


def read(event):
    """Everything that reads and counts."""
    app = event_data.field(APP)
    fields = indexer.fields(PODS, event.key, [APP, "/none"])
    absent = indexer.get(PODS, ("shop", "absent"))
    found = [
        len(list(indexer.list(PODS, "shop", "app=web"))),
        len(list(indexer.by_index(PODS, "app", "web"))),
        len(list(indexer.index_keys(PODS, "app", "web"))),
        len(list(indexer.index_values(PODS, "app"))),
        indexer.count(PODS),
    ]
    synced = "yes" if indexer.has_synced(PODS) else "no"
    seen = (state.get("seen") or 0) + 1
    state.set("seen", seen)
    kept = len(state.keys())
    metrics.counter_add("golden_total", {"app": app})
    metrics.gauge_set("golden_pods", {}, 2)
    metrics.histogram_observe("golden_seconds", {}, 0.5)
    workqueue.add(event.key)
    fields = {
        "app": app,
        "found": " ".join(map(str, found)),
        "absent": "none" if absent is None and fields[1] is None else "there",
        "synced": synced,
        "seen": seen,
        "kept": kept,
        "plugin": host_info.plugin_name(),
    }
    logging.info("read", extra=fields)


def write(event):
    """Everything that is sent."""
    labels = "changed" if event_data.changed("/metadata/labels") else "the same"
    kube.patch(PODS, event.key, '{"metadata":{"annotations":{"golden":"seen"}}}')
    answer = http.send("POST", f"{ORIGIN}/pods", body=event.key)
    logging.warning("sent", extra={"labels": labels, "status": answer.status, "answer": bytes(answer.body).decode()})


class Golden(Plugin):
    @staticmethod
    def describe(config):
        return {
            "version": "0.1.0",
            "subscriptions": [
                {"resource": PODS, "withOld": True},
                {"resource": "v1/configmaps", "enqueue": [{"self": True, "prefix": "config/"}]},
            ],
            "indexes": [{"resource": PODS, "name": "app", "pointer": APP}],
            "writes": [{"resource": PODS, "verbs": ["patch"]}],
            "http": [{"origins": [ORIGIN], "methods": ["POST"]}],
            "schedules": [{"name": "minutely", "every": "60s"}],
        }

    def start(self, config):
        logging.info("started", extra={"greeting": config["greeting"]})

    def handle(self, event):
        if event.name == "fails" and event.attempt == 1:
            raise After("asked to fail", 0.05)
        if event.name == "gives-up":
            raise Never("asked to give up")
        old = "none" if event.old is None else "there"
        logging.info("told", extra={"change": event.change, "reason": event.reason, "key": event.key, "old": old})
        if event.change == "added":
            read(event)
        elif event.change == "updated":
            write(event)

    def reconcile(self, key, attempt):
        logging.info("reconciled", extra={"key": key, "attempt": attempt, "waiting": workqueue.len()})
        once = f"once/{key}"
        if state.get(once) is not None:
            return None
        state.set(once, attempt)
        return 1

    def fire(self, schedule, at):
        logging.info("fired", extra={"schedule": schedule, "at": round(at.timestamp() * 1000)})

    def synced(self, subscription):
        logging.info("synced", extra={"subscription": subscription})

    def snapshot(self):
        return "carried"

    def restore(self, from_version, known):
        logging.info("restored", extra={"from": from_version})

    def stop(self):
        logging.info("stopped")


Lifecycle, Handler, Reconciler, Timer, SyncAware, Stateful = exports(Golden)
