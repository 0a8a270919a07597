"""Runs a plugin in an ordinary test, without WebAssembly and without a host. To be imported before the plugin:

    from informant_testing import Host
    import app

    def test_every_pod_is_greeted():
        host = Host(app, {"greeting": "good morning"})
        host.add("v1/pods", {"metadata": {"namespace": "default", "name": "web"}})
        assert host.lines == ["INFO good morning change=added pod=default/web"]
"""

import enum
import json
import sys
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any


class Err(Exception):
    """As the real one: what a function of the contract refuses."""

    def __init__(self, value):
        super().__init__(value)
        self.value = value


def _case(name):
    return type(name, (), {"__init__": lambda self, value=None: setattr(self, "value", value)})


def _cases(module, variant, names):
    for name in names.split():
        setattr(module, f"{variant}_{name}", _case(f"{variant}_{name}"))


@dataclass(frozen=True)
class ObjectKey:
    namespace: str
    name: str


@dataclass
class Failure:
    message: str
    retry: Any


# The wait after a key's first failure. It doubles with each further one.
_WAIT_BASE_MS, _WAIT_MAX_MS = 5, 30_000


@dataclass
class World:
    """What stands for the host: one at a time."""

    objects: dict = field(default_factory=dict)
    indexes: dict = field(default_factory=dict)
    values: dict = field(default_factory=dict)
    series: dict = field(default_factory=dict)
    # The keys that are due, and the times of the others.
    keys: list = field(default_factory=list)
    times: dict = field(default_factory=dict)
    now: int = 0
    failures: dict = field(default_factory=dict)
    # The key of the present call, or None once that call has added it rate limited.
    working: Any = None
    lines: list = field(default_factory=list)
    writes: list = field(default_factory=list)
    requests: list = field(default_factory=list)
    shard: tuple = (0, 1)
    new: Any = None
    old: Any = None
    answer_write: Any = None
    answer_request: Any = None

    def add(self, key):
        if key not in self.keys:
            self.keys.append(key)

    def add_after(self, key, ms):
        if ms <= 0:
            self.add(key)
        else:
            self.delay(key, ms)

    def delay(self, key, ms):
        """The earliest of several times for a key counts."""
        self.times[key] = min(self.now + ms, self.times.get(key, self.now + ms))

    def add_rate_limited(self, key):
        if key == self.working:
            self.working = None
        failures = self.failures.get(key, 0)
        self.failures[key] = failures + 1
        self.delay(key, min(_WAIT_BASE_MS * 2**failures, _WAIT_MAX_MS))

    def forget(self, key):
        self.failures.pop(key, None)

    def sorted(self, resource):
        return [found for _, found in sorted(self.objects.get(resource, {}).items())]


_now = World()


def _at(value, pointer, every=False):
    """All that a JSON pointer leads to. With `every`, as in an index, `*` steps into every member."""
    found = [value]
    for step in pointer.split("/")[1:]:
        step, inside = step.replace("~1", "/").replace("~0", "~"), []
        for one in found:
            if every and step == "*" and isinstance(one, (dict, list)):
                inside += one.values() if isinstance(one, dict) else one
            elif isinstance(one, dict):
                inside += [one[step]] if step in one else []
            elif isinstance(one, list):
                inside += [one[int(step)]] if step.isdigit() and int(step) < len(one) else []
        found = inside
    return found


def _field(value, pointer):
    found = _at(value, pointer) if value is not None else []
    return json.dumps(found[0]) if found else None


def _is_wanted(subscription, change, new, old):
    """Whether a subscription to the object has the change: by its `types`, and by `onlyIfChanged`."""
    if change not in subscription.get("types", [change]):
        return False
    pointers = subscription.get("onlyIfChanged", [])
    return change != "updated" or not pointers or any(_field(new, one) != _field(old, one) for one in pointers)


def _text(value):
    return json.dumps(value).encode()


def _key_of(key):
    return f"{key.namespace}/{key.name}" if key.namespace else key.name


def _module(name, **members):
    module = ModuleType(f"wit_world.imports.{name}")
    vars(module).update(members)
    sys.modules[module.__name__] = module
    return module


