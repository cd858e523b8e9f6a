# SPDX-License-Identifier: BSD-2-Clause
"""The guest's part of tests/bench/peers for calls: jobs in Slurm's cgroups with known numbers of
calls, counted at the same time by cachemon and by peers_calls, which counts as the exporter of
CEEMS does.

That exporter adds up the cgroups of a job that are there at a scrape, and so does this."""

import contextlib
import ctypes
import json
import mmap
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request

DIR = "/scratch/calls"
DB = "/tmp/calls.db"
CONFIG = "/tmp/calls.yaml"
PORT = 9752
CGROUPS = "/sys/fs/cgroup/system.slice/guest_slurmstepd.scope"
SIZE, TIMES = 4000, 10
TCP_SENT, TCP_RECEIVED, DATAGRAM, DATAGRAMS = 1000000, 123456, 500, 100
WAIT_S = 120
SERIES = re.compile(r'cachemon_job_(\w+)\{manager="slurm",jobid="(\d+)",?([^}]*)\} (\S+)')
PROT, SHARED = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | mmap.MAP_POPULATE


def until(condition, what):
    end = time.monotonic() + WAIT_S
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"not in {WAIT_S} s: {what}")
        time.sleep(0.02)


class Ring:
    """One io_uring for one request at a time, by its system calls."""

    SETUP, ENTER, READ, WAIT = 425, 426, 22, 1

    def __init__(self):
        self.libc = ctypes.CDLL(None, use_errno=True)
        params = (ctypes.c_uint32 * 30)()
        self.fd = self.libc.syscall(self.SETUP, 1, params)
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), "io_uring_setup")
        self.ring = mmap.mmap(self.fd, 4096, SHARED, PROT, offset=0)
        self.entries = mmap.mmap(self.fd, 4096, SHARED, PROT, offset=0x10000000)
        self.tail, self.array = params[11], params[16]

    def read(self, fd, size, offset):
        buffer = ctypes.create_string_buffer(size)
        entry = (ctypes.c_uint64 * 8).from_buffer(self.entries)
        entry[0], entry[1], entry[2], entry[3] = self.READ | fd << 32, offset, ctypes.addressof(buffer), size
        ctypes.c_uint32.from_buffer(self.ring, self.array).value = 0
        ctypes.c_uint32.from_buffer(self.ring, self.tail).value += 1
        if self.libc.syscall(self.ENTER, self.fd, 1, 1, self.WAIT, None, 0) != 1:
            raise OSError(ctypes.get_errno(), "io_uring_enter")
        return size


@contextlib.contextmanager
def opened(name, flags=os.O_RDONLY):
    fd = os.open(f"{DIR}/{name}", flags, 0o600)
    try:
        yield fd
    finally:
        os.close(fd)


def refused(function, *args):
    try:
        function(*args)
    except OSError:
        return
    raise RuntimeError("a call that should fail does not")


def read():
    with opened("file") as fd:
        for i in range(TIMES):
            os.pread(fd, SIZE, i * SIZE)


