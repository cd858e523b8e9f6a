#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The metrics of a node's daemon: the figures of its jobs are those of the jobs' own accounts, also
in Debian's Prometheus; both formats are valid; clients that are slow, many or without a password
keep nobody waiting; the server has no privileges."""

import base64
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from daemon import Daemon, cached, end_group, make_groups, start_jobs  # noqa: E402
from metrics import check_devices, parse, total, value  # noqa: E402
from prometheus import Server, free_port, query  # noqa: E402
from syslib import debian, machine, reads  # noqa: E402
from syslib.jobworld import FILES, lines_of, main  # noqa: E402
from syslib.part import Failed, Part, check, equal  # noqa: E402

part = Part(__doc__)
OPEN = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75," \
       "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
USER, PASSWORD = "prom", "right"
CONNECTIONS, AGE_S, GUESSES = 64, 10, 5
PLACES = 21
OWN_USER = "2147483000"
CAUSES = ("reclaim_kswapd", "reclaim_direct", "reclaim_memcg", "dontneed", "drop_caches", "truncate", "direct_io",
          "invalidate", "dontcache", "other")


class Front:
    """A daemon with jobs in cgroups, which serves its metrics."""

    def __init__(self, world, stack, groups, web="", textfile=False, prefix=(), options=(), jobs=None):
        self.world, self.port = world, free_port()
        self.directory = world.tool.fresh(".d")
        os.mkdir(self.directory)
        self.texts = f"{self.directory}/texts"
        os.mkdir(self.texts)
        self.tls = None
        settings = [f"listen: 127.0.0.1:{self.port}"]
        if textfile:
            settings.append(f"textfile_directory: {self.texts}")
        if web:
            self.write("web.yml", web)
            settings.append(f"web_config: {self.directory}/web.yml")
        self.config = self.write("node.yaml", "".join([
            "metrics:\n", *(f"  {s}\n" for s in settings),
            jobs or f"jobs:\n  kinds: [slurm]\n  include: [\"slurm:{os.getpid()}\"]\n",
            f"socket:\n  path: {self.directory}/s/socket\n"]))
        self.daemon = Daemon(world, stack, groups, "--config", self.config, *options, prefix=prefix)
        self.daemon.until(self.listens, "the metrics server")

    def write(self, name, text):
        with open(f"{self.directory}/{name}", "w", encoding="ascii") as f:
            f.write(text)
        return f.name

    def listens(self):
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        return False

    def ask(self, path="/metrics", method="GET", accept=None, user=None, timeout=5, source=None):
        """(status, headers, body)"""
        if self.tls:
            c = http.client.HTTPSConnection("localhost", self.port, timeout=timeout, context=self.tls)
        else:
            c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout, source_address=source)
        headers = {"Accept": accept} if accept else {}
        if user:
            headers["Authorization"] = "Basic " + base64.b64encode(":".join(user).encode()).decode()
        with contextlib.closing(c):
            c.request(method, path, headers=headers)
            answer = c.getresponse()
            return answer.status, answer.headers, answer.read().decode()

    def series(self, **more):
        status, _, text = self.ask(**more)
        return parse(text) if status == 200 else {}

    def until(self, condition, what):
        """The series, once the condition holds for them."""
        found = []

        def look():
            found[:] = [self.series()]
            with contextlib.suppress(Failed):  # a series is not there yet
                return found[0] and condition(found[0])
            return False

        self.daemon.until(look, what)
        return found[0]

    def server(self):
        """Its process, once it is there."""
        def children():
            with open(f"/proc/{self.daemon.process.pid}/task/{self.daemon.process.pid}/children", encoding="ascii") as f:
                return f.read().split()

        self.daemon.until(children, "the process of the server")
        equal("processes of the daemon", len(children()), 1)
        return int(children()[0])


def jobid(group):
    return os.path.basename(group)


def read_bytes(series, group):
    return sum(v for (n, labels), v in series.items()
               if n == "cachemon_job_read_bytes_total" and ("jobid", jobid(group)) in labels)


@part.case
def figures_of_jobs(world, stack):
    """Reads by each job's own account, and the pages that came by cachestat(2), in text, OpenMetrics
    and the file for node_exporter."""
    groups = make_groups(stack, 3, "figures")
    jobs, tallies = start_jobs(world, stack, groups)
    world.fds = [os.open(f"{world.data}/{i:02}", os.O_RDONLY) for i in range(FILES)]
    for fd in world.fds:
        stack.callback(os.close, fd)
        reads.drop(fd)
    front = Front(world, stack, groups, textfile=True)
    front.daemon.wait_runs(len(groups))
    for r in range(4):
        for i, job in enumerate(jobs):
            job.do("read", (i * 4 + r) % FILES, "in")
    did = [sum(line["read_bytes"] for line in lines_of(t)) for t in tallies]

    def of_data(series, name, group):
        return value(series, f"job_{name}_total", jobid=jobid(group), mount=world.data)

    series = front.until(lambda s: all(of_data(s, "read_bytes", g) >= d for g, d in zip(groups, did)),
                         "the reads of all jobs")
    front.daemon.wait_intervals([front.daemon.run_of(group) for group in groups])
    texts = {"text": front.ask()[2], "open": front.ask(accept=OPEN)[2]}
    check(texts["open"].endswith("\n# EOF\n"), "the end of OpenMetrics")
    with open(f"{front.texts}/cachemon.prom", encoding="utf-8") as f:
        file = f.read()
    equal("mode of the file", os.stat(f"{front.texts}/cachemon.prom").st_mode & 0o777, 0o644)
    for series in (parse(texts["text"]), parse(file)):
        for group, tally in zip(groups, tallies):
            for name in ("read_bytes", "read_calls", "lookups"):
                equal(f"{name} of {group}", of_data(series, name, group), sum(line[name] for line in lines_of(tally)))
            equal("hits and misses", of_data(series, "hits", group) + of_data(series, "misses", group),
                  of_data(series, "lookups", group))
            equal("processes", value(series, "job_processes", jobid=jobid(group)), 1)
            equal("user", value(series, "job_info", jobid=jobid(group), user="root", manager="cgroup"), 1)
        came = sum(of_data(series, name, group) for name in ("misses", "prefetched_pages") for group in groups)
        equal("pages that came", came, cached(world))
        equal("jobs", value(series, "jobs"), 3)
        equal("losses", total(series, "losses_total"), 0)
        equal("the read hook", value(series, "probe_live", role="read"), 1)
        check(0 < value(series, "resident_bytes") < 1 << 30, "resident bytes")
        check_devices(series, [world.data])
    front.daemon.end()


@part.case
def without_kernel_addresses(world, stack):
    """Causes that need these addresses have no series, and the others do."""
    groups = make_groups(stack, 1, "addresses")
    jobs, _ = start_jobs(world, stack, groups)
    front = Front(world, stack, groups, prefix=("setpriv", "--inh-caps=-syslog", "--bounding-set=-syslog"))
    front.daemon.wait_runs(1)
    jobs[0].do("read", 0, "in")
    series = front.until(lambda s: read_bytes(s, groups[0]) > 0, "the reads")
    known = set()
    for cause in CAUSES:
        stored, = front.daemon.query(f"SELECT count(evicted_{cause}) FROM job WHERE slot = 1")[0]
        shown = sum(n == "cachemon_job_eviction_cause_pages_total" and ("cause", cause) in labels for n, labels in series)
        equal(f"series of {cause}", shown, stored)
        known.update([cause] * stored)
    check("reclaim_kswapd" in known and "dontneed" not in known, f"causes that are known: {known}")
    front.daemon.end()


@part.case
def cpu_time_and_pressure(world, stack):
    """By the cgroup's own files."""
    groups = make_groups(stack, 1, "cpu")
    front = Front(world, stack, groups)
    front.daemon.wait_runs(1)
    work = subprocess.Popen([sys.executable, "-c", "import sys\nsys.stdin.read(1)\n"
                             "x = 0\nwhile x < 20000000:\n  x += 1\nprint(flush=True)\nsys.stdin.read()"],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    stack.callback(work.wait)
    stack.callback(work.kill)
    machine.enter_cgroup(groups[0], work.pid)
    with open(f"/proc/{work.pid}/schedstat", encoding="ascii") as f:
        before = int(f.read().split()[0])
    work.stdin.write(b"x")
    work.stdin.flush()
    work.stdout.readline()
    with open(f"/proc/{work.pid}/schedstat", encoding="ascii") as f:
        spent = (int(f.read().split()[0]) - before) / 1e9

    def cpu(series):
        return total(series, "job_cpu_seconds_total")

    series = front.until(lambda s: cpu(s) >= spent, "the CPU time")
    check(cpu(series) <= spent * 1.05 + 0.05, f"CPU time: {cpu(series)} of {spent} s")
    for resource in ("cpu", "memory", "io"):
        name = f"{groups[0]}/{resource}.pressure"
        if not os.path.exists(name):
            continue
        with open(name, encoding="ascii") as f:
            waited = int(re.search("total=([0-9]+)", f.read())[1]) / 1e6
        shown = value(front.series(), "job_pressure_seconds_total", resource=resource)
        check(shown <= waited + 1e-6, f"pressure of {resource}: {shown}, then {waited} s")
        front.until(lambda s, r=resource, w=waited: value(s, "job_pressure_seconds_total", resource=r) >= w,
                    f"pressure of {resource}")
    front.daemon.end()


# Talks to itself over both protocols, writes to a file, and waits.
TALKS = """
import os, socket, sys
print(flush=True)
sys.stdin.readline()
for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    with socket.create_server((host, 0), family=family) as server:
        with socket.create_connection(server.getsockname()[:2]) as out, server.accept()[0] as conn:
            out.sendall(bytes(1 << 20))
            left = 1 << 20
            while left:
                conn.recv(1, socket.MSG_PEEK)
                left -= len(conn.recv(min(left, 65536)))
    with socket.socket(family, socket.SOCK_DGRAM) as to, socket.socket(family, socket.SOCK_DGRAM) as out:
        to.bind((host, 0))
        for _ in range(10):
            out.sendto(bytes(1000), to.getsockname())
            to.recv(2000)
os.write(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT), bytes(123456))
print(flush=True)
sys.stdin.readline()
"""


def own_figures(pid):
    """The kernel's own: bytes read and written, seconds in run queues, switches of both kinds."""
    texts = {}
    for name in ("io", "schedstat", "status"):
        with open(f"/proc/{pid}/{name}", encoding="ascii") as f:
            texts[name] = f.read()

    def field(name, key):
        return int(re.search(rf"^{key}:\s*([0-9]+)", texts[name], re.M)[1])

    return [field("io", "rchar"), field("io", "wchar"), int(texts["schedstat"].split()[1]) / 1e9,
            field("status", "voluntary_ctxt_switches"), field("status", "nonvoluntary_ctxt_switches")]


def answered(job):
    """Until it has written a line and waits for the next one."""
    def state():
        with open(f"/proc/{job.pid}/stat", encoding="ascii") as f:
            return f.read().rsplit(")", 1)[1].split()[0]

    job.stdout.readline()
    machine.until(lambda: state() == "S", "the job waits")


@part.case
def figures_of_tasks(world, stack):
    """The kernel's own figures of the job's only process, and the bytes that it sent to itself."""
    groups = make_groups(stack, 1, "tasks")
    front = Front(world, stack, groups)
    front.daemon.wait_runs(1)
    job = subprocess.Popen([sys.executable, "-c", TALKS, world.tool.fresh(".out")], stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE)
    stack.callback(job.wait)
    stack.callback(job.kill)
    answered(job)
    machine.enter_cgroup(groups[0], job.pid)
    before = own_figures(job.pid)
    job.stdin.write(b"\n")
    job.stdin.flush()
    answered(job)
    did = [b - a for a, b in zip(before, own_figures(job.pid))]

    def shown(s):
        return [value(s, "job_rchar_bytes_total"), value(s, "job_wchar_bytes_total"),
                value(s, "job_runqueue_seconds_total"), value(s, "job_context_switches_total", kind="voluntary"),
                value(s, "job_context_switches_total", kind="nonvoluntary")]

    series = front.until(lambda s: value(s, "job_wchar_bytes_total") >= did[1] and
                         value(s, "job_network_received_bytes_total", protocol="udp6") == 10000, "its figures")
    for name, got, want in zip(("rchar", "wchar", "run queue", "voluntary", "nonvoluntary"), shown(series), did):
        check(abs(got - want) < 1e-8, f"{name}: {got}, not {want}")
    for protocol, size in (("tcp", 1 << 20), ("tcp6", 1 << 20), ("udp", 10000), ("udp6", 10000)):
        for way in ("sent", "received"):
            equal(f"{way}, {protocol}", value(series, f"job_network_{way}_bytes_total", protocol=protocol), size)
    front.daemon.end()


@part.case
def strange_names(world, stack):
    """Labels have the names as the systems have them, whatever the characters: those of a virtual
    machine and of a cgroup from its path, that of a container from Docker's file. Two containers of
    one name are two jobs."""
    name = f'a"b \u00e4\\ $c{os.getpid()}'
    root = machine.v2_root() or machine.v1_root()
    escaped = "".join(c if c.isalnum() and c.isascii() else "".join(f"\\x{b:02x}" for b in c.encode()) for c in name)
    vm = machine.cgroup(stack, root, f"machine-qemu\\x2d1\\x2d{escaped}.scope")
    # The kernel refuses newlines.
    plain = machine.cgroup(stack, root, f'c"\u00e4\x01 {os.getpid()}')
    ids = [f"{os.getpid():08x}{i:056x}" for i in (1, 2)]
    twins = [machine.cgroup(stack, root, f"docker-{ids[0]}.scope"), machine.cgroup(stack, root, f"libpod-{ids[1]}.scope")]
    places = {f"docker/containers/{ids[0]}/config.v2.json": {"Name": f"/{name}"},
              "containers/storage/overlay-containers/containers.json": [{"id": ids[1], "names": [name]}]}
    library = world.tool.fresh(".lib")
    for path, content in places.items():
        os.makedirs(os.path.dirname(f"{library}/{path}"))
        with open(f"{library}/{path}", "w", encoding="utf-8") as f:
            json.dump(content, f)
    own = ("unshare", "-m", "sh", "-c", f'mount --bind {library} /var/lib && exec "$@"', "sh")
    jobs = f"jobs:\n  kinds: [vm, container]\n  include: [\"*{os.getpid()}\"]\n"
    for groups, labels in (([], {("vm", name, name), ("container", ids[0], name), ("container", ids[1], name)}),
                           ([plain], {("cgroup", os.path.basename(plain), os.path.basename(plain))})):
        front = Front(world, stack, groups, jobs=jobs, prefix=own)
        series = front.until(lambda s: len(infos(s)) == len(labels), f"{len(labels)} jobs")
        equal("labels", infos(series), labels)
        front.daemon.end()
    check(os.path.exists(vm) and all(os.path.exists(t) for t in twins), "a cgroup is gone")


def infos(series):
    """(manager, jobid, name) of each job."""
    found = [dict(labels) for name, labels in series if name == "cachemon_job_info"]
    return {(job["manager"], job["jobid"], job["name"]) for job in found if job["jobid"] != "_other"}


@part.case
def an_ended_job_stays(world, stack):
    """With its last interval."""
    groups = make_groups(stack, 2, "ended")
    (first, _), (tally, _) = start_jobs(world, stack, groups)
    front = Front(world, stack, groups)
    front.daemon.wait_runs(2)
    first.do("read", 1, "in")
    first.process.stdin.close()
    first.process.wait()
    end_group(groups[0])
    series = front.until(lambda s: value(s, "job_running", jobid=jobid(groups[0])) == 0, "the end")
    did = sum(line["read_bytes"] for line in lines_of(tally))
    equal("bytes of the ended job",
          value(series, "job_read_bytes_total", jobid=jobid(groups[0]), mount=world.data), did)
    equal("the other job", value(series, "job_running", jobid=jobid(groups[1])), 1)
    front.daemon.end()


@part.case
def more_jobs_than_places(world, stack):
    """Some have series, and all counts are in one of these or in "_other"."""
    groups = make_groups(stack, 30, "many")
    jobs, tallies = start_jobs(world, stack, groups)
    front = Front(world, stack, groups)
    front.daemon.wait_runs(len(groups))
    for i, job in enumerate(jobs):
        job.do("read", i % FILES, "in")
    did = sum(line["read_bytes"] for t in tallies for line in lines_of(t))
    name = world.data

    def data_bytes(series):
        own = sum(v for (n, labels), v in series.items() if n == "cachemon_job_read_bytes_total" and
                  ("mount", name) in labels)
        other = sum(v for (n, labels), v in series.items() if n == "cachemon_job_read_bytes_total" and
                    ("jobid", "_other") in labels)
        return own, other

    series = front.until(lambda s: sum(data_bytes(s)) >= did, "the reads of all jobs")
    equal("jobs with series", sum(n == "cachemon_job_info" for n, _ in series), PLACES)
    check(len(series) <= 2000, f"{len(series)} series")
    equal("processes", total(series, "job_processes"), len(groups))
    own, other = data_bytes(series)
    check(0 < other, "nothing in _other")
    front.daemon.wait_intervals([front.daemon.run_of(group) for group in groups])
    # Of _other nobody knows the mount: what these jobs read elsewhere is in it too.
    check(own <= did, f"{own} bytes of {did}")
    front.daemon.end()


@part.case
def both_formats_are_valid(world, stack):
    promtool = debian.program(os.path.dirname(world.data), "prometheus", "promtool")
    groups = make_groups(stack, 1, "formats")
    front = Front(world, stack, groups)
    front.daemon.wait_runs(1)
    front.until(lambda s: value(s, "job_running", jobid=jobid(groups[0])) == 1, "the job")
    status, headers, text = front.ask()
    equal("status", status, 200)
    equal("type", headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
    done = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True)
    equal("promtool", (done.returncode, done.stdout + done.stderr), (0, ""))
    _, headers, text = front.ask(accept=OPEN)
    equal("type", headers["Content-Type"], "application/openmetrics-text; version=1.0.0; charset=utf-8")
    families = re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M)
    check(all(not name.endswith(("_total", "_info")) for name, _ in families), f"suffixes of {families}")
    check("# UNIT cachemon_job_read_bytes bytes\n" in text, "no unit")
    check("# TYPE cachemon_job info\n" in text, "no info")
    front.daemon.end()


