"""The warnings, and the times of the next calls."""

import unittest

from informant_testing import Host

import app


def web(available):
    return {"metadata": {"namespace": "shop", "name": "web"}, "spec": {"replicas": 3}, "status": {"availableReplicas": available}}


class Warnings(unittest.TestCase):
    def test_unavailable_replicas_are_warned_of_again(self):
        host = Host(app)
        host.add(app.DEPLOYMENTS, web(1))
        self.assertEqual(host.reconcile(), {"shop/web": 30_000})
        host.wait(30_000)
        self.assertEqual(host.keys, ["shop/web"])
        host.update(app.DEPLOYMENTS, web(1), web(3))
        self.assertEqual(host.reconcile(), {})
        host.delete(app.DEPLOYMENTS, web(3))
        self.assertEqual(host.reconcile(), {})
        self.assertEqual(host.lines, ["WARN replicas are unavailable deployment=shop/web available=1 of 3"])
