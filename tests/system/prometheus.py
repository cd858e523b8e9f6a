#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""examples/prometheus with real servers: Prometheus scrapes a daemon with jobs, and node_exporter
with the file of a run. It applies the rules, every query of the dashboard returns data, and
VictoriaMetrics gets the series by remote write. The counts that arrive, and the values of the
rules, are the jobs' own."""

import json
import mmap
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from daemon import Daemon  # noqa: E402
from syslib import debian, machine  # noqa: E402
from syslib.part import SKIP, Failed, Part, Skipped, check, equal  # noqa: E402
from syslib.reads import PAGE, drop, fill  # noqa: E402
from syslib.world import World  # noqa: E402

ME = os.path.abspath(__file__)
EXAMPLE = os.path.join(os.path.dirname(ME), "../../examples/prometheus")
PAGES = 512
WAIT_S = 60
WINDOW_S = 20  # of the rules, instead of 5m
LIMIT = 256 << 20

part = Part(__doc__)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    def __init__(self, stack, log, *argv):
        self.log = log
        with open(log, "w", encoding="utf-8") as out:
            self.process = subprocess.Popen(argv, stdout=out, stderr=out, cwd=os.path.dirname(log))
        stack.callback(self.end)

    def end(self):
        self.process.kill()
        self.process.wait()

    def until(self, what, function):
        """Its result, once it is true."""
        found = []

        def look():
            if self.process.poll() is not None:
                with open(self.log, encoding="utf-8") as f:
                    raise Failed(f"{self.log} ended: {f.read()[-500:]}")
            found[:] = [function()]
            return found[0]

        machine.until(look, what, WAIT_S)
        return found[0]


def get(port, path, **query):
    url = f"http://127.0.0.1:{port}{path}?{urllib.parse.urlencode(query)}"
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.load(answer)["data"]
    except urllib.error.HTTPError as e:
        if e.code == 503:  # it is still starting
            return None
        raise Failed(f"{path} {query}: {e.read().decode()[:300]}") from e
    except (urllib.error.URLError, ConnectionError):
        return None


def samples(port, series):
    """[(ms, value)] of all scrapes."""
    data = get(port, "/api/v1/query", query=f"{series}[1h]")
    return [(round(t * 1000), float(v)) for r in data["result"] for t, v in r["values"]] if data else []


def exported(port, series):
    """[(ms, value)] of VictoriaMetrics."""
    url = f"http://127.0.0.1:{port}/api/v1/export?{urllib.parse.urlencode({'match[]': series})}"
    with urllib.request.urlopen(url, timeout=10) as answer:
        return [pair for line in map(json.loads, answer) for pair in zip(line["timestamps"], line["values"])]


def query(port, expr):
    """[(labels, value)] of now."""
    data = get(port, "/api/v1/query", query=expr)
    return [(r["metric"], float(r["value"][1])) for r in data["result"]] if data else []


