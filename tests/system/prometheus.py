#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""examples/prometheus with real servers: node_exporter reads the file of a run, Prometheus scrapes
it and applies the rules, every query of the dashboard returns data, and VictoriaMetrics gets the
series by remote write. The counts that arrive are the job's own."""

import json
import mmap
import os
import re
import socket
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import debian, machine  # noqa: E402
from syslib.part import SKIP, Failed, Part, Skipped, check, equal  # noqa: E402
from syslib.reads import PAGE, drop, fill  # noqa: E402
from syslib.world import World  # noqa: E402

ME = os.path.abspath(__file__)
EXAMPLE = os.path.join(os.path.dirname(ME), "../../examples/prometheus")
PAGES = 512
WAIT_S = 60

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


def query(port, expr):
    """[(labels, value)] of now."""
    data = get(port, "/api/v1/query", query=expr)
    return [(r["metric"], float(r["value"][1])) for r in data["result"]] if data else []


class Servers(World):
    """All servers, and a run that goes on until it is stopped."""

    def __init__(self, args, work, stack):
        super().__init__(args, work, stack)
        self.path = fill(f"{self.data}/read", PAGES)
        self.texts = f"{work}/texts"
        os.mkdir(self.texts)
        exporter, self.port, self.store = free_port(), free_port(), free_port()
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
        self.configure(exporter)
        self.prometheus = Server(
            stack, f"{work}/prometheus.log", debian.program(work, "prometheus", "prometheus"),
            f"--config.file={work}/prometheus.yml", f"--storage.tsdb.path={work}/tsdb",
            f"--web.listen-address=127.0.0.1:{self.port}")
        self.watch = self.tool.watch(
            stack, ["--level", "full", "--job", "train", "--metrics-file",
                    f"{self.texts}/train.prom"],
            [sys.executable, "-B", ME, "--work", self.path], stdin=subprocess.PIPE)

    def configure(self, exporter):
        """The example with other ports, shorter intervals and a store."""
        with open(f"{EXAMPLE}/prometheus.yml", encoding="utf-8") as f:
            text = f.read()
        for old, new in (("127.0.0.1:9100", f"127.0.0.1:{exporter}"), ("15s", "1s"),
                         ("[rules.yml]", f"[{os.path.abspath(EXAMPLE)}/rules.yml]")):
            check(old in text, f"the example has no {old}")
            text = text.replace(old, new)
        with open(f"{self.work}/prometheus.yml", "w", encoding="utf-8") as f:
            f.write(text + f"remote_write:\n  - url: http://127.0.0.1:{self.store}/api/v1/write\n")


def work(path):
    """Turns of cold, cached, mapped and direct reads until the input ends; says what it read."""
    os.set_blocking(0, False)
    fd, direct = os.open(path, os.O_RDONLY), os.open(path, os.O_RDONLY | os.O_DIRECT)
    buffer = mmap.mmap(-1, 16 * PAGE)
    did = {"read_bytes": 0, "direct_read_bytes": 0}

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


def expressions():
    """(title, expression) of the dashboard, with its variables replaced as Grafana does."""
    with open(f"{EXAMPLE}/dashboard.json", encoding="utf-8") as f:
        board = json.load(f)
    names = {v["name"] for v in board["templating"]["list"]}
    ids = [p["id"] for p in board["panels"]]
    equal("ids of panels", len(set(ids)), len(ids))
    for panel in board["panels"]:
        for target in panel["targets"]:
            used = set(re.findall(r"\$(\w+)", target["expr"])) - {"__rate_interval"}
            check(used <= names, f"{panel['title']}: unknown variable in {target['expr']}")
            yield panel["title"], re.sub(r"\$__rate_interval", "10s", re.sub(
                r"\$(manager|jobid)", ".*", target["expr"]))


@part.case
def every_query_of_the_dashboard(world, _stack):
    for title, expr in expressions():
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
    equal("alerts", sum(r["type"] == "alerting" for r in rules), len(rules) - len(records))
    for name in records:
        world.prometheus.until(f"series of {name}", lambda n=name: query(world.port, n))


@part.case
def labels_stay(world, _stack):
    """Prometheus renames a label that it uses itself, and a sum by it is then wrong."""
    found = world.prometheus.until("the job", lambda: query(world.port, "cachemon_job_info"))
    equal("jobs", [(m["manager"], m["jobid"], m["user"]) for m, _ in found],
          [("command", "train", "root")])
    renamed = [m for m, _ in query(world.port, '{__name__=~"cachemon_.*"}')
               if any(name.startswith("exported_") for name in m)]
    equal("renamed", renamed, [])


@part.case
def counts_arrive(world, _stack):
    """At the end, as the job counted them, also by remote write."""
    world.watch.process.stdin.close()
    world.watch.process.stdin = None
    _, _, out = world.watch.end()
    did = json.loads(out)
    check(did["direct_read_bytes"] and did["read_bytes"], f"the job read nothing: {did}")
    for server, port in ((world.prometheus, world.port), (world.victoria, world.store)):
        server.until("the end of the run", lambda p=port: query(p, "cachemon_job_running == 0"))
        for name, count in did.items():
            expr = f'cachemon_job_{name}_total{{mount="{world.data}"}}'
            server.until(f"{expr} of {count}", lambda p=port, e=expr, c=count:
                         [v for _, v in query(p, e)] == [c])


def main():
    if sys.argv[1:2] == ["--work"]:
        return work(*sys.argv[2:])
    try:
        return part.main(Servers)
    except Skipped as e:
        print(f"skipped: {e}")
        return SKIP


if __name__ == "__main__":
    sys.exit(main())
