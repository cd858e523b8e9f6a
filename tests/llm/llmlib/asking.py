# SPDX-License-Identifier: BSD-2-Clause
"""llm_ask from outside: started as a user or by root for one, and the checks of every result."""

import json
import os
import shutil
import subprocess
import time

from syslib.part import Failed, check, equal

NOBODY = 65534
SUDO = {"SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY)}
KEY = "sk-test-0123456789abcdefABCDEF"
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"],
          "additionalProperties": False}
SCHEMA_TEXT = json.dumps(json.dumps(SCHEMA, separators=(",", ":")))[1:-1]
REASON_MAX = 500
LIMIT_S = 20
SLACK_S = 1.5  # of two busy CPUs, to start and end processes
OUTCOMES = {"answered", "not_configured", "not_allowed", "unreachable", "refused", "broken",
            "declined"}


class World:
    def __init__(self, args, work, stack):
        self.work = work
        self.number = 0
        build = os.environ.get("CACHEMON_BUILD") or \
            os.path.dirname(os.path.dirname(args.cachemon))
        built = os.path.join(build, "tests", "llm", "llm_ask")
        if not os.path.exists(built):
            raise Failed(f"{built} is not there: build it (target llm_ask)")
        # In a place where any user may run it.
        self.program = os.path.join(work, "llm_ask")
        shutil.copy(built, self.program)
        os.chmod(self.program, 0o755)

    def serve(self, stack, listener):
        stack.callback(listener.stop)
        return listener

    def path(self, name):
        return os.path.join(self.work, name)

    def directory(self, name):
        os.mkdir(self.path(name))
        os.chmod(self.path(name), 0o755)
        return self.path(name)

    def file(self, name, text, mode, owner=0):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(self.path(name), mode)
        os.chown(self.path(name), owner, owner)
        return self.path(name)

    def environment(self, env=None, key=KEY):
        return {"PATH": "/usr/bin:/bin", **SUDO, **({"CACHEMON_LLM_KEY": key} if key else {}),
                **(env or {})}

    def run(self, options, env=None, key=KEY, prefix=(), timeout=180):
        return subprocess.run([*prefix, self.program, *options], capture_output=True, text=True,
                              errors="surrogateescape", stdin=subprocess.DEVNULL, timeout=timeout,
                              env=self.environment(env, key))

    def start(self, options, env=None, key=KEY, prefix=(), pass_fds=()):
        return subprocess.Popen([*prefix, self.program, *options], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                stdin=subprocess.DEVNULL, pass_fds=pass_fds,
                                env=self.environment(env, key))

    def ask_url(self, url, *options, limit=LIMIT_S, stall=None, **kwargs):
        """The result, after the checks that all results need."""
        times = ["--limit", str(int(limit * 1000))]
        times += ["--stall", str(int(stall * 1000))] if stall else []
        began = time.monotonic()
        done = self.run(["--url", url, "--model", "m", *times, *options], **kwargs)
        wall = time.monotonic() - began
        check(done.returncode == 0 and not done.stderr, f"{url}: {done}")
        equal("lines", done.stdout.count("\n"), 1)
        said = json.loads(done.stdout)
        said["wall"] = wall
        self.judge(said, done.stdout, limit)
        return said

    def judge(self, said, line, limit):
        reason = said["reason"]
        check(said["outcome"] in OUTCOMES, f"outcome {said['outcome']}")
        equal("there is a text where there is an answer", said["text"] is not None,
              said["outcome"] == "answered")
        equal("there is a reason where there is none", bool(reason), said["outcome"] != "answered")
        check(len(reason.encode("utf-8", "surrogateescape")) <= REASON_MAX + 3,
              f"too much is said: {reason}")
        check(reason.isprintable(), f"the reason acts: {reason!r}")
        check(said["warning"].isprintable(), f"the warning acts: {said['warning']!r}")
        check(KEY not in line, "the key is told")
        check(said["wall"] <= limit + SLACK_S, f"took {said['wall']:.1f} s of {limit}")

    def url_of(self, server, name, api, host):
        self.number += 1
        name = f"{name}~{self.number}"
        return name, server.url(name, host, "" if api == "anthropic" else "/v1")

    def body(self, server, api):
        """The output of --body."""
        _, url = self.url_of(server, "ok", api, "127.0.0.1")
        done = self.run(["--url", url, "--model", "m", "--api", api, "--body"])
        equal("status", done.returncode, 0)
        return done.stdout.encode()

    def ask(self, server, name, *options, api="openai", attempts=None, sent=None,
            host="127.0.0.1", key=KEY, **kwargs):
        """For a case of the server. attempts: that many requests arrived, all valid; sent:
        whether they had the key."""
        name, url = self.url_of(server, name, api, host)
        said = self.ask_url(url, "--api", api, *options, key=key, **kwargs)
        said["requests"] = server.of(name)
        equal("trouble of the server", server.troubles, [])
        if attempts is not None:
            equal(f"{name}: requests", len(said["requests"]), attempts)
        if attempts != 0:
            equal(f"{name}: attempts", said["attempts"], len(said["requests"]))
        for x in said["requests"]:
            self.judge_request(x, api, key is not None if sent is None else sent)
        return said

    def judge_request(self, x, api, with_key):
        equal("faults of the request", x.errors, [])
        name, want = ("x-api-key", KEY) if api == "anthropic" else ("authorization",
                                                                    f"Bearer {KEY}")
        equal(name, x.request.header(name), want if with_key else None)
        # Once, and only in that place.
        equal("times the key is sent", x.request.everything().count(KEY.encode()), int(with_key))
