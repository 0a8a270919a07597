"""What the SDK does with a plugin that does everything."""

import ast
import json
import logging
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from types import ModuleType, SimpleNamespace
from unittest.mock import patch

from informant_testing import Err, Host

sys.path.insert(0, str(Path(__file__).parent / "fails"))
import app  # noqa: E402


def pod(name, does="", app="sdk"):
    return {"metadata": {"namespace": "shop", "name": name, "labels": {"app": app}, "annotations": {"does": does}}}


class Sdk(unittest.TestCase):
    def test_what_is_raised_is_a_failure_with_its_wish_for_a_retry(self):
        host = Host(app)
        for does, message, retry in [
            ("fail", "asked to fail", "Retry_Never"),
            ("panic", "ValueError: asked to panic by web", "Retry_Backoff"),
            ("exit", "SystemExit: 3", "Retry_Backoff"),
        ]:
            failure = host.add("v1/pods", pod("web", does))
            self.assertEqual((failure.message, type(failure.retry).__name__), (message, retry))
        stacks = [line for line in host.lines if "stack=Traceback" in line]
        self.assertEqual(len(stacks), 2, host.lines)

    def test_what_is_raised_tells_what_from_and_a_wait_that_is_no_number_of_itself(self):
        from informant import After, Plugin, exports
        from informant.host import workqueue

        def failing(does):
            class Failing(Plugin):
                @staticmethod
                def describe(config):
                    return {"version": "1", "subscriptions": [{"resource": "v1/pods"}]}

                def handle(self, event):
                    does()

                def reconcile(self, key, attempt):
                    return does()

            module = ModuleType("failing")
            module.Lifecycle, module.Handler, module.Reconciler = exports(Failing)[:3]
            return Host(module)

        def caused():
            try:
                int("x")
            except ValueError as error:
                raise Exception("no number") from error

        def after(seconds):
            raise After("busy", seconds)

        no_number = "After wants seconds, and {} is no number of them"
        for does, message in [
            (caused, "no number: ValueError: invalid literal for int() with base 10: 'x'"),
            (lambda: after(float("nan")), f"ValueError: {no_number.format('nan')}"),
            (lambda: after("soon"), f"ValueError: {no_number.format(repr('soon'))}"),
            (lambda: after(float("inf")), "busy"),
            (lambda: [].pop(), "IndexError: pop from empty list"),
            (lambda: next(iter([])), "StopIteration"),
            (lambda: workqueue.add_after("a", None), "ValueError: add_after wants seconds, and None is no number of them"),
        ]:
            self.assertEqual(failing(does).add("v1/pods", pod("web")).message, message)
        host = failing(lambda: float("nan"))
        host.keys.append("a")
        with self.assertRaises(Err) as raised:
            host.reconcile()
        self.assertEqual(raised.exception.value.message, "ValueError: reconcile wants seconds, and nan is no number of them")

    def test_a_refused_write_comes_again_after_the_api_servers_time(self):
        from wit_world.imports import kube as contract

        from informant import After, HostError, Plugin, exports
        from informant.host import kube

        class Writes(Plugin):
            @staticmethod
            def describe(config):
                return {"version": "1", "subscriptions": [{"resource": "v1/pods"}]}

            def handle(self, event):
                try:
                    kube.create("v1/pods", "shop/a", {})
                except HostError as error:
                    if event.name == "own":
                        raise After("later", 3) from error
                    raise

        module = ModuleType("writes")
        module.Lifecycle, module.Handler = exports(Writes)[:2]
        host = Host(module)

        def check(name, milliseconds, retry):
            def refuse(*write):
                raise Err(contract.Error_Status(SimpleNamespace(code=429, reason="TooManyRequests", message="busy", retry_after_ms=milliseconds)))

            host.world.answer_write = refuse
            found = host.add("v1/pods", pod(name)).retry
            self.assertEqual((type(found).__name__, found.value), retry)

        check("a", 2000, ("Retry_AfterMs", 2000))
        check("a", None, ("Retry_Backoff", None))
        check("a", 0, ("Retry_Backoff", None))
        check("own", 2000, ("Retry_AfterMs", 3000))

    def test_the_hosts_functions_are_there(self):
        host = Host(app)
        host.put("v1/pods", pod("db"))
        self.assertIsNone(host.add("v1/pods", pod("web", "use")))
        used = host.lines[-1]
        for word in "pod=web none=True found=True value=2 keys=1 pods=True synced=True old=True refused=none denied=not-granted closed=not-granted".split():
            self.assertIn(word, used)
        self.assertEqual(host.series["sdk_total", ("language", "python")], 1)
        self.assertEqual(host.writes, [("patch", "v1/pods", "shop/web", {})])
        host.reconcile()
        self.assertEqual(host.lines[-1], "INFO reconciled attempt=1 waiting=0")

    def test_events_of_a_subscription_with_enqueue_rules_are_keys_of_the_old_state_and_of_the_new_one(self):
        from informant import Plugin, exports
        from informant.host import host_info, state

        rules = ["self", {"owner": "apps/v1/ReplicaSet", "prefix": "rs/"}, {"pointer": "/spec/nodeName", "namespace": "none", "prefix": "nodes/"}]

        class Owners(Plugin):
            @staticmethod
            def describe(config):
                return {"version": "1", "subscriptions": [{"resource": "v1/pods", "enqueue": rules}]}

            def reconcile(self, key, attempt):
                if not state.compare_and_set("first", None, host_info.shard()[0]):
                    return 1.5 if key.startswith("rs/") else None

        module = ModuleType("owners")
        module.Lifecycle, module.Handler, module.Reconciler = exports(Owners)[:3]
        host = Host(module)
        host.world.shard = (2, 4)

        def owned(name, node):
            owners = [{"apiVersion": "apps/v1beta1", "kind": "ReplicaSet", "name": name}, {"apiVersion": "v1", "kind": "ReplicaSet", "name": "no"}]
            return {"metadata": {"namespace": "shop", "name": "web", "ownerReferences": owners}, "spec": node}

        self.assertIsNone(host.update("v1/pods", owned("a", {}), owned("b", {"nodeName": "n1"})))
        self.assertEqual(host.keys, ["shop/web", "rs/shop/a", "rs/shop/b", "nodes/n1"])
        self.assertEqual(host.reconcile(), {"rs/shop/a": 1500, "rs/shop/b": 1500})
        self.assertEqual(state.get("first"), 2)

    def test_an_update_that_changes_none_of_the_pointers_is_not_delivered_nor_a_change_of_another_type(self):
        from informant import Plugin, exports

        told = []

        class Filtered(Plugin):
            @staticmethod
            def describe(config):
                conditions = {"types": ["updated", "deleted"], "onlyIfChanged": ["/status/size", "/status/*"]}
                return {"version": "1", "subscriptions": [{"resource": "v1/pods", **conditions}]}

            def handle(self, event):
                told.append(event.name)

        module = ModuleType("filtered")
        module.Lifecycle, module.Handler = exports(Filtered)[:2]
        host = Host(module)

        def sized(name, size, more=1):
            return {"metadata": {"name": name}, "status": {"size": size, "more": more}}

        self.assertIsNone(host.add("v1/pods", sized("added", 1)))
        self.assertIsNone(host.update("v1/pods", sized("same", 1, 1), sized("same", 1, 2)))
        self.assertIsNone(host.update("v1/pods", sized("changed", 1), sized("changed", 2)))
        self.assertIsNone(host.delete("v1/pods", sized("deleted", 2)))
        self.assertEqual(told, ["changed", "deleted"])

    def test_a_delayed_key_comes_back_when_its_time_has_passed_the_earliest_of_several(self):
        from informant import After, Plugin, exports
        from informant.host import workqueue

        class Delays(Plugin):
            @staticmethod
            def describe(config):
                return {"version": "1", "subscriptions": [{"resource": "v1/pods", "enqueue": ["self"]}]}

            def reconcile(self, key, attempt):
                logging.info(key, extra={"attempt": attempt, "failures": workqueue.num_requeues(key)})
                if key == "shop/again":
                    return 0.2
                if key == "shop/after":
                    workqueue.add_after(key, 0.05)
                if key == "shop/limited":
                    workqueue.add_rate_limited(key)
                if key == "shop/wait":
                    raise After("busy", 0.1)
                if key == "shop/fail":
                    raise ValueError("broken")

        module = ModuleType("delays")
        module.Lifecycle, module.Handler, module.Reconciler = exports(Delays)[:3]
        host = Host(module)

        def works(name, fails=False):
            host.add("v1/pods", pod(name))
            if not fails:
                return host.reconcile()
            with self.assertRaises(Err):
                host.reconcile()

        self.assertEqual(works("again"), {"shop/again": 200})
        works("after")
        works("limited")
        works("wait", fails=True)
        works("fail", fails=True)
        self.assertEqual(host.delayed, {"shop/again": 200, "shop/after": 50, "shop/limited": 5, "shop/wait": 100, "shop/fail": 5})
        host.wait(100)
        self.assertEqual(host.keys, ["shop/limited", "shop/fail", "shop/after", "shop/wait"])
        self.assertEqual(host.delayed, {"shop/again": 100})

        # An event adds a key at once, and the old time still comes.
        host.keys.clear()
        works("again")
        self.assertEqual(host.delayed, {"shop/again": 100})
        host.wait(99)
        self.assertEqual(host.keys, [])
        host.wait(1)
        self.assertEqual(host.keys, ["shop/again"])
        works("fail", fails=True)
        self.assertIn("INFO shop/fail attempt=2 failures=1", host.lines)

    def test_the_world_follows_from_what_the_file_exports(self):
        import build

        def check(source, world):
            self.assertEqual(build.contract("", build.exported(source)), f"\nworld made {{\n    include imports;\n{world}}}\n")

        check("Lifecycle, Handler, *_ = exports(A)", "    export lifecycle;\n    export handler;\n")
        check("Lifecycle, _, _, Timer, *_ = exports(A)\nif x:\n    Handler = 1", "    export lifecycle;\n    export timer;\n")
        check("class Lifecycle:\n    Handler = 1", "    export lifecycle;\n")
        with self.assertRaisesRegex(SystemExit, "exports no Lifecycle"):
            build.contract("", build.exported("Handler = 1"))

    def test_a_quick_build_imports_what_the_top_of_app_imports(self):
        import quick

        def check(source, modules):
            self.assertEqual(quick.imported(ast.parse(source)), modules)

        check("import a.b, c\nfrom d import e, f as g", ["a.b", "c", "d", "d.e", "d.f"])
        check("try:\n    import a\nexcept ImportError:\n    import b", ["a", "b"])
        check("class A:\n    import a\n    def f(self):\n        import b", ["a"])
        check("def f(x=lambda: __import__('a')):\n    import b\nfrom . import c\nfrom d import *\nimport app", ["d"])

    def test_a_project_that_reads_files_is_not_built_quickly(self):
        import quick

        for source in ["open('a')", "def f():\n    Path('a').read_text()", "import importlib.resources", "from importlib import resources"]:
            self.assertTrue(quick.reads(ast.parse(source)), source)
        for source in ["import json\njson.loads('1')", "opened = reopen = 1"]:
            self.assertFalse(quick.reads(ast.parse(source)), source)

    def test_a_quick_build_makes_a_component_again_only_if_something_else_than_the_text_of_app_changes(self):
        import quick

        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.addCleanup(os.chdir, Path.cwd())
        folder = Path(kept.name).resolve()
        os.chdir(folder)
        made = []

        def componentize(module, source, out):
            made.append(source)
            out.write_bytes(b"head" + quick.MARK * quick.COPIES + b"tail")

        def check(text, names, builds):
            with patch.object(quick, "version", lambda _: "1"):
                built = quick.build(text, names, folder / "build/quick", componentize)
            self.assertEqual(len(made), builds, text)
            self.assertEqual(len(list((folder / "build/quick").iterdir())), 1)
            return built

        text = b"import json\nx = 1\n"
        self.assertEqual(check(text, ["Lifecycle"], 1), b"head" + text.ljust(quick.TEXT_MAX, b"\0") + b"tail")
        self.assertIn(b"x = 2\n\0", check(b"import json\nx = 2\n", ["Lifecycle"], 1))
        check(b"import json, csv", ["Lifecycle"], 2)
        check(b"import json, csv", ["Lifecycle", "Timer"], 3)
        (folder / "other.py").write_text("y = 1")
        check(b"import json, csv", ["Lifecycle", "Timer"], 4)
        (folder / "test_app.py").write_text("open('a test may')")
        check(b"import json, csv", ["Lifecycle", "Timer"], 4)
        self.assertIsNone(check(b"#" * (quick.TEXT_MAX + 1), ["Lifecycle"], 4))
        self.assertIsNone(check(text + quick.WHOLE, ["Lifecycle"], 4))
        (folder / "other.py").write_text("y = open('a').read()")
        self.assertIsNone(check(text, ["Lifecycle"], 4))

    def test_a_component_has_one_place_for_app(self):
        import quick

        place = quick.MARK * quick.COPIES
        self.assertIsNone(quick.filled(place[:-1], b"x"))
        self.assertIsNone(quick.filled(place + b" " + place, b"x"))
        # What was freed may begin in the middle and has fewer marks.
        self.assertIsNotNone(quick.filled(place[9:] + b" " + place, b"x"))

    def test_what_a_quick_build_runs_in_place_of_app_has_its_exports(self):
        import quick

        self.addCleanup(sys.modules.__setitem__, "app", app)

        def exports(text):
            module = ModuleType("informant_quick")
            exec(quick.boot(ast.parse(text), ["Lifecycle", "Handler"]), module.__dict__)
            module.TEXT[:] = text.encode().ljust(quick.TEXT_MAX, b"\0")
            return module

        text = (Path(__file__).parent / "template/app.py").read_text("utf-8")
        described = json.loads(exports(text).Lifecycle().describe(b"{}"))
        self.assertEqual(described["subscriptions"], [{"resource": "v1/pods"}])
        with self.assertRaises(Err) as raised:
            exports("import nothing_of_that_name").Lifecycle().describe(b"{}")
        self.assertIn("app.py: ModuleNotFoundError", str(raised.exception.value))

    def test_an_index_that_is_not_there_is_named(self):
        from informant import HostError
        from informant.host import indexer

        Host(app)
        with self.assertRaisesRegex(HostError, "indexer: unknown-index: none"):
            list(indexer.index_values("v1/pods", "none"))

    def test_it_is_called_by_the_clock_hears_that_its_first_objects_are_there_and_is_reloaded(self):
        host = Host(app)
        self.assertIsNone(host.synced("v1/pods"))
        self.assertIsNone(host.fire("soon", 1.5))
        self.assertEqual(host.lines, ["INFO synced subscription=0", "INFO fired schedule=soon ago=False"])
        with self.assertRaisesRegex(ValueError, "no schedule never"):
            host.fire("never")
        host.add("v1/pods", pod("web", "use"))
        after = Host(app, before=host)
        self.assertEqual(after.keys, ["shop/web"])
        self.assertEqual(after.reconcile(), {})

    def test_outside_of_a_plugin_and_a_test_its_modules_say_so(self):
        command = [sys.executable, "-c", "import informant.host"]
        said = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True).stderr
        self.assertIn("a test has `from informant_testing import Host` before it", said)

    def test_a_snapshot_is_restored(self):
        Host(app)
        known = app.Stateful().snapshot()
        app.Stateful().restore("0.1.0", known)
        self.assertEqual(json.loads(known), {"fired": False})

    def test_what_the_readme_shows_works(self):
        blocks = (Path(__file__).parent / "README.md").read_text().split("```python\n")[1:]
        hello, counts = [ModuleType("example") for _ in blocks]
        for module, block in zip((hello, counts), blocks):
            exec(block.split("```")[0], module.__dict__)
        host = Host(hello)
        host.add("v1/pods", pod("web"))
        self.assertEqual(host.lines, ["INFO pod change=added key=shop/web"])
        host = Host(counts)
        host.put("v1/pods", pod("web") | {"status": {"phase": "Pending"}})
        host.put("v1/pods", pod("other") | {"status": {}})
        self.assertIsNone(host.synced("v1/pods"))
        counts.Reconciler().reconcile("shop/web", 1)
        self.assertIsNone(host.fire("hourly"))
        self.assertEqual(host.lines, ["INFO all are here pods=2", "INFO so far waiting=1 worked=1"])
        known = counts.Stateful().snapshot()
        Host(counts, before=host)
        counts.Stateful().restore("0.1.0", known)
        self.assertEqual(json.loads(counts.Stateful().snapshot()), {"worked": 1})

    def test_a_plugin_that_does_not_start_says_why(self):
        from informant import Plugin, exports

        class Bad(Plugin):
            def start(self, config):
                raise Exception(f"no {config['a']}")

        lifecycle, *_ = exports(Bad)
        with self.assertRaises(Err) as raised:
            lifecycle().start(b'{"a": "b"}')
        self.assertEqual(raised.exception.value, "no b")

    def test_a_plugin_that_exits_as_it_stops_has_stopped(self):
        from informant import Plugin, exports

        class Bad(Plugin):
            @staticmethod
            def describe(config):
                return {"version": "1", "subscriptions": [{"resource": "v1/pods"}]}

            def stop(self):
                sys.exit(3)

        module = ModuleType("example")
        module.Lifecycle, module.Handler, *_ = exports(Bad)
        host = Host(module)
        module.Lifecycle().stop()
        self.assertTrue(host.lines[0].startswith("ERROR stop: SystemExit: 3 stack=Traceback"), host.lines)


if __name__ == "__main__":
    unittest.main()
