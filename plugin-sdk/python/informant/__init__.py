"""Informant plugins in Python: what a plugin says of itself, and how the host hears of it.

What the host promises is written in the contract, plugin-sdk/wit.
"""

import logging as _logging
import sys as _sys

from ._event import Event
from ._failure import After, HostError, Never
from ._log import LogHandler as _LogHandler
from ._plugin import Plugin, exports

__all__ = ["After", "Event", "HostError", "Never", "Plugin", "exports"]

_logging.basicConfig(level=_logging.DEBUG, handlers=[_LogHandler()], force=True)

# What is printed is a line of the log when it is one, not when a buffer is full.
for _stream in (_sys.stdout, _sys.stderr):
    if hasattr(_stream, "reconfigure"):
        _stream.reconfigure(line_buffering=True)
