"""What is found, and what is left alone."""

import unittest

from informant_testing import Host, World, Err  # noqa: F401 - before the plugin

import app
import settings

CONFIG_MAPS, SECRETS, CLAIMS, SERVICES = "v1/configmaps", "v1/secrets", "v1/persistentvolumeclaims", "v1/services"
OLD = "2026-01-01T00:00:00Z"
#: Two hours later.
NOW = 1767232800


def named(name, namespace="shop", **metadata):
    return {"metadata": {"namespace": namespace, "name": name, "creationTimestamp": OLD, **metadata}}


def pod(name, spec, labels=None):
    return {**named(name, labels=labels or {}), "spec": spec}


def deployment(name, template, **more):
    return {**named(name, uid=f"uid-of-{name}"), "spec": {"template": template, **more}}


class OrphanFinder(unittest.TestCase):
    def check(self, objects, expect, config=None, host=None, now=NOW):
        """What is told of these objects, without what all lines have."""
        host = host or Host(app, config)
        for resource, found in objects:
            host.put(resource, found)
        before = len(host.lines)
        failure = host.fire("look", now)
        self.assertIsNone(failure)
        told = [line.removeprefix("INFO ").partition(" kind=")[0] for line in host.lines[before:]]
        self.assertEqual(told, expect)
        return host

    def test_what_a_pod_refers_to_in_any_way_is_no_orphan(self):
        spec = {
            "volumes": [
                {"configMap": {"name": "a"}}, {"secret": {"secretName": "a"}}, {"persistentVolumeClaim": {"claimName": "a"}},
                {"projected": {"sources": [{"configMap": {"name": "b"}}, {"secret": {"name": "b"}}]}},
            ],
            "initContainers": [{"envFrom": [{"configMapRef": {"name": "c"}}, {"secretRef": {"name": "c"}}]}],
            "containers": [{"env": [{"valueFrom": {"configMapKeyRef": {"name": "d"}}}, {"valueFrom": {"secretKeyRef": {"name": "d"}}}]}],
            "ephemeralContainers": [{"envFrom": [{"configMapRef": {"name": "e"}}]}],
            "imagePullSecrets": [{"name": "e"}],
        }
        objects = [(resource, named(name)) for resource in (CONFIG_MAPS, SECRETS) for name in "abcde"]
        config = {"secrets": True}
        everything = [*objects, (CLAIMS, named("a")), ("v1/pods", pod("web-1", spec))]
        self.check(everything, [], config)
        without = self.check(everything[:-1], [f"{kind} shop/{name} is an orphan: nothing refers to it" for kind in ("ConfigMap", "Secret") for name in "abcde"]
                             + ["PersistentVolumeClaim shop/a is an orphan: nothing refers to it"], config)
        self.assertEqual(without.series["orphan_finder_orphans", ("kind", "Secret"), ("namespace", "shop")], 5)

        elsewhere = pod("web-1", spec)
        elsewhere["metadata"]["namespace"] = "elsewhere"
        self.check([(CONFIG_MAPS, named("a")), ("v1/pods", elsewhere)], ["ConfigMap shop/a is an orphan: nothing refers to it"])

    def test_what_is_scaled_to_nothing_refers_too(self):
        spec = {"containers": [{"envFrom": [{"configMapRef": {"name": "a"}}]}]}
        template = {"metadata": {"labels": {"app": "web", "tier": "front"}}, "spec": spec}
        service = {**named("web"), "spec": {"selector": {"app": "web"}}}
        config_map = (CONFIG_MAPS, named("a"))
        for resource in ("apps/v1/deployments", "apps/v1/statefulsets", "apps/v1/daemonsets"):
            self.check([config_map, (SERVICES, service), (resource, deployment("web", template))], [])
        cron_job = {**named("night"), "spec": {"jobTemplate": {"spec": {"template": template}}}}
        self.check([config_map, (SERVICES, service), ("batch/v1/cronjobs", cron_job)], [])
        cron_job["metadata"]["namespace"] = "elsewhere"
        self.check([config_map, (SERVICES, service), ("batch/v1/cronjobs", cron_job)], [
            "ConfigMap shop/a is an orphan: nothing refers to it", "Service shop/web is an orphan: no pod has its labels app=web",
        ])

    def test_claims_of_a_stateful_set_are_its_own(self):
        database = deployment("db", {}, volumeClaimTemplates=[{"metadata": {"name": "data"}}])
        names = ["data-db-0", "data-db-12", "data-db-x", "data-other-0"]
        self.check([*((CLAIMS, named(name)) for name in names), ("apps/v1/statefulsets", database)], [
            f"PersistentVolumeClaim shop/{name} is an orphan: nothing refers to it" for name in ("data-db-x", "data-other-0")
        ])

    def test_services_without_pods_are_orphans_and_those_that_select_nothing_are_not(self):
        web = {**named("web"), "spec": {"selector": {"app": "web"}}}
        objects = [
            (SERVICES, web),
            (SERVICES, {**named("external"), "spec": {"type": "ExternalName"}}),
            (SERVICES, {**named("by-hand"), "spec": {"selector": {}}}),
        ]
        self.check(objects, ["Service shop/web is an orphan: no pod has its labels app=web"])
        self.check([*objects, ("v1/pods", pod("web-1", {}, {"app": "web", "x": "y"}))], [])

    def test_replica_sets_of_deployments_that_are_gone(self):
        def replica_set(name, uid, kind="Deployment", group="apps/v1"):
            owner = {"apiVersion": group, "kind": kind, "name": "web", "uid": uid, "controller": True}
            return "apps/v1/replicasets", named(name, ownerReferences=[owner])

        objects = [
            replica_set("web-1", "uid-of-web"), replica_set("web-2", "another"), replica_set("web-3", "x", "Rollout", "argoproj.io/v1alpha1"),
            ("apps/v1/replicasets", named("by-hand")), ("apps/v1/deployments", deployment("web", {})),
        ]
        self.check(objects, ["ReplicaSet shop/web-2 is an orphan: its Deployment web is gone"])

    def test_what_is_left_alone(self):
        config = {"excludeNames": ["tmp-*"], "excludeLabels": ["keep", "team=core"], "excludeNamespaces": ["infra-*"], "secrets": True}
        objects = [
            (CONFIG_MAPS, named("kube-root-ca.crt")),
            (CONFIG_MAPS, named("tmp-1")),
            (CONFIG_MAPS, named("a", "infra-1")),
            (CONFIG_MAPS, named("b", labels={"keep": "whatever"})),
            (CONFIG_MAPS, named("c", labels={"team": "core"})),
            (CONFIG_MAPS, named("d", labels={"grafana_dashboard": "1"})),
            (CONFIG_MAPS, named("e", annotations={"informant.dev/orphan-finder": "off"})),
            (CONFIG_MAPS, named("f", ownerReferences=[{"kind": "Widget", "name": "w", "uid": "1"}])),
            (SECRETS, named("sh.helm.release.v1.web.v1")),
            (SECRETS, named("token", annotations={"kubernetes.io/service-account.name": "default"})),
            (SECRETS, named("pull")),
            (SECRETS, named("tls")),
            ("v1/serviceaccounts", {**named("default"), "imagePullSecrets": [{"name": "pull"}]}),
            ("networking.k8s.io/v1/ingresses", {**named("web"), "spec": {"tls": [{"secretName": "tls"}]}}),
        ]
        self.check(objects, [], config)
        self.check([(CONFIG_MAPS, named("c", labels={"team": "other"}))], ["ConfigMap shop/c is an orphan: nothing refers to it"], config)

    def test_what_is_young_is_waited_for(self):
        objects = [(CONFIG_MAPS, named("a"))]
        self.check(objects, [], {"minimumAge": "2h"}, now=NOW - 1)
        self.check(objects, ["ConfigMap shop/a is an orphan: nothing refers to it"], {"minimumAge": "2h"})

    def test_nothing_is_told_twice_and_what_was_used_again_is_told_anew(self):
        a, line = (CONFIG_MAPS, named("a")), "ConfigMap shop/a is an orphan: nothing refers to it"
        user = pod("web-1", {"volumes": [{"configMap": {"name": "a"}}]})
        host = self.check([a], [line])
        self.check([], [], host=host)
        host = self.check([], [], host=Host(app, before=host))
        self.check([("v1/pods", user)], [], host=host)
        series = ("orphan_finder_orphans", ("kind", "ConfigMap"), ("namespace", "shop"))
        self.assertEqual((host.series[series], host.series["orphan_finder_orphans_of_all_namespaces", ("kind", "ConfigMap")]), (0, 0))
        host.put("v1/pods", pod("web-1", {}))
        self.check([], [line], host=host)
        self.assertEqual((host.series[series], host.series["orphan_finder_last_look_seconds",]), (1, NOW))

    def test_gauges_are_set_again_between_looks(self):
        host = Host(app, {"every": "6h"})
        self.assertEqual([schedule["every"] for schedule in host.descriptor["schedules"]], ["6h", "20m"])
        self.assertIsNone(host.fire("measure", NOW))
        self.assertEqual(host.series, {}, "there was no look yet")
        host = self.check([(CONFIG_MAPS, named("a"))], ["ConfigMap shop/a is an orphan: nothing refers to it"], host=host)
        set_by_look = dict(host.series)
        # The host drops a series that nobody sets for an hour. A new version sets them, too.
        for host in (host, Host(app, {"every": "6h"}, before=host)):
            host.series.clear()
            self.assertIsNone(host.fire("measure", NOW + 1200))
            self.assertEqual(host.series, set_by_look)

    def test_lines_names_and_series_are_bounded(self):
        self.addCleanup(setattr, app, "TOLD_MAX", app.TOLD_MAX)
        app.TOLD_MAX = 150
        namespaces = app.NAMESPACES_MAX + 5
        host = Host(app)
        for number in range(namespaces):
            for name in ("a", "b") if number < 100 else ("a",):
                host.put(CONFIG_MAPS, named(name, f"n-{number}"))
        self.assertIsNone(host.fire("look", NOW))
        self.assertEqual((len(host.lines), host.lines[-1]), (101, "INFO 105 more of kind ConfigMap are orphans kind=ConfigMap"))
        self.assertEqual(host.series[app.ORPHANS, ("kind", "ConfigMap"), ("namespace", app.OTHERS)], 5)
        own = [series for series in host.series if series[0] == app.ORPHANS]
        self.assertEqual(len(own), app.NAMESPACES_MAX + 1)
        self.assertIsNone(host.fire("look", NOW))
        self.assertEqual((len(host.lines), host.lines[-1]), (152, "INFO 55 more of kind ConfigMap are orphans kind=ConfigMap"))
        self.assertIsNone(host.fire("look", NOW))
        self.assertEqual((len(host.lines), host.lines[-1]), (153, "INFO 55 more of kind ConfigMap are orphans kind=ConfigMap"))

    def test_secrets_are_read_where_that_is_said(self):
        def reads(config):
            return [read["resource"] for read in Host(app, config).descriptor["reads"]]

        self.assertNotIn(SECRETS, reads({}))
        self.assertIn(SECRETS, reads({"secrets": True}))
        self.assertEqual(len(Host(app, {"secrets": True}).descriptor["indexes"]), 16)

    def test_settings_are_within_their_bounds(self):
        for config in [{"minimumAge": "2160h"}, {"excludeNames": ["a"] * settings.LIST_MAX}, {"every": "30s"}]:
            Host(app, config)
        for config, word in [
            ({"minimumAge": "2161h"}, "minimumAge"), ({"minimumAge": 5}, "minimumAge"), ({"every": "soon"}, "every"), ({"secrets": "yes"}, "secrets"),
            ({"excludeNames": ["a"] * (settings.LIST_MAX + 1)}, "excludeNames"), ({"excludeLabels": [1]}, "excludeLabels"), ({"exclude": []}, "exclude"),
        ]:
            with self.assertRaises(Err) as failed:
                Host(app, config)
            self.assertIn(f"`{word}` is", failed.exception.value)