class Job:
    """This program with another verb, in a cgroup of its own; it begins at an order."""

    def __init__(self, stack, group, *words):
        self.jobid = os.path.basename(group)
        self.process = subprocess.Popen([sys.executable, "-B", ME, *words], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        stack.callback(self.process.wait)
        stack.callback(self.process.kill)
        equal("the job", self.process.stdout.readline(), "ready\n")
        machine.enter_cgroup(group, self.process.pid)

    def order(self, words):
        self.process.stdin.write(f"{words}\n")
        self.process.stdin.flush()

    def account(self):
        return json.loads(self.process.stdout.readline())


class Servers(World):
    """All servers, a daemon with three jobs, and a run; the jobs go on until they are stopped."""

    def __init__(self, args, work, stack):
        super().__init__(args, work, stack)
        self.texts = f"{work}/texts"
        os.mkdir(self.texts)
        exporter, node, self.port, self.store = free_port(), free_port(), free_port(), free_port()
        self.exporter = Server(
            stack, f"{work}/exporter.log", debian.program(work, "prometheus-node-exporter",
                                                          "prometheus-node-exporter"),
            f"--web.listen-address=127.0.0.1:{exporter}", "--collector.disable-defaults",
            "--collector.textfile", f"--collector.textfile.directory={self.texts}")
        self.victoria = Server(
            stack, f"{work}/victoria.log", debian.program(work, "victoria-metrics",
                                                          "victoria-metrics"),
            f"-httpListenAddr=127.0.0.1:{self.store}", f"-storageDataPath={work}/victoria",
            "-search.latencyOffset=0s")
        self.start_jobs(stack, node)
        self.configure(exporter, node)
        self.prometheus = Server(
            stack, f"{work}/prometheus.log", debian.program(work, "prometheus", "prometheus"),
            f"--config.file={work}/prometheus.yml", f"--storage.tsdb.path={work}/tsdb",
            f"--web.listen-address=127.0.0.1:{self.port}")
        self.watch = self.tool.watch(
            stack, ["--level", "full", "--job", "train", "--metrics-file",
                    f"{self.texts}/train.prom"],
            [sys.executable, "-B", ME, "--work", fill(f"{self.data}/read", PAGES)],
            stdin=subprocess.PIPE)
        self.watch.process.stdin.write("begin\n")
        self.watch.process.stdin.flush()

    def start_jobs(self, stack, port):
        """One in each hierarchy: a memory limit and the pressure of a job are in one of them only."""
        groups = []
        for i, root in enumerate((machine.v2_root(), machine.v1_root(), machine.v2_root())):
            if root:
                groups.append(machine.cgroup(stack, root, f"cachemon-prom{i}-{os.getpid()}"))
            if root and root == machine.v1_root():
                with open(f"{groups[-1]}/memory.limit_in_bytes", "w", encoding="ascii") as f:
                    f.write(str(LIMIT))
        with open(f"{EXAMPLE}/node.yaml", encoding="utf-8") as f:
            text = f.read()
        for old, new in (("127.0.0.1:9752", f"127.0.0.1:{port}"), ("[slurm, unit, container, pod, vm]", "[slurm]")):
            check(old in text, f"the example has no {old}")
            text = text.replace(old, new)
        config = f"{self.work}/node.yaml"
        with open(config, "w", encoding="utf-8") as f:
            f.write(f"{text}socket:\n  path: {self.work}/s/socket\n")
        *work, known = groups
        self.jobs = [Job(stack, group, "--work", fill(f"{self.data}/job{i}", PAGES)) for i, group in enumerate(work)]
        self.known = Job(stack, known, "--known", fill(f"{self.data}/known", PAGES))
        self.daemon = Daemon(self, stack, groups, "--config", config)
        self.daemon.wait_runs(len(groups))
        for job in self.jobs:
            job.order("begin")

    def configure(self, exporter, node):
        """The examples with other ports, shorter times and a store."""
        for name, changes in (
                ("prometheus.yml", (("127.0.0.1:9100", f"127.0.0.1:{exporter}"), ("127.0.0.1:9752", f"127.0.0.1:{node}"),
                                    ("15s", "1s"))),
                ("rules.yml", (("[5m]", f"[{WINDOW_S}s]"),))):
            with open(f"{EXAMPLE}/{name}", encoding="utf-8") as f:
                text = f.read()
            for old, new in changes:
                check(old in text, f"{name} has no {old}")
                text = text.replace(old, new)
            with open(f"{self.work}/{name}", "w", encoding="utf-8") as f:
                f.write(text)
        with open(f"{self.work}/prometheus.yml", "a", encoding="utf-8") as f:
            f.write(f"remote_write:\n  - url: http://127.0.0.1:{self.store}/api/v1/write\n")


def work(path):
    """Turns of cold, cached, mapped and direct reads until the input ends; says what it read."""
    fd, direct = os.open(path, os.O_RDONLY), os.open(path, os.O_RDONLY | os.O_DIRECT)
    buffer = mmap.mmap(-1, 16 * PAGE)
    did = {"read_bytes": 0, "direct_read_bytes": 0}
    print("ready", flush=True)
    os.read(0, 100)
    os.set_blocking(0, False)

    def told_to_end():
        try:
            return not os.read(0, 1)
        except BlockingIOError:
            return False

    while not told_to_end():
        drop(fd)
        for _ in range(2):
            for at in range(0, PAGES * PAGE, 16 * PAGE):
                did["read_bytes"] += len(os.pread(fd, 16 * PAGE, at))
        did["direct_read_bytes"] += os.preadv(direct, [buffer], 0)
    print(json.dumps(did), flush=True)


def known(path):
    """For each line "PAGES TIMES": reads that many uncached pages so many times, each alone; says
    its reads so far, and the time of those that missed."""
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    did = {"read_bytes": 0, "lookups": 0, "misses": 0, "miss_s": 0}
    print("ready", flush=True)
    for line in sys.stdin:
        pages, times = map(int, line.split())
        drop(fd)
        for turn in range(times):
            began = time.monotonic()
            for page in range(pages):
                did["read_bytes"] += len(os.pread(fd, PAGE, page * PAGE))
            did["lookups"] += pages
            if not turn:
                did["misses"] += pages
                did["miss_s"] += time.monotonic() - began
        print(json.dumps(did), flush=True)


def dashboard():
    with open(f"{EXAMPLE}/dashboard.json", encoding="utf-8") as f:
        return json.load(f)


def filled(text, board, **values):
    """With its variables replaced as Grafana does: by these values, or by all."""
    names = {v["name"] for v in board["templating"]["list"]} - {"datasource"}
    used = set(re.findall(r"\$(\w+)", text)) - {"__rate_interval"}
    check(used <= names, f"unknown variable in {text}")
    text = text.replace("$__rate_interval", "10s")
    return re.sub(r"\$(\w+)", lambda m: values.get(m[1], ".*"), text)


def options(world, board, name, **values):
    """The values that a variable offers."""
    text = next(v["query"]["query"] for v in board["templating"]["list"] if v["name"] == name)
    series, label = re.fullmatch(r"label_values\((.*), (\w+)\)", filled(text, board, **values)).groups()
    return get(world.port, f"/api/v1/label/{label}/values", **{"match[]": series}) or []


@part.case
def every_variable_of_the_dashboard(world, _stack):
    board = dashboard()
    jobs = {"train", world.known.jobid, *(job.jobid for job in world.jobs)}
    world.prometheus.until("all jobs", lambda: jobs <= set(options(world, board, "jobid")))
    equal("users", options(world, board, "user"), ["root"])
    equal("managers", options(world, board, "manager"), ["cgroup", "command"])
    equal("nodes", len(options(world, board, "instance")), 2)
    equal("jobs of a user", set(options(world, board, "jobid", user="root")), jobs)
    equal("jobs of nobody", options(world, board, "jobid", user="nobody"), [])
    equal("jobs of a manager", options(world, board, "jobid", manager="command"), ["train"])


@part.case
def every_panel_says_what_it_shows(_world, _stack):
    board = dashboard()
    ids = [p["id"] for p in board["panels"]]
    equal("ids of panels", len(set(ids)), len(ids))
    for panel in board["panels"]:
        if panel["type"] != "row":
            check(panel["description"] and panel["targets"], f"{panel['title']}: no description, or no query")
            check(panel["fieldConfig"]["defaults"]["unit"], f"{panel['title']}: no unit")


@part.case
def every_query_of_the_dashboard(world, _stack):
    board = dashboard()
    for title, expr in ((p["title"], filled(t["expr"], board)) for p in board["panels"] for t in p.get("targets", ())):
        found = world.prometheus.until(f"{title}: {expr}",
                                       lambda e=expr: query(world.port, e))
        for labels, value in found:
            check(value >= 0, f"{title}: {labels} {value}")


@part.case
def every_rule(world, _stack):
    def groups():
        data = get(world.port, "/api/v1/rules")
        rules = [r for g in data["groups"] for r in g["rules"]] if data else []
        return rules if rules and all(r["health"] == "ok" for r in rules) else None

    rules = world.prometheus.until("rules without errors", groups)
    records = [r["name"] for r in rules if r["type"] == "recording"]
    alerts = {r["name"]: r for r in rules if r["type"] == "alerting"}
    equal("alerts", len(alerts), len(rules) - len(records))
    for name in records:
        world.prometheus.until(f"series of {name}", lambda n=name: query(world.port, n))
    for name in ("CachemonDown", "CachemonLosesEvents", "CachemonProbeMissing"):
        equal(name, alerts[name]["alerts"], [])


@part.case
def each_rule_by_its_unit_test(world, _stack):
    """Faults that do not happen here: promtool's own tests of the rules."""
    promtool = debian.program(world.work, "prometheus", "promtool")
    for words in (("check", "config", "prometheus.yml"), ("test", "rules", "rules_test.yml")):
        done = subprocess.run([promtool, *words], cwd=EXAMPLE, capture_output=True, text=True)
        check(not done.returncode, f"promtool {words}: {done.stdout}{done.stderr}")
    with open(f"{EXAMPLE}/rules.yml", encoding="utf-8") as rules, \
            open(f"{EXAMPLE}/rules_test.yml", encoding="utf-8") as tests:
        tested = tests.read()
        for name in re.findall(r"- (?:record|alert): (\S+)", rules.read()):
            check(name in tested, f"no unit test of {name}")


@part.case
def labels_stay(world, _stack):
    """Prometheus renames a label that it uses itself, and a sum by it is then wrong."""
    jobs = {("command", "train"), *(("cgroup", job.jobid) for job in (world.known, *world.jobs))}
    found = world.prometheus.until("the jobs", lambda: [m for m, _ in query(world.port, "cachemon_job_info")])
    equal("jobs", {(m["manager"], m["jobid"]) for m in found}, jobs)
    equal("users", {m["user"] for m in found}, {"root"})
    renamed = [m for m, _ in query(world.port, '{__name__=~"cachemon_.*"}')
               if any(name.startswith("exported_") for name in m)]
    equal("renamed", renamed, [])


@part.case
def values_of_rules(world, _stack):
    """By the account of a job whose pages are known to be cached or not."""
    def recorded(name):
        found = query(world.port, f'instance_manager_jobid:cachemon_{name}:rate5m{{jobid="{world.known.jobid}"}}')
        return found[0][1] if found else None

    # rate() guesses when a counter was 0. So before the reads that count, the window of the rules
    # is full, and its values are not 0.
    for _ in range(2):
        world.known.order("64 4")
        before = world.known.account()
    expr = f'cachemon_job_lookups_total{{jobid="{world.known.jobid}",mount="{world.data}"}}'

    def quiet():
        values = [v for t, v in samples(world.port, expr) if t > time.time() * 1000 - WINDOW_S * 1000]
        return len(values) > WINDOW_S - 2 and set(values) == {before["lookups"]} and recorded("read_bytes") == 0

    world.prometheus.until("a window without reads", quiet)
    world.known.order("64 4")
    after = world.known.account()
    did = {name: after[name] - before[name] for name in after}
    waited = did["miss_s"]

    def agree():
        hits, again, read, wait = map(recorded, ("hit_ratio", "refetched_ratio", "read_bytes", "waiting_tasks"))
        # A window has samples of 18 to 20 seconds, and rate() divides by the time between them.
        return (hits is not None and abs(hits - (1 - did["misses"] / did["lookups"])) < 1e-9 and
                abs(again - 1) < 1e-9 and
                did["read_bytes"] / WINDOW_S <= read <= did["read_bytes"] / (WINDOW_S - 2) and
                0 < wait <= waited / (WINDOW_S - 2))

    world.prometheus.until("values of the rules", agree)


@part.case
def counts_arrive(world, _stack):
    """At the end, as the jobs counted them, also by remote write."""
    accounts = {}
    world.watch.process.stdin.close()
    world.watch.process.stdin = None
    _, _, out = world.watch.end()
    accounts["train"] = json.loads(out.splitlines()[-1])
    for job in world.jobs:
        job.process.stdin.close()
        accounts[job.jobid] = job.account()
    world.known.order("1 1")
    known = world.known.account()
    accounts[world.known.jobid] = {name: known[name] for name in ("read_bytes", "lookups", "misses")}
    for jobid, did in accounts.items():
        check(all(did.values()), f"{jobid} read nothing: {did}")
        for name, count in did.items():
            expr = f'cachemon_job_{name}_total{{jobid="{jobid}",mount="{world.data}"}}'
            for server, port in ((world.prometheus, world.port), (world.victoria, world.store)):
                server.until(f"{expr} of {count}", lambda p=port, e=expr, c=count:
                             [v for _, v in query(p, e)] == [c])
            have = samples(world.port, expr)
            check(len(have) > 10, f"{len(have)} samples of {expr}")
            world.victoria.until(f"all samples of {expr}", lambda e=expr, h=have: set(h) <= set(exported(world.store, e)))
    for port in (world.port, world.store):
        equal("the run", [v for _, v in query(port, 'cachemon_job_running{jobid="train"}')], [0])
    world.daemon.end()


def main():
    if sys.argv[1:2] == ["--work"]:
        return work(*sys.argv[2:])
    if sys.argv[1:2] == ["--known"]:
        return known(*sys.argv[2:])
    try:
        return part.main(Servers)
    except Skipped as e:
        print(f"skipped: {e}")
        return SKIP


if __name__ == "__main__":
    sys.exit(main())
