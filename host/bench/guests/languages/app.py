"""Says each pod's phase."""

import logging

from informant import Plugin, exports


class Hello(Plugin):
    @staticmethod
    def describe(config):
        return {"version": "0.1.0", "subscriptions": [{"resource": "v1/pods"}]}

    def handle(self, event):
        logging.info("hello: pod %s is %s", event.key, event.object["status"]["phase"])


Lifecycle, Handler, *_ = exports(Hello)
