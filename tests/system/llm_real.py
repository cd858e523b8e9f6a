#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A real server, llama.cpp's, with a tiny random model: finds differences between its HTTP and
errors and those of our own endpoint. It is downloaded when the part runs; skipped if it is not
available."""

import glob
import http.client
import json
import os
import socket
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
LLM = os.path.join(os.path.dirname(HERE), "llm")
sys.path[:0] = [HERE, LLM]

from llmlib import asking, tiny_gguf  # noqa: E402
from llmlib.asking import KEY, NOBODY  # noqa: E402
from syslib.machine import until  # noqa: E402
from syslib.part import SKIP, Part, check, equal  # noqa: E402

part = Part(__doc__)
CONTEXT = 4096
FETCH_S, START_S, LIMIT_S = 150, 60, 60
MAX_TOKENS = "400"
# Enumerated strings only: random output in a free string does not end within the allowed tokens.
SCHEMA = {"type": "object",
          "properties": {"finding": {"enum": ["F1", "F2", "F3"]},
                         "evidence": {"type": "array", "items": {"enum": ["E1", "E2"]},
                                      "minItems": 1, "maxItems": 2}},
          "required": ["finding", "evidence"], "additionalProperties": False}


class World(asking.World):
    """The server; if there is none, this part ends as one skip."""

    def __init__(self, args, work, stack):
        super().__init__(args, work, stack)
        why = self.fetch() or self.begin(stack)
        if why:
            print(f"skipped: {why}", flush=True)
            sys.exit(SKIP)

    def fetch(self):
        """Why it is not available, or None."""
        try:
            done = subprocess.run([os.path.join(LLM, "get_server"), self.work], timeout=FETCH_S,
                                  capture_output=True, text=True, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return f"fetching llama.cpp took more than {FETCH_S} s"
        return (done.stdout + done.stderr).strip() if done.returncode else None

    def command(self, port):
        """By the loader and the libraries downloaded with it; None: another layout."""
        libraries = glob.glob(f"{self.work}/root/usr/lib/*-linux-gnu")
        loaders = glob.glob(f"{self.work}/root/usr/lib*/ld-linux-*.so*") + \
            glob.glob(f"{self.work}/root/usr/lib/*/ld-linux-*.so*")
        server = f"{self.work}/root/usr/bin/llama-server"
        if not libraries or not loaders or not os.path.exists(server):
            return None
        at = libraries[0]
        path = ":".join([at, f"{at}/llama", f"{at}/ggml/backends0"])
        return ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups",
                loaders[0], "--library-path", path, server, "-m", self.path("tiny.gguf"), "--host",
                "127.0.0.1", "--port", str(port), "--api-key", KEY, "-c", str(CONTEXT), "-np", "1",
                "-t", "2"]

    def backend(self):
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as f:
            name = "haswell" if " avx2 " in f.read() else "x64"
        found = glob.glob(f"{self.work}/root/usr/lib/*/ggml/backends*/libggml-cpu-{name}.so")
        return {"GGML_BACKEND_PATH": found[0]} if found else {}

    def begin(self, stack):
        tiny_gguf.write(self.path("tiny.gguf"), context=CONTEXT)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        command = self.command(self.port)
        if not command:
            return "the packages hold no llama-server where it was"
        with open(self.path("server.log"), "wb") as log:
            self.server = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.work,
                                           stdin=subprocess.DEVNULL,
                                           env={"PATH": "/usr/bin:/bin", "HOME": self.work,
                                                **self.backend()})
        stack.callback(self.server.wait)
        stack.callback(self.server.kill)
        try:
            until(lambda: self.server.poll() is not None or self.healthy(), "the server", START_S)
        except RuntimeError:
            return f"llama-server is not ready after {START_S} s"
        if self.server.poll() is not None:
            with open(self.path("server.log"), encoding="utf-8", errors="replace") as log:
                last = log.read().strip().splitlines()[-1:] or ["silent"]
            return f"llama-server does not run here ({self.server.returncode}): {last[0]}"
        return None

    def healthy(self):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=2)
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        except OSError:
            return False

    def real(self, *options, key=KEY, schema=None, tail="/v1", api="openai"):
        schema = SCHEMA if schema is None else schema
        return self.ask_url(f"http://127.0.0.1:{self.port}{tail}", "--api", api, "--schema",
                            json.dumps(schema), "--max-tokens", MAX_TOKENS,
                            *options, key=key, limit=LIMIT_S)


def judge(said):
    equal(f"outcome ({said['reason']})", said["outcome"], "answered")
    answer = json.loads(said["text"])
    equal("names", set(answer), {"finding", "evidence"})
    check(answer["finding"] in ("F1", "F2", "F3"), f"{answer}")
    check(answer["evidence"] and set(answer["evidence"]) <= {"E1", "E2"}, f"{answer}")
    check(0 < said["tokens_in"] < CONTEXT and 0 < said["tokens_out"] <= int(MAX_TOKENS), f"{said}")
    equal("attempts", said["attempts"], 1)


@part.case
def whole(world, _):
    """The answer follows the schema each time."""
    for _ in range(3):
        judge(world.real())


@part.case
def wrong_key(world, _):
    for key in (None, "sk-wrong-0123456789"):
        said = world.real(key=key)
        equal("outcome", (said["outcome"], said["attempts"]), ("refused", 1))
        check("401" in said["reason"], said["reason"])


@part.case
def too_long(world, _):
    path = world.file("prompt", "page cache " * CONTEXT, mode=0o644)
    said = world.real("--user-file", path)
    equal("outcome", (said["outcome"], said["too_long"], said["attempts"]), ("refused", True, 1))
    check("too long" in said["reason"], said["reason"])


@part.case
def unsupported_schema(world, _):
    """Refused once, with the option that helps. With that option any JSON object is requested,
    which random output may not end: cut, and not read."""
    schema = {"type": "no-such-type"}
    said = world.real(schema=schema)
    equal("refused", (said["outcome"], said["attempts"]), ("refused", 1))
    check("--llm-json object" in said["reason"], said["reason"])
    said = world.real("--json", "object", schema=schema)
    check(said["outcome"] in ("answered", "broken"), f"{said}")
    part.note(f"any object: {said['attempts']} attempts, {said['outcome']}: {said['reason'] or 'a text'}")


@part.case
def cut_at_max_tokens(world, _):
    said = world.real("--max-tokens", "3")
    equal("outcome", (said["outcome"], said["text"]), ("broken", None))
    check("max_tokens (3)" in said["reason"], said["reason"])


@part.case
def messages(world, _):
    """The server's version of the other API accepts our request, but does not enforce a schema."""
    said = world.real(api="anthropic", tail="")
    check(said["outcome"] in ("answered", "broken"), f"{said}")
    check(said["outcome"] == "answered" or "max_tokens" in said["reason"], said["reason"])


if __name__ == "__main__":
    sys.exit(part.main(World))
