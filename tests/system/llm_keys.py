#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The key of a model's endpoint: where it may come from, where it goes, and that it is in nothing
that is kept or shown; and what is kept, for whom."""

import json
import os
import re
import stat
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
    """From a variable or a file that is the user's alone; sent in one header; masked where it comes
    back."""
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
    for text in ("", "\n", "sk-first\nInjected: yes", "sk-\x01", "sk a", "k" * 5000):
        path = world.file("bad-key", text, mode=0o600, owner=NOBODY)
        said = world.ask(world.server, "ok", "--key-file", path, key=None, attempts=0)
        equal(repr(text[:20]), said["outcome"], "not_allowed")
        if text.strip():
            check(text.split()[0] not in said["reason"], "the reason tells the key")
    said = world.ask(world.server, "ok", key="a\r\nX: y", attempts=0)
    equal("a key with a line's end", said["outcome"], "not_allowed")
    # The vendors' variables are theirs alone.
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        equal(name, world.ask(world.server, "ok", key=None, env={name: KEY})["outcome"], "answered")


@part.case
def key_comes_back(world, _):
    """A server that tells the key, in headers, errors or the answer: it is in nothing that is kept
    or shown."""
    for api in APIS:
        for name, outcome in (("s401_echo", "refused"), ("s401_escaped", "refused"), ("s200_echo", "answered")):
            kept = world.fresh_dir()
            said = world.ask(world.server, name, "--save", kept, api=api)
            equal(name, said["outcome"], outcome)
            files = world.saved(kept)
            check(any(b"*" * len(KEY) in text for text in files.values()), "nothing is masked")
            for file, text in files.items():
                check(KEY.encode() not in text, f"{file} holds the key")
                check(not re.search(rb"\\u0073\\u006b", text), f"{file} holds the key, escaped")
        equal("text", json.loads(said["text"])["text"], "*" * len(KEY))
        said = world.ask(world.server, "s200_echo", api=api, stream=True)
        equal("pieces", json.loads("".join(said["pieces"]))["text"], "*" * len(KEY))


@part.case
def saved(world, _):
    """Each attempt's bytes, for their owner only; a second run writes over none of the first."""
    kept = os.path.join(world.fresh_dir(), "new")
    first = world.ask(world.server, "s429_once", "--save", kept)
    second = world.ask(world.server, "cut_length", "--save", kept)
    equal("mode and owner of the directory", (stat.S_IMODE(os.stat(kept).st_mode),
                                              os.stat(kept).st_uid), (0o700, NOBODY))
    files = world.saved(kept)
    want = {f"{run}/attempt-{n}-{what}" for run, tries in (("run-1", 2), ("run-2", 3))
            for n in range(1, tries + 1) for what in ("request.json", "headers", "response")}
    equal("files", set(files), want)
    for name in files:
        st = os.stat(os.path.join(kept, name))
        equal(f"mode and owner of {name}", (stat.S_IMODE(st.st_mode), st.st_uid), (0o600, NOBODY))
        check(KEY.encode() not in files[name], f"{name} holds the key")
    for run, said in (("run-1", first), ("run-2", second)):
        for n, x in enumerate(said["requests"], 1):
            equal("request", files[f"{run}/attempt-{n}-request.json"], x.request.body)
            check(files[f"{run}/attempt-{n}-headers"].startswith(b"HTTP/1.1 %d " % x.status),
                  "headers")
    check(json.loads(files["run-1/attempt-2-response"])["choices"], "the answer")
    check(b'"id"' in files["run-2/attempt-3-response"], "the half of an answer")
    said = world.ask(world.server, "ok", "--save", "/proc/nowhere")
    equal("where nothing can be kept", said["outcome"], "answered")
    check("nothing is kept" in said["warning"], said["warning"])


if __name__ == "__main__":
    sys.exit(part.main(World))
