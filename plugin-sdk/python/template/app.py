"""Greets every pod."""

import logging

from informant import Plugin, exports


class Hello(Plugin):
    @staticmethod
    def describe(config):
        return {"version": "0.1.0", "subscriptions": [{"resource": "v1/pods"}]}

    def start(self, config):
        self.greeting = config.get("greeting", "hello")

    def handle(self, event):
        logging.info(self.greeting, extra={"change": event.change, "pod": event.key})


Lifecycle, Handler, *_ = exports(Hello)
