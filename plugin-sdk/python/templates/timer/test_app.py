"""The count of pending pods."""

import unittest

from informant_testing import Host

import app


class Counts(unittest.TestCase):
    def test_pending_pods_are_counted(self):
        host = Host(app)
        for name, phase in [("a", "Pending"), ("b", "Running"), ("c", "Pending")]:
            host.put(app.PODS, {"metadata": {"namespace": "shop", "name": name}, "status": {"phase": phase}})
        self.assertIsNone(host.fire("minute"))
        self.assertEqual(host.lines, ["INFO pending pods count=2"])
        self.assertEqual(host.series["pending_pods",], 2)