@part.case
def requests(world, stack):
    front = Front(world, stack, make_groups(stack, 1, "requests"))
    front.until(lambda s: s, "the first figures")
    equal("another page", front.ask("/x")[0], 404)
    equal("above", front.ask("/metrics/../etc/passwd")[0], 404)
    status, _, text = front.ask("/")
    equal("start", (status, 'href="/metrics"' in text), (200, True))
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        status, headers, _ = front.ask(method=method)
        equal(method, (status, headers["Allow"]), (405, "GET, HEAD"))
    status, headers, text = front.ask(method="HEAD")
    equal("HEAD", (status, text), (200, ""))
    check(int(headers["Content-Length"]) > 100, "HEAD has no length")
    equal("a long header", front.ask(accept="x" * 60000)[0], 431)
    front.daemon.end()


@part.case
def without_privileges(world, stack):
    front = Front(world, stack, make_groups(stack, 1, "rights"))
    pid = front.server()
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
    equal("user", set(status["Uid"].split()), {OWN_USER})
    equal("groups", (set(status["Gid"].split()), status["Groups"].strip()), ({OWN_USER}, ""))
    for name in ("CapPrm", "CapEff", "CapInh", "CapAmb"):
        equal(name, int(status[name], 16), 0)
    equal("new privileges", status["NoNewPrivs"], "1")
    kinds = [os.readlink(f"/proc/{pid}/fd/{fd}").split(":")[0] for fd in os.listdir(f"/proc/{pid}/fd")]
    check(all(k in ("socket", "anon_inode", "/dev/null") for k in kinds), f"descriptors: {kinds}")
    # The daemon goes on without it, and says so.
    os.kill(pid, signal.SIGKILL)
    front.daemon.wait_runs(1)
    front.daemon.wait_intervals(list(front.daemon.intervals()))
    errors = front.daemon.end()
    equal("said once", errors.count("the metrics server has ended"), 1)