def keys_of(rules, found):
    """The keys that `enqueue` rules make of one state of an object."""

    def texts(pointer):
        return [text for text in _at(found, pointer)[:1] if isinstance(text, str) and text]

    def is_of(owner, kind):
        group = kind.rsplit("/", 2)[0] if kind.count("/") == 2 else ""
        own = owner["apiVersion"].split("/")[0] if "/" in owner["apiVersion"] else ""
        return owner["kind"] == kind.rsplit("/", 1)[-1] and own == group

    metadata, keys = found["metadata"], []
    for rule in rules:
        rule = {} if rule == "self" else rule
        namespace = rule.get("namespace", "object")
        own = [metadata.get("namespace", "")] if namespace == "object" else [""] if namespace == "none" else texts(namespace)
        if "owner" in rule:
            names = [owner["name"] for owner in metadata.get("ownerReferences", []) if is_of(owner, rule["owner"])]
        else:
            names = texts(rule["pointer"]) if "pointer" in rule else [metadata["name"]]
        keys += [rule.get("prefix", "") + _key_of(ObjectKey(of, name)) for of in own for name in names]
    return keys


def _page(items=(), keys=(), values=()):
    return SimpleNamespace(items=list(items), keys=list(keys), values=list(values), next=None)


def _log():
    level = enum.Enum("Level", "TRACE DEBUG INFO WARN ERROR")

    def log(at, message, fields):
        _now.lines.append(" ".join([at.name, message, *(f"{name}={value}" for name, value in fields)]))

    _module("log", Level=level, log=log, enabled=lambda at: True)


def _types():
    types = _module("types", ObjectKey=ObjectKey, Failure=Failure)
    types.Change = enum.Enum("Change", "ADDED UPDATED DELETED")
    types.Reason = enum.Enum("Reason", "INITIAL WATCH RELIST RESYNC RELOAD REDRIVE")
    _cases(types, "Retry", "Backoff AfterMs Never")
    return types


def _event_data():
    side = enum.Enum("Side", "NEW OLD")

    def of(which):
        return _now.new if which is side.NEW else _now.old

    _module(
        "event_data",
        Side=side,
        json=lambda which: None if of(which) is None else _text(of(which)),
        fields=lambda which, pointers: [_field(of(which), pointer) for pointer in pointers],
        changed=lambda pointer: _field(_now.new, pointer) != _field(_now.old, pointer),
    )


def _indexer():
    module = _module("indexer")
    _cases(module, "Error", "NotGranted UnknownResource UnknownIndex NotSynced Expired Invalid")

    def get(resource, key):
        found = _now.objects.get(resource, {}).get(_key_of(key))
        return None if found is None else _text(found)

    def fields(resource, key, pointers):
        found = _now.objects.get(resource, {}).get(_key_of(key))
        return None if found is None else [_field(found, pointer) for pointer in pointers]

    def listed(resource, namespace, labels, _limit=0, _cursor=None):
        wanted = [part.split("=", 1) for part in labels.split(",") if part]
        if any(len(part) != 2 for part in wanted):
            raise Err(module.Error_Invalid(f"tests know selectors of the form a=b,c=d, not {labels}"))

        def fits(found):
            metadata = found["metadata"]
            has = all(metadata.get("labels", {}).get(name) == value.lstrip("=") for name, value in wanted)
            return has and namespace in (None, metadata.get("namespace", ""))

        return _page(items=[_text(found) for found in _now.sorted(resource) if fits(found)])

    def indexed(resource, index):
        if (resource, index) not in _now.indexes:
            raise Err(module.Error_UnknownIndex(index))
        pointer = _now.indexes[resource, index]
        for found in _now.sorted(resource):
            yield [one if isinstance(one, str) else json.dumps(one) for one in _at(found, pointer, every=True)], found

    def under(resource, index, value):
        return [found for values, found in indexed(resource, index) if value in values]

    def key(found):
        return ObjectKey(found["metadata"].get("namespace", ""), found["metadata"]["name"])

    module.get, module.fields, module.list = get, fields, listed
    module.by_index = lambda resource, index, value, _limit, _at: _page(items=map(_text, under(resource, index, value)))
    module.index_keys = lambda resource, index, value, _limit, _at: _page(keys=map(key, under(resource, index, value)))
    module.index_values = lambda resource, index, _limit, _at: _page(
        values=sorted({value for values, _ in indexed(resource, index) for value in values})
    )
    module.count = lambda resource, namespace: len(listed(resource, namespace, "").items)
    module.has_synced = lambda resource: True


