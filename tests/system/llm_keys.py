#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The key of an endpoint: where it may come from, where it is sent, and that it is never shown."""

import json
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "llm")]

from llmlib import asking  # noqa: E402
from llmlib.asking import KEY, NOBODY  # noqa: E402
from llmlib.server import Server  # noqa: E402
from syslib.part import Part, check, equal  # noqa: E402

part = Part(__doc__)
APIS = ("openai", "anthropic")


class World(asking.World):
    def __init__(self, args, work, stack):
        super().__init__(args, work, stack)
        self.server = self.serve(stack, Server())


@part.case
def keys(world, _):
    """From a variable or a file that only the user can read; sent in one header; masked in
    replies."""
    path = world.file("key", f" {KEY}\n", mode=0o600, owner=NOBODY)
    for api in APIS:
        said = world.ask(world.server, "ok", "--key-file", path, api=api, key=None, sent=True)
        equal("by a file", said["outcome"], "answered")
    for mode, owner, words in ((0o640, NOBODY, "chmod 600"), (0o604, NOBODY, "chmod 600"),
                               (0o600, 0, "Permission denied"), (0o644, 0, "belongs to user 0")):
        os.chmod(path, mode)
        os.chown(path, owner, owner)
        said = world.ask(world.server, "ok", "--key-file", path, key=None, attempts=0)
        equal(f"{mode:o} of {owner}", said["outcome"], "not_allowed")
        check(words in said["reason"], said["reason"])
    fifo = world.path("fifo")
    os.mkfifo(fifo, 0o600)
    os.chown(fifo, NOBODY, NOBODY)
    for bad in ("/nonexistent", world.work, fifo, "/dev/zero"):
        said = world.ask(world.server, "ok", "--key-file", bad, key=None, attempts=0)
        equal(bad, said["outcome"], "not_allowed")
    for text in ("", "\n", "sk-first\nInjected: yes", "sk-\x01", "sk-first second", "k" * 5000):
        path = world.file("bad-key", text, mode=0o600, owner=NOBODY)
        said = world.ask(world.server, "ok", "--key-file", path, key=None, attempts=0)
        equal(repr(text[:20]), said["outcome"], "not_allowed")
        if text.strip():
            check(text.split()[0] not in said["reason"], "the reason tells the key")
    said = world.ask(world.server, "ok", key="a\r\nX: y", attempts=0)
    equal("a key with a line's end", said["outcome"], "not_allowed")
    # The variables of a vendor are used for that vendor only.
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        equal(name, world.ask(world.server, "ok", key=None, env={name: KEY})["outcome"], "answered")


@part.case
def key_comes_back(world, _):
    """A server that repeats the key, in errors or the answer: it is never shown."""
    for api in APIS:
        for name, outcome in (("s401_echo", "refused"), ("s401_escaped", "refused"), ("s200_echo", "answered")):
            said = world.ask(world.server, name, api=api)
            equal(name, said["outcome"], outcome)
            check("*" * len(KEY) in (said["text"] or "") + said["reason"], "nothing is masked")
        equal("text", json.loads(said["text"])["text"], "*" * len(KEY))


if __name__ == "__main__":
    sys.exit(part.main(World))
