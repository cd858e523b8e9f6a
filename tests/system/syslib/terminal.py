# SPDX-License-Identifier: BSD-2-Clause
"""A terminal in tmux with a plain shell: sends keys and reads the screen."""

import os
import subprocess
import time

from .machine import run, until

SHELL = ["dash"]  # one that does not change the modes of the terminal


class Terminal:
    def __init__(self, stack, work, columns, rows, **env):
        Terminal.serial = getattr(Terminal, "serial", 0) + 1
        self.socket = os.path.join(work, f"tmux.{Terminal.serial}")
        self.columns, self.rows = columns, rows
        wanted = {"LC_ALL": "C.UTF-8", "PS1": "$ ", "TZ": "UTC", "ENV": "", **env}
        words = [f"{name}={value}" for name, value in wanted.items()]
        # Some variables must be absent.
        run("tmux", "-u", "-S", self.socket, "-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y",
            str(rows), "env", "-u", "NO_COLOR", "-u", "COLUMNS", "-u", "LINES", *words, *SHELL, "-i")
        stack.callback(subprocess.run, ["tmux", "-S", self.socket, "kill-server"], stderr=subprocess.DEVNULL,
                       check=False)
        self.tmux("set-option", "-g", "status", "off")
        self.resize(columns, rows)
        self.wait_for("$")
        self.type("ulimit -c 0; cd " + work)

    def tmux(self, *words):
        return run("tmux", "-S", self.socket, *words)

    def keys(self, *names):
        """tmux names: Enter, Left, PageDown, or text."""
        self.tmux("send-keys", *names)

    def type(self, line):
        self.tmux("send-keys", "-l", line)
        self.keys("Enter")

    def screen(self, escapes=False):
        done = subprocess.run(["tmux", "-S", self.socket, "capture-pane", "-p", *(["-e"] if escapes else [])],
                              capture_output=True, text=True, check=True)
        return done.stdout

    def lines(self):
        return self.screen().split("\n")[:self.rows]

    def wait(self, condition, what, seconds=30):
        """Waits for the wanted screen, and returns it."""
        try:
            return until(lambda: (screen := self.screen()) and condition(screen) and screen, what, seconds)
        except RuntimeError as e:
            raise RuntimeError(f"{e}; the screen:\n{self.screen()}") from None

    def wait_for(self, text):
        return self.wait(lambda screen: text in screen, f"'{text}' on the screen")

    def settled(self, seconds=30):
        """A screen that no longer changes."""
        end = time.monotonic() + seconds
        last = self.screen()
        while time.monotonic() < end:
            time.sleep(0.3)
            now = self.screen()
            if now == last:
                return now
            last = now
        raise RuntimeError(f"the screen does not settle:\n{last}")

    def resize(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def shell(self):
        return int(self.tmux("display-message", "-p", "#{pane_pid}"))

    def modes(self):
        """(alternate screen, cursor visible, keypad in application mode)"""
        return self.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag} #{keypad_cursor_flag}")

    def child(self, name="cachemon"):
        """The program that the shell runs."""
        def found():
            done = subprocess.run(["pgrep", "-P", str(self.shell()), "-x", name], capture_output=True, text=True,
                                  check=False)
            return done.stdout.split()
        return int(until(found, f"a process {name}")[0])