@part.case
def it_ends_with_the_daemon(world, stack):
    front = Front(world, stack, make_groups(stack, 1, "ends"))
    pid = front.server()
    front.daemon.process.kill()
    front.daemon.process.wait()
    machine.until(lambda: not os.path.exists(f"/proc/{pid}"), "the end of the server")


@part.case
def slow_clients(world, stack):
    """A scrape is quick whatever they do, and each is gone after its time."""
    front = Front(world, stack, make_groups(stack, 1, "slow"))
    front.until(lambda s: s, "the first figures")
    clients = []
    stack.callback(lambda: [c.close() for c in clients])
    for i in range(3 * CONNECTIONS):
        c = socket.create_connection(("127.0.0.1", front.port), 5)
        clients.append(c)
        c.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nX: "[:i % 30])
        if i % 16 == 15:
            began = time.monotonic()
            equal("status", front.ask()[0], 200)
            took = time.monotonic() - began
            check(took < 1, f"a scrape took {took:.1f} s besides {i + 1} clients")
    # One that sends a byte a second is never silent for long.
    drip = socket.create_connection(("127.0.0.1", front.port), 5)
    clients.append(drip)
    began = time.monotonic()
    drip.sendall(b"GET /metrics HTTP/1.1\r\nX: ")

    def is_cut():
        try:
            drip.sendall(b"x")
            drip.setblocking(False)
            return not drip.recv(1)
        except BlockingIOError:
            time.sleep(0.5)  # the next byte
            return False
        except OSError:
            return True

    machine.until(is_cut, "the end of the slow client", 2 * AGE_S)
    check(AGE_S - 1 <= time.monotonic() - began, "the slow client had less time")
    front.daemon.end()


