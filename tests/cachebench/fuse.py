# SPDX-License-Identifier: BSD-2-Clause
"""A file served by FUSE to a workload, in place of a network filesystem; its server is as slow
as the device below it. Owns the mount and the server."""

import os
import signal
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(os.path.dirname(HERE), "system", "syslib", "fusefs.c")
JOIN = 'for g in $(echo "$CACHEMON_JOIN" | tr : " "); do echo 0 >"$g/cgroup.procs"; done; exec "$@"'


def build(work):
    """The server's program; None: this machine has no FUSE, or cannot build it."""
    if not os.path.exists("/dev/fuse"):
        return None
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "fuse3"], capture_output=True, text=True)
    if flags.returncode:
        return None
    program = os.path.join(work, "fusefs")
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-D_GNU_SOURCE", "-D_FILE_OFFSET_BITS=64",
                    "-Wl,--no-as-needed", "-o", program, SOURCE, *flags.stdout.split()], check=True)
    return program


def end(server, mount):
    subprocess.run(["umount", "-l", mount], stderr=subprocess.DEVNULL)
    server.send_signal(signal.SIGTERM)
    server.wait()
    server.stdout.close()
    os.rmdir(mount)


def serve(stack, program, directory, how, name, at, env):
    """how: cached, direct. Serves the file as AT/data, by a server under the workload's
    conditions, until the stack ends."""
    mount = os.path.join(directory, at)
    os.mkdir(mount)
    server = subprocess.Popen(["sh", "-c", JOIN, "sh", program, how, os.path.join(directory, name), mount],
                              env=env, stdout=subprocess.PIPE, text=True)
    stack.callback(end, server, mount)
    if server.stdout.readline() != "ready\n":
        raise RuntimeError("the FUSE server did not begin")