def readv():
    with opened("file") as fd:
        for i in range(TIMES):
            os.preadv(fd, [bytearray(SIZE // 4) for _ in range(4)], i * SIZE)


def sendfile():
    with opened("file") as fd:
        null = os.open("/dev/null", os.O_WRONLY)
        for i in range(TIMES):
            os.sendfile(null, fd, i * SIZE, SIZE)
        os.close(null)


def uring():
    ring = Ring()
    with opened("file") as fd:
        for i in range(TIMES):
            ring.read(fd, SIZE, i * SIZE)


def write():
    with opened("file", os.O_WRONLY) as fd:
        for i in range(TIMES):
            os.pwrite(fd, bytes(SIZE), i * SIZE)


def writev():
    with opened("file", os.O_WRONLY) as fd:
        for i in range(TIMES):
            os.pwritev(fd, [bytes(SIZE // 4)] * 4, i * SIZE)


def create():
    for i in range(20):
        with opened(f"new{i}", os.O_WRONLY | os.O_CREAT):
            pass


def mkdir():
    for i in range(30):
        os.mkdir(f"{DIR}/d{i}")
    for i in range(10):
        refused(os.mkdir, f"{DIR}/d{i}")


def unlink():
    for i in range(20):
        os.unlink(f"{DIR}/new{i}")
    for i in range(7):
        refused(os.unlink, f"{DIR}/none{i}")


def tcp(port):
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.sendall(bytes(TCP_SENT))
        s.shutdown(socket.SHUT_WR)
        while s.recv(65536):
            pass


def udp(port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        for _ in range(DATAGRAMS):
            s.sendto(bytes(DATAGRAM), ("127.0.0.1", port))
            s.recv(DATAGRAM)


# The work, its true numbers, and where CEEMS and cachemon have them.
BYTES, READS = SIZE * TIMES, ("read_calls", "read_bytes")
ROWS = {
    "read": (f"{TIMES} reads of {SIZE:,} bytes", (TIMES, BYTES), ("read", "calls", "bytes"), READS),
    "readv": (f"{TIMES} preadv of {SIZE:,} bytes", (TIMES, BYTES), ("read", "calls", "bytes"), READS),
    "sendfile": (f"{TIMES} sendfile of {SIZE:,} bytes", (TIMES, BYTES), ("read", "calls", "bytes"), READS),
    "uring": (f"{TIMES} reads of {SIZE:,} bytes by io_uring", (TIMES, BYTES), ("read", "calls", "bytes"), READS),
    "write": (f"{TIMES} writes of {SIZE:,} bytes", (BYTES,), ("write", "bytes"), ("wchar_bytes",)),
    "writev": (f"{TIMES} pwritev of {SIZE:,} bytes", (BYTES,), ("write", "bytes"), ("wchar_bytes",)),
    "create": ("20 files created by open", (20,), ("create", "calls"), ("vfs_created_files",)),
    "mkdir": ("30 mkdir, and 10 of directories that exist: calls, errors", (40, 10), ("create", "calls", "errors"),
              ('vfs_calls/call="mkdir"', 'vfs_errors/call="mkdir"')),
    "unlink": ("20 unlink, and 7 of no file: calls, errors", (27, 7), ("unlink", "calls", "errors"),
               ('vfs_calls/call="unlink"', 'vfs_errors/call="unlink"')),
    "tcp": (f"{TCP_SENT:,} bytes sent by TCP", (TCP_SENT,), ("tcp_sent", "bytes"), ('network_sent_bytes/protocol="tcp"',)),
    "tcp back": (f"{TCP_RECEIVED:,} bytes received by TCP", (TCP_RECEIVED,), ("tcp_received", "bytes"),
                 ('network_received_bytes/protocol="tcp"',)),
    "udp": (f"{DATAGRAMS} datagrams of {DATAGRAM} bytes sent", (DATAGRAMS * DATAGRAM,), ("udp_sent", "bytes"),
            ('network_sent_bytes/protocol="udp"',)),
}
WORK = {"read": read, "readv": readv, "sendfile": sendfile, "uring": uring, "write": write, "writev": writev,
        "create": create, "mkdir": mkdir, "unlink": unlink}
SIGNALS = {signal.SIGUSR1, signal.SIGUSR2}


class Worker:
    """A process of a job. Orders are signals and a byte of shared memory, because reads and writes
    of a pipe would count."""

    def __init__(self, cgroup, work=()):
        self.work = [lambda: None, *work]
        self.order = mmap.mmap(-1, 2)
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        self.pid = os.fork()
        if not self.pid:
            self.obey()
        with open(f"{cgroup}/cgroup.procs", "w", encoding="ascii") as f:
            f.write(str(self.pid))

    def obey(self):
        try:
            while signal.sigwait(SIGNALS) == signal.SIGUSR1:
                self.work[self.order[0]]()
                self.order[1] = 1
        finally:
            os._exit(0)

    def do(self, which):
        self.order[0], self.order[1] = which, 0
        os.kill(self.pid, signal.SIGUSR1)
        until(lambda: self.order[1], "the end of the work")

    def end(self):
        os.kill(self.pid, signal.SIGUSR2)
        os.waitpid(self.pid, 0)


class Ceems:
    def __init__(self, build, stack):
        self.process = subprocess.Popen([f"{build}/tests/bench/peers_calls", f"{build}/tests/bench/peers_calls.bpf.o",
                                         DIR], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        stack.callback(self.process.kill)
        self.refused = [line.split()[1] for line in iter(self.process.stdout.readline, "ready\n")]

    def scrape(self, job):
        """{call: {calls, errors, bytes}} of the cgroups that the job has now."""
        live = {os.stat(place).st_ino for place, _, _ in os.walk(f"{CGROUPS}/job_{job}")}
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        found = {}
        for line in iter(self.process.stdout.readline, "\n"):
            cgroup, call, *numbers = line.split()
            if int(cgroup) in live:
                total = found.setdefault(call, {"calls": 0, "errors": 0, "bytes": 0})
                for name, number in zip(total, numbers):
                    total[name] += int(number)
        return found

    def values(self, job, row):
        call, *names = ROWS[row][2]
        return [self.scrape(job).get(call, {}).get(name, 0) for name in names]


class Daemon:
    def __init__(self, build, stack):
        with open(CONFIG, "w", encoding="ascii") as f:
            f.write(f"metrics:\n  listen: 127.0.0.1:{PORT}\n  vfs: functions\ninterval: 1s\njobs:\n  kinds: [slurm]\n")
        self.process = subprocess.Popen([f"{build}/cachemon/cachemon", "daemon", "--config", CONFIG, "--db", DB],
                                        stdin=subprocess.DEVNULL)
        stack.callback(self.process.kill)
        until(self.series, "cachemon's metrics")

    def query(self, sql):
        with contextlib.suppress(sqlite3.Error):
            with contextlib.closing(sqlite3.connect(f"file:{DB}?mode=ro", uri=True)) as db:
                return db.execute(sql).fetchall()
        return []

    def begun(self, job):
        until(lambda: self.query("SELECT 1 FROM job JOIN interval USING (run_id) "
                                 f"WHERE slot = 1 AND selector LIKE '%job_{job}%'"), f"a run of job {job}")

    def settle(self):
        """Everything counted before is in the metrics."""
        for _ in range(2):
            before = self.last()
            until(lambda: self.last() > before, "an interval")

    def ended(self, job):
        """The last figures of an ended job are in the metrics."""
        until(lambda: any(s[:2] == ("running", job) and s[3] == "0" for s in SERIES.findall(self.series())),
              f"the end of job {job}")

    def last(self):
        return (self.query("SELECT max(id) FROM interval") or [(0,)])[0][0] or 0

    def series(self):
        with contextlib.suppress(OSError):
            with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/metrics", timeout=60) as answer:
                return answer.read().decode()
        return ""

    def values(self, job, row):
        """None: it has no such series."""
        text, found = SERIES.findall(self.series()), []
        for name in ROWS[row][3]:
            name, _, label = name.partition("/")
            of_job = [float(v) for n, j, labels, v in text if n == f"{name}_total" and j == job and label in labels
                      and (name not in READS or 'mount="/scratch"' in labels)]
            known = any(n == f"{name}_total" for n, _, _, _ in text)
            found.append(int(sum(of_job)) if known else None)
        return found


def make_step(job, step):
    place = CGROUPS
    for name in (f"job_{job}", f"step_{step}", "user", "task_0"):
        place += "/" + name
        os.makedirs(place, exist_ok=True)
    return place


def remove(place, top):
    """An empty cgroup and those above it, as Slurm does."""
    until(lambda: "populated 0" in open(f"{place}/cgroup.events", encoding="ascii").read(), "an empty cgroup")
    while place != top:
        os.rmdir(place)
        place = os.path.dirname(place)


def serve():
    """The other end of the connections, in no job."""
    server = socket.create_server(("127.0.0.1", 0))
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagrams.bind(("127.0.0.1", 0))
    pid = os.fork()
    if not pid:
        try:
            with server.accept()[0] as c:
                while c.recv(65536):
                    pass
                c.sendall(bytes(TCP_RECEIVED))
            for _ in range(DATAGRAMS):
                data, address = datagrams.recvfrom(2000)
                datagrams.sendto(data[:1], address)
        finally:
            os._exit(0)
    return server.getsockname()[1], datagrams.getsockname()[1]


def known_calls(ceems, daemon):
    ports = serve()
    work = {**WORK, "tcp": lambda: tcp(ports[0]), "udp": lambda: udp(ports[1])}
    place = make_step("101", 0)
    worker = Worker(place, work.values())
    daemon.begun("101")
    worker.do(0)
    told = {}

    def look():
        daemon.settle()
        return {row: (ceems.values("101", row), daemon.values("101", row)) for row in ROWS}

    before = look()
    for nr, name in enumerate(work, 1):
        worker.do(nr)
        after = look()
        for row in ROWS:
            if row.split()[0] == name:
                told[row] = [[None if a is None else a - (b or 0) for a, b in zip(*pair)]
                             for pair in zip(after[row], before[row])]
        before = after
    worker.end()
    remove(place, CGROUPS)
    return told


def a_short_job(ceems, daemon):
    """It is over before the next scrape."""
    place = make_step("102", 0)
    worker = Worker(place, [read])
    time.sleep(0.5)  # a job's own start
    worker.do(1)
    worker.end()
    remove(place, CGROUPS)
    daemon.ended("102")
    return ceems.values("102", "read"), daemon.values("102", "read")


def steps(ceems, daemon):
    """The bytes of a job while its first step runs, after it, and at the end of its second step."""
    told, first = ([], []), make_step("103", 0)
    worker = Worker(first, [read])
    daemon.begun("103")

    def look():
        daemon.settle()
        told[0].append(ceems.values("103", "read")[1])
        told[1].append(daemon.values("103", "read")[1])

    for _ in range(3):
        worker.do(1)
    look()
    worker.end()
    remove(first, f"{CGROUPS}/job_103")
    look()
    second = make_step("103", 1)
    worker = Worker(second, [read])
    worker.do(1)
    look()
    worker.end()
    remove(second, CGROUPS)
    return told


def calls(build):
    os.mkdir(DIR)
    with opened("file", os.O_WRONLY | os.O_CREAT) as fd:
        os.write(fd, bytes(BYTES))
    os.makedirs(CGROUPS, exist_ok=True)
    with contextlib.ExitStack() as stack:
        ceems, daemon = Ceems(build, stack), Daemon(build, stack)
        return {"refused": ceems.refused, "rows": known_calls(ceems, daemon),
                "short": a_short_job(ceems, daemon), "steps": steps(ceems, daemon)}


if __name__ == "__main__":
    print(json.dumps(calls(*sys.argv[1:]), indent=1))