def bcrypt(password, cost):
    """By another program."""
    done = subprocess.run(["perl", "-e", f"print crypt($ARGV[0], '$2b${cost:02}$abcdefghijklmnopqrstuu')", password],
                          capture_output=True, text=True, check=True)
    return done.stdout


def certificate(world):
    place = world.tool.fresh(".tls")
    os.mkdir(place)
    machine.run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{place}/key.pem", "-out",
                f"{place}/cert.pem", "-days", "2", "-subj", "/CN=localhost", "-addext",
                "subjectAltName=DNS:localhost,IP:127.0.0.1")
    return place


def web(place, cost=10):
    tls = f"tls_server_config:\n  cert_file: {place}/cert.pem\n  key_file: {place}/key.pem\n" if place else ""
    return f"{tls}basic_auth_users:\n  {USER}: {bcrypt(PASSWORD, cost)}\n"


@part.case
def passwords(world, stack):
    front = Front(world, stack, make_groups(stack, 1, "auth"), web=web(None))
    right = (USER, PASSWORD)
    front.daemon.until(lambda: front.ask(user=right)[0] == 200, "the first figures")
    status, headers, text = front.ask()
    equal("without a password", (status, text), (401, ""))
    check(headers["WWW-Authenticate"].startswith("Basic "), "no challenge")
    for path in ("/", "/x"):
        equal(path, front.ask(path)[0], 401)
    equal("POST", front.ask(method="POST")[0], 401)
    # Guesses are few a second, and keep nobody waiting who knows it.
    statuses = []
    for i in range(4 * GUESSES):
        user = USER if i % 2 else "nobody"
        status, _, text = front.ask(user=(user, f"{PASSWORD}{i}"))
        equal("text", text, "")
        statuses.append(status)
        equal("who knows it", front.ask(user=right)[0], 200)
    check(set(statuses) <= {401, 429} and 401 in statuses, f"{statuses}")
    front.daemon.end()


