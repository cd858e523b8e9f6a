# SPDX-License-Identifier: BSD-2-Clause
"""NFSv4 from this machine to itself: the kernel's own server, and mountstats."""

import contextlib
import os
import shutil
import subprocess
import tempfile

NFSD = "/proc/fs/nfsd"
MODULES = ("nfsd", "nfsv4")
# The client of a server on its own machine may bypass the network; other clients cannot.
LOCAL = "/sys/module/nfs/parameters/localio_enabled"
PROGRAMS = ("modprobe", "exportfs", "rpc.nfsd", "rpc.mountd", "mount.nfs4")
OPTIONS = "rw,fsid=0,insecure,no_subtree_check"
THREADS = "4"


def run(*argv):
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(argv)}: {done.stderr.strip() or done.returncode}")


def threads():
    try:
        with open(f"{NFSD}/threads", encoding="ascii") as f:
            return int(f.read())
    except FileNotFoundError:
        return 0


def lacks():
    """Why this machine cannot serve and mount NFS, or None."""
    for program in PROGRAMS:
        if not shutil.which(program):
            return f"{program} is not installed"
    for module in MODULES:
        if subprocess.run(["modprobe", module], capture_output=True).returncode:
            return f"this kernel has no {module}"
    return "an NFS server runs here already" if threads() else None


def own_state(stack):
    """The server has its own state: nothing of the machine's is changed."""
    for place in "/var/lib/nfs", "/run/rpc_pipefs":
        os.makedirs(place, exist_ok=True)
    run("mount", "-t", "tmpfs", "none", "/var/lib/nfs")
    stack.callback(subprocess.run, ["umount", "-l", "/var/lib/nfs"])
    for place in "v4recovery", "rpc_pipefs":
        os.mkdir(f"/var/lib/nfs/{place}")
    for name in "etab", "rmtab":
        with open(f"/var/lib/nfs/{name}", "w", encoding="ascii"):
            pass


@contextlib.contextmanager
def loopback(export, mount, root="no_root_squash"):
    """Exports `export`, a directory of a filesystem on disk, and mounts it at mount. root: how
    the server maps root."""
    with contextlib.ExitStack() as stack:
        own_state(stack)
        if not os.path.exists(f"{NFSD}/threads"):
            run("mount", "-t", "nfsd", "nfsd", NFSD)
            stack.callback(subprocess.run, ["umount", NFSD])
        errors = stack.enter_context(tempfile.TemporaryFile())
        mountd = subprocess.Popen(["rpc.mountd", "-F", "-N", "2", "-N", "3"], stderr=errors)
        stack.callback(mountd.wait)
        stack.callback(mountd.kill)
        run("exportfs", "-i", "-o", f"{OPTIONS},{root}", f"127.0.0.1:{export}")
        stack.callback(subprocess.run, ["exportfs", "-ua"])
        stack.callback(subprocess.run, ["rpc.nfsd", "0"])
        run("rpc.nfsd", "-N", "3", "-G", "10", "-L", "10", THREADS)
        # There are no open files to reclaim.
        with contextlib.suppress(OSError), open(f"{NFSD}/v4_end_grace", "w", encoding="ascii") as f:
            f.write("Y")
        if os.path.exists(LOCAL):
            with open(LOCAL, "w", encoding="ascii") as f:
                f.write("N")
        os.makedirs(mount, exist_ok=True)
        run("mount", "-t", "nfs4", "-o", "vers=4.2", "127.0.0.1:/", mount)
        stack.callback(subprocess.run, ["umount", "-f", mount])
        yield


def mountstats(mount):
    """Bytes read through the cache, by direct I/O, and requested from the server; and its calls,
    which may skip holes since 4.2."""
    with open("/proc/self/mountstats", encoding="ascii") as f:
        devices = f.read().split("\ndevice ")
    for text in devices:
        if f" mounted on {mount} " not in text:
            continue
        words = [line.split() for line in text.splitlines()]
        n = [int(w) for w in next(w for w in words if w[:1] == ["bytes:"])[1:]]
        calls = sum(int(w[1]) for w in words if w[:1] in (["READ:"], ["READ_PLUS:"]))
        return {"normal": n[0], "direct": n[2], "server": n[4], "calls": calls}
    raise RuntimeError(f"{mount} is not in mountstats")
