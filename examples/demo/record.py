#!/usr/bin/env python3
"""Records the demo as an animated SVG: `make recording` runs this with pyte installed.

Two shells run in pseudo-terminals: the upper one runs `make demo`, the lower one changes the plugin and runs
`make demo-plugin`. The picture shows the output of these two sessions as it was, from the first event on. Only
waiting is cut.
"""

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

import pyte

from picture import picture

COLUMNS = 100
ROWS = {"demo": 27, "edit": 5}
TITLES = ["make demo (the first build takes minutes)", "another terminal: changes the plugin and builds it"]
# A pause longer than this is cut to it, in seconds.
PAUSE_MAX = 2.2
# Between two frames, in seconds: more often nobody can read.
FRAME = 0.12
TYPING = 0.02
# Of a wait for the compiler, in seconds: the rest is cut.
BUILD_MAX = 1.5


class Shell:
    """A shell in a pseudo-terminal, and its screen."""

    def __init__(self, rows, directory):
        self.screen = pyte.Screen(COLUMNS, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.text = ""
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            environment = dict(os.environ, TERM="xterm-256color", PS1="$ ", HISTFILE="/dev/null")
            for variable in ("NO_COLOR", "CLICOLOR", "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "CARGO_TARGET_DIR"):
                environment.pop(variable, None)
            # Without code of earlier hosts: loads take the time that they take a newcomer.
            environment["XDG_CACHE_HOME"] = os.path.join(directory, "target", "cache")
            os.chdir(directory)
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], environment)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, COLUMNS, 0, 0))

    def read(self):
        """Takes what there is to read; whether there was anything."""
        try:
            data = os.read(self.terminal, 65536)
        except OSError:
            return False
        # pyte knows no dim text; the session has no italics.
        self.stream.feed(data.replace(b"\x1b[2m", b"\x1b[3m"))
        self.text += data.decode(errors="replace")
        return bool(data)

    def rows(self):
        """The screen, a list of runs (text, colour, bold, dim) for each row."""
        return [runs(self.screen.buffer[row]) for row in range(self.screen.lines)]

    def end(self):
        os.kill(self.pid, signal.SIGHUP)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)


def runs(cells):
    """Neighbouring cells of one style as one run, without blanks at the end."""
    result = []
    for column in range(COLUMNS):
        cell = cells[column]
        style = (cell.fg, cell.bold, cell.italics)
        if result and result[-1][1] == style:
            result[-1][0] += cell.data
        else:
            result.append([cell.data, style])
    while result and not result[-1][0].strip():
        result.pop()
    if result:
        result[-1][0] = result[-1][0].rstrip()
    return tuple((text, style) for text, style in result)


class Recording:
    """The frames of both shells: (seconds, rows)."""

    def __init__(self, directory):
        self.shells = {name: Shell(rows, directory) for name, rows in ROWS.items()}
        self.frames = []
        self.clock = 0.0
        self.is_on = False

    def run(self, until, deadline, shown):
        """Runs until the condition holds, and records so many seconds of it at most."""
        begin = time.monotonic()
        on = self.is_on
        while not until():
            self.is_on = on and time.monotonic() - begin < shown
            if time.monotonic() - begin > deadline:
                tail = {name: "\n".join(shell.screen.display) for name, shell in self.shells.items()}
                sys.exit("record: the session did not go on within %d s; the screens:\n%s\n%s" % (
                    deadline, tail["demo"], tail["edit"]))
            self.step(FRAME)
        self.is_on = on

    def step(self, seconds):
        """Reads for this time, then takes a frame if the recording is on."""
        end = time.monotonic() + seconds
        terminals = {shell.terminal: shell for shell in self.shells.values()}
        while (left := end - time.monotonic()) > 0:
            for terminal in select.select(list(terminals), [], [], left)[0]:
                terminals[terminal].read()
        if not self.is_on:
            return
        self.clock += seconds
        rows = tuple(tuple(shell.rows()) for shell in self.shells.values())
        if not self.frames or self.frames[-1][1] != rows:
            self.clock = min(self.clock, self.frames[-1][0] + PAUSE_MAX) if self.frames else 0.0
            self.frames.append((self.clock, rows))

    def rest(self, seconds):
        """A pause that stays in the recording, for reading."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.step(FRAME)

    def type(self, name, text):
        for character in text:
            os.write(self.shells[name].terminal, character.encode())
            self.step(TYPING)
        self.step(0.3)
        os.write(self.shells[name].terminal, b"\r")

    def wait(self, name, text, deadline, shown=60.0):
        """Runs until the shell has written the text, from now on, and records so many seconds of it at most."""
        shell = self.shells[name]
        begin = len(shell.text)
        self.run(lambda: text in shell.text[begin:], deadline, shown)


def session(recording):
    """What is shown: the running demo, a change of the plugin, the reload, the summary."""
    recording.step(0.5)
    recording.type("demo", "make demo")
    recording.wait("demo", "(initial)", 3600)
    recording.is_on = True
    # On a busy machine the plugin is loaded later.
    recording.run(lambda: "added" in recording.shells["demo"].text, 120, 60.0)
    recording.rest(3)
    edit = "sed -i 's/{} pod {}/{} POD {}/' plugins/event-printer/src/lib.rs && make demo-plugin"
    recording.type("edit", edit)
    recording.wait("demo", "reloaded in", 600, BUILD_MAX)
    recording.wait("demo", " POD ", 120)
    recording.rest(8)
    os.write(recording.shells["demo"].terminal, b"\x03")
    recording.wait("demo", "informant dev hello", 60)
    recording.step(0.5)
    for shell in recording.shells.values():
        shell.end()


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: record.py CHECKOUT PICTURE.svg")
    checkout, path = sys.argv[1:]
    recording = Recording(checkout)
    session(recording)
    svg = picture(recording.frames, list(ROWS.values()), COLUMNS, TITLES)
    with open(path, "w", encoding="utf-8") as file:
        file.write(svg)
    seconds, size = recording.frames[-1][0], len(svg.encode()) // 1000
    print(f"wrote {path}: {seconds:.0f} s, {len(recording.frames)} frames, {size} kB")


main()