@part.case
def a_stranger_guesses(world, stack):
    """The right password passes the first time, whatever another address sends."""
    front = Front(world, stack, make_groups(stack, 1, "guesses"), web=web(None, 4))
    front.daemon.wait_runs(1)
    stranger = ("127.0.0.2", 0)

    def guess(i):
        return front.ask(user=(USER, f"{PASSWORD}{i}"), source=stranger)[0]

    # Until it may guess no more, and no second has begun since.
    front.daemon.until(lambda: 429 in [guess(i) for i in range(2 * GUESSES)], "too many guesses")
    status = front.ask(user=(USER, PASSWORD))[0]
    check(status in (200, 503), f"{status}, not figures or that there are none yet")
    front.daemon.end()


@part.case
def tls(world, stack):
    place = certificate(world)
    front = Front(world, stack, make_groups(stack, 1, "tls"), web=web(place))
    front.tls = ssl.create_default_context(cafile=f"{place}/cert.pem")
    front.daemon.until(lambda: front.ask(user=(USER, PASSWORD))[0] == 200, "the first figures")
    equal("without a password", front.ask()[0], 401)
    with contextlib.suppress(OSError, http.client.HTTPException):
        c = http.client.HTTPConnection("127.0.0.1", front.port, timeout=5)
        c.request("GET", "/metrics")
        check(c.getresponse().status != 200, "plain HTTP is answered")
    front.daemon.end()


