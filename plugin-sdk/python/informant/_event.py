"""An event, with its objects as they are asked for."""

import json
from functools import cached_property


def word(case):
    """A case of an enumeration as the contract writes it: `left-view`."""
    return case.name.lower().replace("_", "-")


class Event:
    """A change of one object."""

    def __init__(self, told):
        self.seq = told.seq
        self.subscription = told.subscription
        #: added, updated or deleted
        self.change = word(told.change)
        #: initial, watch, relist, resync, reload or redrive
        self.reason = word(told.reason)
        self.namespace = told.key.namespace
        self.name = told.key.name
        #: namespace/name, or the name alone
        self.key = f"{self.namespace}/{self.name}" if self.namespace else self.name
        self.uid = told.uid
        self.resource_version = told.resource_version
        #: deleted, left-view or unknown; None while it is there
        self.gone = None if told.gone is None else word(told.gone)
        self.coalesced = told.coalesced
        self.attempt = told.attempt
        self._object = told.object
        self._old = told.old

    @cached_property
    def object(self):
        """The new state, or the last one of an object that is gone; None with lazy delivery."""
        text = self._object
        if text is None and self.change == "deleted":
            text = self._old
        return None if text is None else json.loads(text)

    @cached_property
    def old(self):
        """The state before: of a deletion always, else where the subscription says withOld."""
        return None if self._old is None else json.loads(self._old)
