# SPDX-License-Identifier: BSD-2-Clause
"""The program with permission to use a language model: the recorded run, a user, and the prompt."""

import contextlib
import glob
import json
import lzma
import os
import re
import sqlite3
import subprocess

from llmlib.server import Server  # next to this directory, in ../llm, for every importer

from .part import Failed, check
from .tool import tail

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
RECORDED = os.path.join(ROOT, "examples", "recorded", "train.db.xz")
NOBODY = 65534
KEY = "sk-test-never-to-be-seen-0123456789"
MODEL = "a-model"
TIMEOUT_S = 150  # at most 120 of them for the question


def older(path):
    """Rewrites a database in the schema before the newest."""
    migrations = sorted(glob.glob(os.path.join(ROOT, "sql", "[0-9]*.sql")))[:-1]
    made = f"{path}.older"
    with contextlib.closing(sqlite3.connect(made)) as db, db:
        for name in migrations:
            with open(name, encoding="utf-8") as f:
                db.executescript(f.read())
        db.execute("ATTACH ? AS newer", (path,))
        for table, in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
            of = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
            db.execute(f"INSERT INTO {table} SELECT {', '.join(of)} FROM newer.{table}")
        db.execute(f"PRAGMA user_version = {len(migrations)}")
    os.replace(made, path)


class Asker:
    """An unprivileged user with a home and a copy of the recorded database of two runs."""

    def __init__(self, args, work, stack):
        self.cachemon = args.cachemon
        self.work = work
        self.home = os.path.join(work, "home")
        os.makedirs(self.home)
        self.db = os.path.join(self.home, "train.db")
        with lzma.open(RECORDED) as packed, open(self.db, "wb") as out:
            out.write(packed.read())
        for path in (self.home, self.db):
            os.chown(path, NOBODY, NOBODY)
        self.job = self.query("SELECT * FROM job WHERE run_id = 2 AND slot = 1")[0]

    def environment(self, **more):
        kept = {k: os.environ[k] for k in ("PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS") if k in os.environ}
        return {**kept, "HOME": self.home, "LC_ALL": "C.UTF-8", "TZ": "UTC", **more}

    def argv(self, *command, as_root=False):
        who = [] if as_root else ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
        return [*who, self.cachemon, command[0], "--db", self.db, *command[1:]]

    def run(self, *command, as_root=False, status=0, **environment):
        """(stdout, stderr), as bytes"""
        done = subprocess.run(self.argv(*command, as_root=as_root), env=self.environment(**environment),
                              capture_output=True, cwd=self.home, timeout=TIMEOUT_S, stdin=subprocess.DEVNULL,
                              check=False)
        if done.returncode != status:
            raise Failed(f"{command} exits {done.returncode}, not {status}: {tail(done.stderr.decode(errors='replace'))}")
        return done.stdout, done.stderr

    def json(self, *command, **environment):
        return json.loads(self.run(*command, "--format", "json", **environment)[0])

    def server(self, stack, text=None):
        server = Server(text=text)
        stack.callback(server.stop)
        return server

    def at(self, server, name="ok"):
        return {"CACHEMON_LLM_URL": server.url(name), "CACHEMON_LLM_MODEL": MODEL, "CACHEMON_LLM_KEY": KEY}

    def sent(self, *command, **environment):
        return Sent(self.run(*command, "--llm-dry-run", **environment)[0])

    def query(self, sql):
        """Rows of the database, read by sqlite3."""
        with contextlib.closing(sqlite3.connect(f"file:{self.db}?mode=ro", uri=True)) as db:
            db.row_factory = sqlite3.Row
            return [dict(row) for row in db.execute(sql)]

    def rows(self):
        if not self.query("SELECT 1 FROM sqlite_schema WHERE name = 'wording'"):
            return []
        return self.query("SELECT * FROM wording ORDER BY id")


class Sent:
    """The body of a request, parsed as a model would see it."""

    def __init__(self, body):
        self.body = json.loads(body)
        roles = {m["role"]: m["content"] for m in self.body["messages"]}
        self.system, self.user = roles.get("system", ""), roles["user"]
        self.schema = self.body["response_format"]["json_schema"]["schema"]
        lines = self.user.splitlines()
        self.evidence = {m[1]: m[2].split(" | ") for m in (re.match(r"(E\d+) \| (.*)$", line) for line in lines) if m}
        self.findings = {m[1]: m[2].split(" | ") for m in (re.match(r"(F\d+) \| (.*)$", line) for line in lines) if m}
        self.notes = {m[1]: (m[2], m[3]) for m in (re.match(r"(N\d+) \((.*?)\): (.*)$", line) for line in lines) if m}
        self.actions = {m[1]: m[2] for m in (re.match(r"(A\d+): (.*)$", line) for line in lines) if m}

    def key_of(self, metric, scope=None):
        found = [k for k, e in self.evidence.items() if e[0] == metric and (scope is None or e[2] == scope)]
        check(found, f"no evidence {metric} of {scope} in what was sent")
        return found[0]


def reply(*statements, ranking=(), answered=True):
    """The answer of a model as text: (about, text, evidence) or whole statements."""
    whole = [s if isinstance(s, dict) else
             {"about": s[0], "text": s[1], "evidence": list(s[2]), "notes": [], "action": "none", "confidence": "high"}
             for s in statements]
    return json.dumps({"answered": answered, "statements": whole, "ranking": list(ranking)})


def of_exchange(make):
    """The reply of a server: make(the request)."""
    return lambda x: make(Sent(x.request.body))


def kept(job):
    """The findings that were not merged into another."""
    return [f for f in job["findings"] if not f["merged_into"]]


def without_words(report):
    for job in report["jobs"]:
        job.pop("wording", None)
    return report


def good_and_bad(sent):
    lookups, hits, gain = sent.key_of("lookups", "job"), sent.key_of("hit_ratio", "job"), sent.key_of("gain", "F1")
    return reply(
        ("job", f"Of {{{lookups}}} looked up, {{{hits}}} were there.", [lookups, hits]),
        ("F1", f"What it waits for can be had back: {{{gain}}}.", [gain]),
        {"about": "F1", "text": "Keep what is read again.", "evidence": [gain], "notes": [], "action": "A1",
         "confidence": "low"},
        ("job", "A cache of 512 GiB would help.", [hits]),
        ("job", "See https://evil.example/ for more.", [hits]),
        ("job", "Run sudo sysctl vm.drop_caches=3 first.", [hits]),
        ("F9", "This is about nothing.", [hits]),
        ("job", "It is so.", ["E999"]),
        ("job", "It is so.", []),
        ranking=["F3", "F2", "F1", "F7"])


def as_people_see(text):
    return re.sub(r"\s+", " ", text.decode())