@part.case
def refused(world, stack):
    """Before anything is measured, in one line."""
    place = certificate(world)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        free, other = free_port(), f"{place}/other.pem"
        shutil.copy(f"{place}/cert.pem", other)
        wrong = f"{place}/web.yml"
        with open(wrong, "w", encoding="ascii") as f:
            f.write(f"tls_server_config:\n  cert_file: {place}/cert.pem\n  key_file: {other}\n")
        loose = f"{place}/loose"
        os.mkdir(loose)
        os.chmod(loose, 0o777)
        for setting, why in ((f"listen: 127.0.0.1:{port}", "Address already in use"),
                             (f"listen: 127.0.0.1:{free}\n  web_config: {place}/none", "No such file"),
                             (f"listen: 127.0.0.1:{free}\n  web_config: {wrong}", "key is not valid"),
                             ("textfile_directory: /nowhere", "No such file"),
                             (f"textfile_directory: {loose}", "others can change")):
            config = f"{place}/node.yaml"
            with open(config, "w", encoding="ascii") as f:
                f.write(f"metrics:\n  {setting}\n")
            db = world.tool.fresh(".db")
            done = subprocess.run([world.tool.cachemon, "daemon", "--config", config, "--db", db],
                                  capture_output=True, text=True, timeout=60)
            check(done.returncode not in (0, None) and why in done.stderr, f"{setting}: {done.stderr}")
            equal("lines", done.stderr.count("\n"), 1)


