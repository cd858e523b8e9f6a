# SPDX-License-Identifier: BSD-2-Clause
"""Jobs of all shapes: each of their processes reads, and reports its requests.

They run in processes of their own (PART --work VERB DATA TALLY [FD]). The tally is a file with a
line for each reader; FD is a pipe whose end of file is the start signal."""

import ctypes
import os
import select
import signal
import sys
import threading
import time

from system_calls import NR_EXIT

from .groupwork import enders, spin, squeezed
from .reads import Reads

CHILDREN = 6
THREADS = 5
CHAIN = 5
STORM_MS = 2
STORM_LEAST = 50
WALKERS = 4
BURN_NS = 300_000_000
PR_SET_CHILD_SUBREAPER = 36
NR_clone3 = 435
CLONE_INTO_CGROUP = 0x200000000
libc = ctypes.CDLL(None, use_errno=True)


class Job:
    def __init__(self, verb, data, tally, *rest):
        self.verb = verb
        self.data = data
        self.tally = tally
        self.rest = rest
        self.names = sorted(os.listdir(data))

    def again(self, *rest):
        """argv of the same program with another verb."""
        return [sys.executable, sys.argv[0], "--work", *rest]

    def read(self, share=0, passes=1):
        """A few of the files, depending on the reader."""
        reads = Reads()
        for i in range(passes):
            for name in self.names[(share + i) % 3::3]:
                reads.path(os.path.join(self.data, name), 5000 + 4096 * (share % 4))
        return reads

    def read_and_tell(self, share=0, passes=1, **more):
        self.read(share, passes).tell(self.tally, **more)

    def child(self, function, *args):
        pid = os.fork()
        if pid:
            return pid
        try:
            function(*args)
        except BaseException as e:
            print(f"{self.verb}: {e!r}", file=sys.stderr)
            os._exit(3)
        os._exit(0)

    def told(self):
        with open(self.tally) as f:
            return len(f.readlines())

    def wait_told(self, lines):
        end = time.monotonic() + 60
        while not os.path.exists(self.tally) or self.told() < lines:
            if time.monotonic() > end:
                sys.exit(f"{self.verb}: not {lines} readers after 60 s")
            time.sleep(0.005)

    def wait_go(self):
        os.read(int(self.rest[0]), 1)


def wait_all():
    status = 0
    while True:
        try:
            status |= os.wait()[1]
        except ChildProcessError:
            return 1 if status else 0


def forks(job):
    job.read_and_tell()
    for i in range(CHILDREN):
        job.child(job.read_and_tell, i)
    return wait_all()


def double_forks(job):
    """The middle process is gone before the last one reads."""
    def last(share, middle):
        while os.getppid() == middle:
            time.sleep(0.002)
        job.read_and_tell(share)

    def middle(share):
        me = os.getpid()
        job.child(last, share, me)

    for i in range(CHILDREN):
        job.child(middle, i)
    status = wait_all()
    job.wait_told(CHILDREN)
    return status


def exec_chain(job):
    left = int(job.rest[0]) if job.rest else CHAIN
    job.read_and_tell(left)
    if left > 1:
        os.execv(sys.executable, job.again("exec_chain", job.data, job.tally, str(left - 1)))
    return 0


def threads(job):
    started = [threading.Thread(target=job.read_and_tell, args=(i,)) for i in range(THREADS)]
    for t in started:
        t.start()
    for t in started:
        t.join()
    return 0


def exec_from_thread(job):
    """The thread that calls exec replaces the first one."""
    job.read_and_tell()
    argv = job.again("plain", job.data, job.tally)
    t = threading.Thread(target=lambda: (job.read_and_tell(1), os.execv(sys.executable, argv)))
    t.start()
    t.join()
    return 1


def fork_from_threads(job):
    def one(share):
        job.read_and_tell(share)
        os.waitpid(job.child(job.read_and_tell, share + 1), 0)

    started = [threading.Thread(target=one, args=(i,)) for i in range(THREADS)]
    for t in started:
        t.start()
    for t in started:
        t.join()
    return 0


def spawned(job):
    """posix_spawn: vfork and exec."""
    for _ in range(3):
        pid = os.posix_spawn(sys.executable, job.again("plain", job.data, job.tally), os.environ)
        os.waitpid(pid, 0)
    return 0


def plain(job):
    job.read_and_tell(2)
    return 0


def outlives(job):
    """A daemon that reads before the command ends and outlives it."""
    def daemon():
        os.setsid()
        job.read_and_tell(1, pid=os.getpid())
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        while True:
            time.sleep(60)

    job.child(lambda: job.child(daemon))
    os.wait()
    job.wait_told(1)
    return 0


def tree(job):
    """Exists before cachemon attaches: three generations and threads, all waiting for the start."""
    def leaf(share):
        job.wait_go()
        job.read_and_tell(share)

    def branch(share):
        for i in range(2):
            job.child(leaf, share + i)
        t = threading.Thread(target=leaf, args=(share,))
        t.start()
        job.wait_go()
        job.child(job.read_and_tell, share + 2)  # one that comes later
        t.join()
        wait_all()

    for i in range(4):
        job.child(branch, i)
    print("ready", flush=True)
    job.wait_go()
    job.read_and_tell(1)
    return wait_all()


TREE_READERS = 1 + 4 * 4
TREE_PROCESSES = 1 + 4 * 4 - 4 + 4  # a branch's reader is a thread, and the branch a process