def _kube():
    module = _module("kube")
    _cases(module, "Error", "NotGranted NotLeader Invalid Status Transport")
    _cases(module, "PatchType", "JsonPatch Merge Strategic Apply")

    def write(verb, resource, key, *more):
        _now.writes.append((verb, resource, _key_of(key), *more))
        if _now.answer_write is None:
            raise Err(module.Error_NotGranted("the test answers no writes"))
        return _text(_now.answer_write(*_now.writes[-1]))

    module.create = lambda resource, key, sub, body: write("create", resource, key, json.loads(body))
    module.update = lambda resource, key, sub, body: write("update", resource, key, json.loads(body))
    module.patch = lambda resource, key, sub, kind, body: write("patch", resource, key, json.loads(body))
    module.delete = lambda resource, key, uid: write("delete", resource, key, uid)
    module.record_event = lambda resource, key, warning, reason, message: write("event", resource, key, reason, message)


def _http():
    module = _module("http", Request=lambda *parts: SimpleNamespace(**dict(zip(("method", "url", "headers", "body", "timeout_ms"), parts))))
    _cases(module, "Error", "NotGranted NotLeader Invalid TimedOut TooLarge Transport")

    def send(request):
        _now.requests.append(request)
        if _now.answer_request is None:
            raise Err(module.Error_NotGranted("the test answers no requests"))
        return _now.answer_request(request)

    module.send = send


def _smaller():
    def put(key, value):
        _now.values.pop(key, None) if value is None else _now.values.update({key: value})

    def compare_and_set(key, expected, value):
        is_so = _now.values.get(key) == expected
        if is_so:
            put(key, value)
        return is_so

    _module(
        "state",
        get=lambda key: _now.values.get(key),
        set=put,
        compare_and_set=compare_and_set,
        keys=lambda prefix: sorted(key for key in _now.values if key.startswith(prefix)),
    )

    _module(
        "workqueue",
        add=lambda key: _now.add(key),
        add_after=lambda key, ms: _now.add_after(key, ms),
        add_rate_limited=lambda key: _now.add_rate_limited(key),
        forget=lambda key: _now.forget(key),
        num_requeues=lambda key: _now.failures.get(key, 0),
        len=lambda: len(_now.keys),
    )

    def count(name, labels, value):
        _now.series[name, *labels] = _now.series.get((name, *labels), 0) + value

    def gauge(name, labels, value):
        _now.series[name, *labels] = value

    _module("metrics", counter_add=count, gauge_set=gauge, histogram_observe=count)
    _module("host_info", is_leader=lambda: True, plugin_name=lambda: "test", host_version=lambda: "0.1.0", shard=lambda: _now.shard)


def _install():
    types = ModuleType("componentize_py_types")
    types.Err = Err
    world, imports = ModuleType("wit_world"), ModuleType("wit_world.imports")
    world.imports = imports
    sys.modules.update({"componentize_py_types": types, "wit_world": world, "wit_world.imports": imports})
    for make in (_log, _types, _event_data, _indexer, _kube, _http, _smaller):
        make()
    for name, module in list(sys.modules.items()):
        if name.startswith("wit_world.imports."):
            setattr(imports, name.rpartition(".")[2], module)


if "wit_world" not in sys.modules:
    _install()