@part.case
def scraped_by_prometheus(world, stack):
    """Through TLS, with a password, in OpenMetrics: the counts are those of the job's own account."""
    place, work = certificate(world), world.tool.fresh(".prom")
    os.mkdir(work)
    groups = make_groups(stack, 1, "scraped")
    (job,), (tally,) = start_jobs(world, stack, groups)
    front = Front(world, stack, groups, web=web(place))
    port = free_port()
    with open(f"{work}/prometheus.yml", "w", encoding="ascii") as f:
        f.write(json.dumps({
            "global": {"scrape_interval": "1s"},
            "scrape_configs": [{"job_name": "cachemon", "scheme": "https",
                                "basic_auth": {"username": USER, "password": PASSWORD},
                                "tls_config": {"ca_file": f"{place}/cert.pem", "server_name": "localhost"},
                                "static_configs": [{"targets": [f"127.0.0.1:{front.port}"]}]}]}))
    server = Server(stack, f"{work}/log", debian.program(os.path.dirname(world.data), "prometheus", "prometheus"),
                    f"--config.file={work}/prometheus.yml", f"--storage.tsdb.path={work}/tsdb",
                    f"--web.listen-address=127.0.0.1:{port}")
    front.daemon.wait_runs(1)
    job.do("read", 2, "in")
    did = sum(line["read_bytes"] for line in lines_of(tally))
    expr = f'cachemon_job_read_bytes_total{{jobid="{jobid(groups[0])}",mount="{world.data}"}}'
    server.until(f"{expr} of {did}", lambda: [v for _, v in query(port, expr)] == [did])
    equal("up", [v for _, v in query(port, "up")], [1])
    renamed = [m for m, _ in query(port, '{__name__=~"cachemon_.*"}') if any(n.startswith("exported_") for n in m)]
    equal("renamed labels", renamed, [])
    front.daemon.end()


if __name__ == "__main__":
    sys.exit(main(part))