def storm(job):
    """Forks all the time, before, while and after cachemon attaches; all wait for the start."""
    def leaf(share):
        if share % 3 == 0:
            job.child(job_leaf, share)
        job_leaf(share)
        if share % 3 == 0:
            os.wait()

    def job_leaf(share):
        job.wait_go()
        job.read_and_tell(share)

    print("ready", flush=True)
    nr = 0
    go = select.poll()
    go.register(int(job.rest[0]), select.POLLIN | select.POLLHUP)
    while not go.poll(STORM_MS) or nr < STORM_LEAST:
        job.child(leaf, nr)
        nr += 1
    job.read_and_tell(1, forked=nr)
    return wait_all()


def walkers(job):
    """Chains of processes, each of which forks the next one and ends. The first process adopts
    them, so that each is its descendant at every moment; those alive at the end read."""
    def walk(share):
        while not go.poll(0):
            if os.fork():
                os._exit(0)
        job.read_and_tell(share)

    go = select.poll()
    go.register(int(job.rest[0]), select.POLLIN | select.POLLHUP)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        sys.exit("walkers: cannot adopt")
    for i in range(WALKERS):
        job.child(walk, i)
    print("ready", flush=True)
    status = wait_all()
    job.read_and_tell(1)
    return status


def zombies(job):
    """In the tree: a process that has ended, and one whose first thread has, both not reaped."""
    def leaderless():
        threading.Thread(target=goes_on).start()
        libc.syscall(NR_EXIT, 0)

    def goes_on():
        until_zombie(os.getpid())
        print("ready", flush=True)
        job.wait_go()
        job.read_and_tell(2)
        os._exit(0)

    until_zombie(job.child(lambda: None))
    job.child(leaderless)
    job.wait_go()
    job.read_and_tell(1)
    return wait_all()


def until_zombie(pid):
    def state():
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0]
    while state() != "Z":
        time.sleep(0.002)


def burn(cpu_ns):
    """Uses CPU time in this thread, all in user space; returns how much."""
    start = time.thread_time_ns()
    while time.thread_time_ns() - start < cpu_ns:
        pass
    return time.thread_time_ns() - start


def clone_into(group):
    """fork() into a cgroup (v2)."""
    fd = os.open(group, os.O_RDONLY | os.O_DIRECTORY)
    args = (ctypes.c_uint64 * 11)()
    args[0], args[4], args[10] = CLONE_INTO_CGROUP, signal.SIGCHLD, fd
    pid = libc.syscall(NR_clone3, args, ctypes.sizeof(args))
    if pid < 0:
        raise OSError(ctypes.get_errno(), "clone3")
    if pid:
        os.close(fd)
    return pid


def exec_again(job):
    """By a thread, which replaces the first one."""
    argv = job.again("loop", job.data, job.tally, "done")
    t = threading.Thread(target=os.execv, args=(sys.executable, argv))
    t.start()
    t.join()


def loop(job):
    """Obeys: "enter PATH FILE" enters a cgroup, "read N" reads and reports, "fork" forks a child
    that reads once it is released, "exec" starts again, "end" ends. Answers each with a line."""
    if job.rest:
        print(job.rest[0], flush=True)
    for line in iter(sys.stdin.readline, ""):
        words = line.split()
        if words[0] == "enter":
            with open(os.path.join(words[1], words[2]), "w") as f:
                f.write("0" if words[2] == "tasks" else str(os.getpid()))
        elif words[0] == "read":
            job.read_and_tell(int(words[1]), mark=words[2])
        elif words[0] == "fork":
            os.waitpid(job.child(lambda: job.read_and_tell(int(words[1]), mark=words[2])), 0)
        elif words[0] == "clone":
            pid = clone_into(words[1])
            if not pid:
                job.read_and_tell(2, mark=words[2])
                os._exit(0)
            os.waitpid(pid, 0)
        elif words[0] == "exec":
            exec_again(job)
        elif words[0] == "thread":
            t = threading.Thread(target=thread_inside, args=(job, *words[1:]))
            t.start()
            t.join()
        elif words[0] == "end":
            break
        print("done", flush=True)
    return 0


def loop_in_threads(job):
    """The same in a second thread, while the first waits."""
    t = threading.Thread(target=loop, args=(job,))
    t.start()
    t.join()
    return 0


def loop_without_leader(job):
    """The same in a second thread, after the first has ended."""
    threading.Thread(target=loop, args=(job,)).start()
    libc.syscall(NR_EXIT, 0)


def thread_inside(job, group, file, mark):
    """One thread of a process that stays outside; it works before and after it enters."""
    burn(BURN_NS)
    with open(os.path.join(group, file), "w") as f:
        f.write(str(threading.get_native_id()))
    start = time.thread_time_ns()
    burn(BURN_NS)
    reads = job.read(1)
    reads.tell(job.tally, mark=mark, cpu_ns=time.thread_time_ns() - start)


VERBS = {f.__name__: f for f in (forks, double_forks, exec_chain, threads, exec_from_thread,
                                 fork_from_threads, spawned, plain, outlives, tree, storm, walkers,
                                 zombies, enders, spin, squeezed, loop,
                                 loop_in_threads, loop_without_leader)}


def work(verb, *args):
    return VERBS[verb](Job(verb, *args))
