"""From the contract's exports to a plugin."""

import json
import logging
from datetime import datetime, timezone
from functools import wraps

from componentize_py_types import Err
from wit_world.imports import types

from ._event import Event
from ._failure import After, HostError, Never, milliseconds, text


class Plugin:
    """What a plugin is. Only `describe` and what its exports call have to be there."""

    @staticmethod
    def describe(config):
        """Answers with the descriptor, whose keys are those of plugin-sdk/descriptor.schema.json."""
        raise NotImplementedError("a plugin defines describe")

    def start(self, config):
        """Called once for an instance. What it raises keeps this version from running."""

    def handle(self, event):
        """Told of one event. Events come at least once: it must be idempotent."""
        raise NotImplementedError("a plugin with subscriptions defines handle")

    def stop(self):
        """The last call; there is none after a trap or a deadline."""

    def reconcile(self, key, attempt):
        """Works on a key. Answers after how many seconds it wants to do so again, or None."""
        raise NotImplementedError("a plugin that exports Reconciler defines reconcile")

    def fire(self, schedule, at):
        """Called by the clock, for this moment."""
        raise NotImplementedError("a plugin that exports Timer defines fire")

    def synced(self, subscription):
        """The initial objects of a subscription have all been told."""

    def snapshot(self):
        """What the next version is to know, as JSON values; None for nothing."""

    def restore(self, from_version, known):
        """Takes what the version before had to say."""
        raise NotImplementedError("restore takes what snapshot answered")


def _failure(error):
    retry = types.Retry_Backoff()
    if isinstance(error, Never):
        retry = types.Retry_Never()
    elif isinstance(error, After):
        retry = types.Retry_AfterMs(error.milliseconds)
    elif isinstance(error, HostError) and getattr(error.detail, "retry_after_ms", None):
        retry = types.Retry_AfterMs(error.detail.retry_after_ms)
    return types.Failure(text(error), retry)


def _guarded(words):
    """Raises in the host's words what is raised, so that the instance goes on. That is also what `sys.exit` raises."""

    def wrap(call):
        @wraps(call)
        def guarded(*arguments):
            try:
                return call(*arguments)
            except (Exception, SystemExit) as error:
                if not isinstance(error, (Never, After)):
                    logging.exception(text(error))
                raise Err(words(error)) from None

        return guarded

    return wrap


def _configuration(config):
    return json.loads(config) if config.strip() else {}


def exports(plugin):
    """What a plugin's file exports, by the contract's names: `Lifecycle, Handler, *_ = exports(Hello)`.

    In this order: Lifecycle, Handler, Reconciler, Timer, SyncAware, Stateful.
    """
    running = {}

    def instance():
        if "plugin" not in running:
            raise RuntimeError("it came before start: this is a fault of the host")
        return running["plugin"]

    class Lifecycle:
        @_guarded(text)
        def describe(self, config: bytes) -> bytes:
            return json.dumps(plugin.describe(_configuration(config))).encode()

        @_guarded(text)
        def start(self, config: bytes) -> None:
            made = plugin()
            made.start(_configuration(config))
            running["plugin"] = made

        def stop(self) -> None:
            try:
                running.pop("plugin").stop()
            except (Exception, SystemExit) as error:
                logging.exception(f"stop: {text(error)}")

    class Handler:
        @_guarded(_failure)
        def handle(self, event) -> None:
            instance().handle(Event(event))

    class Reconciler:
        @_guarded(_failure)
        def reconcile(self, key: str, attempt: int):
            again = instance().reconcile(key, attempt)
            return None if again is None else milliseconds("reconcile", again)

    class Timer:
        @_guarded(_failure)
        def fire(self, schedule: str, unix_ms: int) -> None:
            instance().fire(schedule, datetime.fromtimestamp(unix_ms / 1000, timezone.utc))

    class SyncAware:
        @_guarded(_failure)
        def synced(self, subscription: int) -> None:
            instance().synced(subscription)

    class Stateful:
        @_guarded(text)
        def snapshot(self):
            known = instance().snapshot()
            return None if known is None else json.dumps(known).encode()

        @_guarded(text)
        def restore(self, from_version: str, data: bytes) -> None:
            instance().restore(from_version, json.loads(data))

    return Lifecycle, Handler, Reconciler, Timer, SyncAware, Stateful
