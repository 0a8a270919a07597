"""What the plugin says of pods."""

import unittest

from informant_testing import Host

import app

POD = {"metadata": {"namespace": "default", "name": "web"}}


class Greetings(unittest.TestCase):
    def test_every_pod_is_greeted(self):
        host = Host(app, {"greeting": "good morning"})
        self.assertIsNone(host.add("v1/pods", POD))
        self.assertIsNone(host.delete("v1/pods", POD))
        expect = ["INFO good morning change=added pod=default/web", "INFO good morning change=deleted pod=default/web"]
        self.assertEqual(host.lines, expect)
