"""The host's functions, with Python's values: objects are read, pages are iterated over, refusals are HostErrors."""

import json

from componentize_py_types import Err
from wit_world.imports import event_data as _event_data
from wit_world.imports import host_info as _host_info
from wit_world.imports import http as _http
from wit_world.imports import indexer as _indexer
from wit_world.imports import kube as _kube
from wit_world.imports import metrics as _metrics
from wit_world.imports import state as _state
from wit_world.imports import types as _types
from wit_world.imports import workqueue as _workqueue

from ._failure import HostError, milliseconds


def _asked(what, call, *arguments):
    try:
        return call(*arguments)
    except Err as refused:
        raise HostError(what, refused.value) from None


def _object(text):
    return None if text is None else json.loads(text)


def _body(of):
    if isinstance(of, bytes):
        return of
    return (of if isinstance(of, str) else json.dumps(of)).encode()


def _key(of):
    """namespace/name, the name alone, or a tuple of both."""
    namespace, _, name = of.rpartition("/") if isinstance(of, str) else (of[0], "", of[1])
    return _types.ObjectKey(namespace, name)


class event_data:
    """The event in hand, for subscriptions with lazy delivery. A side is new or old."""

    @staticmethod
    def object(side="new"):
        return _object(_event_data.json(_event_data.Side[side.upper()]))

    @staticmethod
    def fields(pointers, side="new"):
        return [_object(one) for one in _event_data.fields(_event_data.Side[side.upper()], list(pointers))]

    @classmethod
    def field(cls, pointer, side="new"):
        return cls.fields([pointer], side)[0]

    changed = staticmethod(_event_data.changed)


def _pages(page, items):
    cursor = None
    while True:
        found = _asked("indexer", page, cursor)
        yield from items(found)
        cursor = found.next
        if cursor is None:
            return


class indexer:
    """The shared cache."""

    @staticmethod
    def get(resource, key):
        return _object(_asked("indexer", _indexer.get, resource, _key(key)))

    @staticmethod
    def fields(resource, key, pointers):
        found = _asked("indexer", _indexer.fields, resource, _key(key), list(pointers))
        return None if found is None else [_object(one) for one in found]

    @staticmethod
    def list(resource, namespace=None, labels="", page=0):
        """`page` is how many objects the host hands over at once; what it takes to be right, if it is 0."""
        return _pages(lambda at: _indexer.list(resource, namespace, labels, page, at), lambda found: map(_object, found.items))

    @staticmethod
    def by_index(resource, index, value):
        return _pages(lambda at: _indexer.by_index(resource, index, value, 0, at), lambda page: map(_object, page.items))

    @staticmethod
    def index_keys(resource, index, value):
        return _pages(lambda at: _indexer.index_keys(resource, index, value, 0, at), lambda page: page.keys)

    @staticmethod
    def index_values(resource, index):
        return _pages(lambda at: _indexer.index_values(resource, index, 0, at), lambda page: page.values)

    @staticmethod
    def count(resource, namespace=None):
        return _asked("indexer", _indexer.count, resource, namespace)

    @staticmethod
    def has_synced(resource):
        return _asked("indexer", _indexer.has_synced, resource)


class state:
    """A small store of JSON values under names."""

    @staticmethod
    def get(key):
        return _object(_asked("state", _state.get, key))

    @staticmethod
    def set(key, value):
        _asked("state", _state.set, key, None if value is None else json.dumps(value).encode())

    @staticmethod
    def compare_and_set(key, expected, value):
        """Sets the value if the present one is the expected one; None is no value. Answers whether it was."""
        expected, value = (None if one is None else json.dumps(one).encode() for one in (expected, value))
        return _asked("state", _state.compare_and_set, key, expected, value)

    @staticmethod
    def keys(prefix=""):
        return _asked("state", _state.keys, prefix)


class kube:
    """Writes to the cluster, as far as they are granted. What is written is an object, or JSON."""

    @staticmethod
    def create(resource, key, of, subresource=""):
        return _object(_asked("kube", _kube.create, resource, _key(key), subresource, _body(of)))

    @staticmethod
    def update(resource, key, of, subresource=""):
        return _object(_asked("kube", _kube.update, resource, _key(key), subresource, _body(of)))

    @staticmethod
    def patch(resource, key, of, kind="merge", subresource=""):
        """`kind` is json-patch, merge, strategic, apply or force-apply."""
        kinds = {
            "json-patch": _kube.PatchType_JsonPatch, "merge": _kube.PatchType_Merge, "strategic": _kube.PatchType_Strategic,
            "apply": lambda: _kube.PatchType_Apply(False), "force-apply": lambda: _kube.PatchType_Apply(True),
        }
        return _object(_asked("kube", _kube.patch, resource, _key(key), subresource, kinds[kind](), _body(of)))

    @staticmethod
    def delete(resource, key, uid=None):
        _asked("kube", _kube.delete, resource, _key(key), uid)

    @staticmethod
    def record_event(resource, key, reason, message, warning=False):
        _asked("kube", _kube.record_event, resource, _key(key), warning, reason, message)


class http:
    """Requests to HTTP servers, as far as they are granted."""

    @staticmethod
    def send(method, url, headers=None, body=b"", timeout=0.0):
        """The answer has `status`, `body` and `headers`: pairs of a name in lower case and a value, one for each value."""
        request = _http.Request(method, url, list((headers or {}).items()), _body(body), int(timeout * 1000))
        return _asked("http", _http.send, request)


class workqueue:
    """The plugin's queue of keys."""

    add = staticmethod(_workqueue.add)
    add_rate_limited = staticmethod(_workqueue.add_rate_limited)
    forget = staticmethod(_workqueue.forget)
    num_requeues = staticmethod(_workqueue.num_requeues)
    len = staticmethod(_workqueue.len)

    @staticmethod
    def add_after(key, seconds):
        _workqueue.add_after(key, milliseconds("add_after", seconds))


class metrics:
    """The plugin's series."""

    @staticmethod
    def counter_add(name, labels=None, value=1.0):
        _asked("metrics", _metrics.counter_add, name, list((labels or {}).items()), float(value))

    @staticmethod
    def gauge_set(name, labels, value):
        _asked("metrics", _metrics.gauge_set, name, list((labels or {}).items()), float(value))

    @staticmethod
    def histogram_observe(name, labels, value):
        _asked("metrics", _metrics.histogram_observe, name, list((labels or {}).items()), float(value))


class host_info:
    """Who and where the plugin is."""

    is_leader = staticmethod(_host_info.is_leader)
    plugin_name = staticmethod(_host_info.plugin_name)
    host_version = staticmethod(_host_info.host_version)

    @staticmethod
    def shard():
        """The number of this instance, from 0, and the number of instances."""
        return tuple(_host_info.shard())
