#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The number of instructions that the verifier processes for each program: it gives up at a
million, and with another kernel or compiler it may need more. Every program is loaded, with each
setting of the constants; those of the builds that a kernel uses must be verified within 100,000.
The full counts: three compilers, and other kernels in guests."""

import os
import subprocess
import sys

sys.dont_write_bytecode = True
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(os.path.join(TESTS, "vm"))

from faultlib.link import build_dir  # noqa: E402
from faultlib.part import Failed, Part, Skipped, expect, full_counts  # noqa: E402
from vmlib.guest import Died, Guest, Settings  # noqa: E402

LIMIT = 100000
OBJECTS = {"direct": "cachemon", "probe": "cachemon_probe", "basic": "cachemon_basic"}
CLANGS = ("clang-14", "clang-16", "clang-19")
# The builds that each kernel uses, or may be told to use (CACHEMON_PROBES). Frames of the probe
# build are too large for 6.12, whose programs have no private stacks: no kernel with its tracepoint
# uses it.
KERNELS = {"5.10": ("basic",), "6.1": ("probe",), "6.12": ("direct",), "sid": ("direct", "probe")}
# Each of them has programs for tracepoints that all of these kernels have.
AT_LEAST = 20
GUEST_S = 3000
MOST = 3

part = Part("verifier", __doc__)
part.parser.add_argument("--full", action="store_true", default=full_counts() and
                         "CACHEMON_FULL" in os.environ, help="all compilers, all kernels")
part.parser.add_argument("--clang", action="append", help="these compilers (%(default)s)")
part.parser.add_argument("--kernel", action="append", choices=KERNELS, help="and these guests")
args = part.parser.parse_args()


def helper(case):
    _, source = build_dir(case.cachemon)
    return case.helper("verifier", f"-I{source}", "-lbpf")


def objects(case, clang):
    """The directory of a compiler's objects; None: the build's own."""
    build, source = build_dir(case.cachemon)
    if not clang:
        return os.path.join(build, "bpf")
    found = subprocess.run([clang, "--version"], capture_output=True, text=True, check=False) \
        if any(os.access(os.path.join(p, clang), os.X_OK)
               for p in os.environ["PATH"].split(":")) else None
    if not found:
        raise Skipped(f"no {clang} here")
    out = os.path.join(part.work, clang)
    if not os.path.exists(out):
        for argv in (["cmake", "-S", source, "-B", out, f"-DBPF_CLANG={clang}"],
                     ["cmake", "--build", out, "--target", "bpf_skeleton"]):
            done = subprocess.run(argv, capture_output=True, text=True, check=False)
            expect(done.returncode == 0, f"{' '.join(argv)}: {done.stderr[-500:]}")
    return os.path.join(out, "bpf")


def judge(output, what):
    """The results for one object from the helper's output."""
    lines = [line.split(maxsplit=1) for line in output.splitlines() if line.strip()]
    figures = {name: int(rest) for name, rest in lines if rest.isdigit()}
    refused = [f"{name}: {rest}" for name, rest in lines if rest.startswith("refused")]
    expect(not refused, f"{what}: {refused[:3]}")
    expect(len(figures) >= AT_LEAST, f"{what}: only {len(figures)} of {len(lines)} programs")
    above = {name: nr for name, nr in figures.items() if nr > LIMIT}
    expect(not above, f"{what}: above {LIMIT}: {above}")
    most = sorted(figures.items(), key=lambda entry: -entry[1])[:MOST]
    return f"{len(figures)} of {len(lines)} programs, most " + \
        ", ".join(f"{name} {nr}" for name, nr in most)


def builds_here():
    """As in cachemon/plan/probe_build.c."""
    with open("/sys/kernel/btf/vmlinux", "rb") as f:
        names = f.read()
    if b"\0BPF_FUNC_map_lookup_percpu_elem\0" not in names:
        return ("basic",)
    if b"\0bpf_rdonly_cast\0" not in names:
        return ("probe",)
    return ("direct", "probe") if b"\0jits_use_priv_stack\0" in names else ("direct",)


def here_case(clang, build):
    @part.case(f"this kernel, {clang or 'the compiler of this build'}, {build}")
    def case(case):
        path = os.path.join(objects(case, clang), OBJECTS[build] + ".bpf.o")
        done = subprocess.run([helper(case), path], capture_output=True, text=True, check=False)
        expect(done.returncode == 0, f"status {done.returncode}: {done.stderr.strip()}")
        return judge(done.stdout, build)


def in_guest(case, kernel):
    """One boot for all objects: {(clang, build): output}"""
    found = subprocess.run([os.path.join(TESTS, "vm", "kernels"), "get", kernel],
                           capture_output=True, text=True, check=False)
    if found.returncode:
        raise Skipped(found.stderr.strip())
    script = ["set -e"]
    for clang in CLANGS:
        for build in KERNELS[kernel]:
            path = os.path.join(objects(case, clang), OBJECTS[build] + ".bpf.o")
            script.append(f"{helper(case)} {path} >/out/{clang}.{build}")
    out = case.path("out")
    guest = Guest(found.stdout.strip(), out, Settings(scratch=None, timeout_s=GUEST_S))
    try:
        status = guest.run(["\n".join(script)])
    except Died as e:
        raise Failed(str(e)) from e
    expect(status == 0, f"status {status}: {guest.read('log')[-500:]}")
    return {(clang, build): guest.read(f"{clang}.{build}")
            for clang in CLANGS for build in KERNELS[kernel]}


def guest_case(kernel):
    @part.case(f"{kernel} in a guest")
    def case(case):
        told = [f"{clang}, {build}: {judge(output, f'{clang}, {build}')}"
                for (clang, build), output in in_guest(case, kernel).items()]
        return "".join("\n        " + line for line in told)


for clang_name in args.clang or (CLANGS if args.full else (None,)):
    for build_name in builds_here():
        here_case(clang_name, build_name)
for kernel_name in args.kernel or (KERNELS if args.full else ()):
    guest_case(kernel_name)


@part.case("a program that is too long is seen")
def too_long(_):
    try:
        judge("\n".join([f"p{i} 5" for i in range(AT_LEAST)] + [f"long {LIMIT + 1}"]), "invented")
    except Failed:
        return
    raise Failed("it is not")


if __name__ == "__main__":
    part.main()