class Host:
    """A host with one plugin: the module that is its file. A test also reads these fields:

    `lines`: the log, each line as `INFO message name=value`.
    `series`: a dict from (name, *labels) to the value: `host.series["pending", ("phase", "a")]`, `host.series["pending",]`.
    `writes`: tuples of a verb, a resource, a key and what was written.
    `requests`: the HTTP requests, with `method`, `url`, `headers`, `body` and `timeout_ms`.
    `keys`: the keys that are due. `delayed`: the milliseconds until each other key is due.
    `descriptor`: what the plugin asks for.

    A test sets these on `host.world`: `shard`, the number of this instance and of all; `answer_write` and `answer_request`,
    functions that answer. Without them nothing is granted.
    """

    def __init__(self, plugin, config=None, before=None):
        """With the host before this one it is a reload: the cache, the state, the keys, the metrics and the log go on."""
        global _now
        _now = self.world = World() if before is None else before.world
        self._plugin, self._seq = plugin, 0
        lifecycle, text = plugin.Lifecycle(), _text(config or {})
        self.descriptor = json.loads(lifecycle.describe(text))
        for index in self.descriptor.get("indexes", []):
            _now.indexes[index["resource"], index["name"]] = index["pointer"]
        lifecycle.start(text)

    def __getattr__(self, name):
        return getattr(self.world, name)

    def put(self, resource, found):
        """Has an object in the cache without telling the plugin."""
        self.world.objects.setdefault(resource, {})[self._key(found)] = found

    def add(self, resource, found):
        """Tells the plugin of an object that came. Answers the failure, or None.

        With `enqueue` rules in the subscription the object's keys wait instead, as in a host. Of its conditions `types` and
        `onlyIfChanged` count: the object is in the view, and passes the filter.
        """
        self.put(resource, found)
        return self._tell(resource, "ADDED", found, None)

    def update(self, resource, before, after):
        self.put(resource, after)
        return self._tell(resource, "UPDATED", after, before)

    def delete(self, resource, found):
        self.world.objects.get(resource, {}).pop(self._key(found), None)
        return self._tell(resource, "DELETED", None, found)

    @property
    def delayed(self):
        """The milliseconds until each delayed key is due."""
        return {key: time - self.world.now for key, time in self.world.times.items()}

    def reconcile(self):
        """Has the plugin work on every key that is due, in turn. Answers after how many milliseconds which come again.

        Raises the first failure; its key comes again as the failure says.
        """
        again, world = {}, self.world
        while world.keys:
            key = world.working = world.keys.pop(0)
            try:
                wait = self._plugin.Reconciler().reconcile(key, world.failures.get(key, 0) + 1)
            except Err as failed:
                self._failed(key, failed.value.retry)
                raise
            if world.working is not None:
                world.forget(key)
            if wait is not None:
                again[key] = wait
                world.delay(key, wait)
        world.working = None
        return again

    def _failed(self, key, retry):
        types = sys.modules["wit_world.imports.types"]
        self.world.working = None
        if isinstance(retry, types.Retry_Never):
            self.world.forget(key)
        elif isinstance(retry, types.Retry_AfterMs):
            self.world.delay(key, retry.value)
        else:
            self.world.add_rate_limited(key)

    def wait(self, ms):
        """Lets time pass for the queue: delayed keys that are due by then wait in `keys`, in the order of their times.

        It does not wait, and it moves neither Python's clocks nor schedules: patch `time.time`, and call `fire`.
        """
        world = self.world
        world.now += ms
        for key in sorted((key for key, time in world.times.items() if time <= world.now), key=world.times.get):
            del world.times[key]
            world.add(key)

    def fire(self, schedule, at=0.0):
        """Calls the plugin as the clock would, for a moment in seconds since 1970. Answers the failure, or None."""
        if schedule not in [one["name"] for one in self.descriptor.get("schedules", [])]:
            raise ValueError(f"the plugin has no schedule {schedule}")
        return self._call(lambda: self._plugin.Timer().fire(schedule, int(at * 1000)))

    def synced(self, resource):
        """Tells the plugin that the first objects of a resource have all been told. Answers the failure, or None."""
        place = [one["resource"] for one in self.descriptor["subscriptions"]].index(resource)
        return self._call(lambda: self._plugin.SyncAware().synced(place))

    @staticmethod
    def _call(call):
        try:
            call()
            return None
        except Err as failed:
            return failed.value

    @staticmethod
    def _key(found):
        metadata = found["metadata"]
        return _key_of(ObjectKey(metadata.get("namespace", ""), metadata["name"]))

    def _tell(self, resource, change, new, old):
        types = sys.modules["wit_world.imports.types"]
        place = [one["resource"] for one in self.descriptor["subscriptions"]].index(resource)
        subscription = self.descriptor["subscriptions"][place]
        if not _is_wanted(subscription, change.lower(), new, old):
            return None
        if subscription.get("enqueue"):
            for found in (old, new):
                for key in keys_of(subscription["enqueue"], found) if found else []:
                    self.world.add(key)
            return None
        shown = subscription.get("delivery", "full") != "lazy"
        metadata = (new or old)["metadata"]
        self._seq += 1
        self.world.new, self.world.old = new, old
        event = SimpleNamespace(
            seq=self._seq, subscription=place, change=types.Change[change], reason=types.Reason.WATCH,
            key=ObjectKey(metadata.get("namespace", ""), metadata["name"]), uid=metadata.get("uid", ""),
            resource_version=str(self._seq), gone=types.Change.DELETED if change == "DELETED" else None, coalesced=0, attempt=1,
            object=_text(new) if new and shown else None,
            old=_text(old) if old and shown and (subscription.get("withOld") or change == "DELETED") else None,
        )
        try:
            self._plugin.Handler().handle(event)
            return None
        except Err as failed:
            return failed.value
        finally:
            self.world.new = self.world.old = None
