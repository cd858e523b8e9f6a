#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The installed program has the protections that make an error in it harder to exploit. Each
check fails on a program built without the protection."""

import os
import platform
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib.part import Failed, Part, Skipped, check, equal  # noqa: E402

part = Part(__doc__)

FORTIFIED_MIN = 12  # functions of the C library that check the size of their output
X86 = platform.machine() == "x86_64"


def run(*argv):
    done = subprocess.run(argv, capture_output=True, text=True)
    check(done.returncode == 0, f"{' '.join(argv)}: {done.stderr.strip()[-300:]}")
    return done.stdout


class Program:
    """The output of readelf."""

    def __init__(self, path):
        self.path = path
        self.header = run("readelf", "-Wh", path)
        self.dynamic = run("readelf", "-Wd", path)
        self.notes = run("readelf", "-Wn", path)
        # (type, offset, flags)
        self.segments = [(m[1], int(m[2], 16), m[3].replace(" ", "")) for m in re.finditer(
            r"^  ([A-Z_]+) +0x([0-9a-f]+)(?: 0x[0-9a-f]+){4} ([RWE ]{3}) ", run("readelf", "-Wl", path), re.M)]
        check(self.segments, f"{path}: no segments")
        self.imported = {m[1] for m in re.finditer(r" UND (\w+)", run("readelf", "-W", "--dyn-syms", path))}

    def flags(self, kind):
        return [flags for k, _, flags in self.segments if k == kind]


def position_independent(p):
    """Everything is loaded at random addresses."""
    check(re.search(r"Type: +DYN ", p.header), "the type is not DYN")
    check(re.search(r"\(FLAGS_1\).*\bPIE\b", p.dynamic), "no PIE in FLAGS_1")


def relocations_read_only(p):
    check(p.flags("GNU_RELRO") == ["R"], "no segment GNU_RELRO")
    check(re.search(r"\(FLAGS\).*\bBIND_NOW\b", p.dynamic) or re.search(r"\(FLAGS_1\).*\bNOW\b", p.dynamic),
          "functions are bound when they are first called")


def stack_not_executable(p):
    equal("flags of the stack", p.flags("GNU_STACK"), ["RW"])


def code_apart(p):
    """Headers and read-only data are not executable."""
    equal("flags of what begins the file", [flags for k, offset, flags in p.segments if k == "LOAD" and not offset],
          ["R"])


def writable_or_executable(p):
    check(not [f for f in p.flags("LOAD") if "W" in f and "E" in f], "a segment is writable and executable")


def text_not_relocated(p):
    check("TEXTREL" not in p.dynamic, "code is changed when it is loaded")


def no_search_path(p):
    check(not re.search(r"\((RPATH|RUNPATH)\)", p.dynamic), "libraries are looked for where it was built")


def stack_protected(p):
    check("__stack_chk_fail" in p.imported, "__stack_chk_fail is not called")


def fortified(p):
    checked = {name[2:-4] for name in p.imported if re.fullmatch(r"__\w+_chk", name)}
    check(len(checked) >= FORTIFIED_MIN, f"{len(checked)} functions check sizes: {sorted(checked)}")
    # These are checked even if sizes are unknown.
    plain = {"printf", "fprintf", "vfprintf", "vprintf", "asprintf", "vasprintf", "dprintf"} & p.imported
    check(not plain, f"these check nothing: {sorted(plain)}")


def branches_protected(p):
    """Functions begin with a marker. The program's note needs startup files of the C library
    with the marker too, which Debian 12 lacks; a shadow stack needs no such files."""
    code = run("objdump", "-d", "--no-show-raw-insn", "--disassemble=main", p.path)
    first = re.search(r"<main>:\n[^\n]*\t(\w+)", code)
    check(first and first[1] in ("endbr64", "bti", "paciasp"), f"main begins with {first and first[1]}")
    found = re.search(r"(?:x86|AArch64) feature: (.*)", p.notes)
    check(not X86 or found and "SHSTK" in found[1], f"the note has {found[1] if found else 'nothing'}")


def large_frames_probed(p):
    """Large frames touch each page, so that none skips the guard page of the stack."""
    code = run("objdump", "-d", "--no-show-raw-insn", p.path)
    probe = (r"sub +\$0x1000,%rsp\n[^\n]*\tor[ql] +\$0x0,\(%rsp\)" if X86 else
             r"sub\tsp, sp, #0x10, lsl #12\n[^\n]*\tstr\txzr, \[sp, #1024\]")
    check(re.search(probe, code), "no function probes its frame")


CHECKS = (position_independent, relocations_read_only, stack_not_executable, code_apart, writable_or_executable,
          text_not_relocated, no_search_path, stack_protected, fortified, branches_protected, large_frames_probed)

SOURCE = """#ifdef ALONE
int value = 1;
void _start(void) { while (value) ; }
#else
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char text[100000], other[64];
	ssize_t n = read(0, text, sizeof(text) - 1);

	snprintf(other, sizeof(other), "%s", argv[0]);
	text[n < 0 ? 0 : n] = 0;
	strcpy(other + 4, argv[argc - 1]);
	printf("%s %s", text, other);
	return 0;
}
#ifdef RELOCATED
__asm__(".text; .quad main");
#endif
#endif
"""
# All protections, and then, for each check, a build without its protection.
HARD = ("-fPIE", "-pie", "-Wl,-z,relro", "-Wl,-z,now", "-Wl,-z,noexecstack", "-Wl,-z,separate-code",
        "-fstack-protector-strong", "-fstack-clash-protection", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2",
        *(("-fcf-protection=full", "-Wl,-z,shstk") if X86 else ("-mbranch-protection=standard",)))
LACKS = {
    position_independent: ("-no-pie", "-fno-pie"),
    relocations_read_only: ("-Wl,-z,lazy",),
    stack_not_executable: ("-Wl,-z,execstack",),
    code_apart: ("-Wl,-z,noseparate-code",),
    writable_or_executable: ("-no-pie", "-fno-pie", "-static", "-nostdlib", "-Wl,--omagic", "-DALONE"),
    text_not_relocated: ("-Wl,-z,notext", "-DRELOCATED"),
    no_search_path: ("-Wl,-rpath,/nonexistent",),
    stack_protected: ("-fno-stack-protector",),
    fortified: ("-U_FORTIFY_SOURCE",),
    branches_protected: ("-fcf-protection=none",) if X86 else ("-mbranch-protection=none",),
    large_frames_probed: ("-fno-stack-clash-protection",),
}


class World:
    def __init__(self, args, work, _):
        build = os.environ.get("CACHEMON_BUILD") or os.path.dirname(os.path.dirname(args.cachemon))
        cache = os.path.join(build, "CMakeCache.txt")
        if not os.path.exists(cache):
            raise Skipped("no build directory; set CACHEMON_BUILD")
        self.prefix = os.path.join(work, "installed")
        run("cmake", "--install", build, "--prefix", self.prefix)
        self.work = work
        self.program = Program(os.path.join(self.prefix, "bin", "cachemon"))
        self.controls = {}

    def control(self, *flags):
        if flags not in self.controls:
            path = os.path.join(self.work, f"control{len(self.controls)}")
            with open(path + ".c", "w", encoding="ascii") as f:
                f.write(SOURCE)
            run("cc", "-O2", "-w", *flags, "-o", path, path + ".c")
            self.controls[flags] = Program(path)
        return self.controls[flags]


def refused(judge, program):
    try:
        judge(program)
    except Failed:
        return True
    return False


@part.case
def installed(world, _):
    equal("type of build is one that is hardened", subprocess.run(
        ["grep", "-cE", "^CMAKE_BUILD_TYPE:[A-Z]+=(|RelWithDebInfo|Release|MinSizeRel)$",
         os.path.join(os.environ.get("CACHEMON_BUILD", ""), "CMakeCache.txt")], capture_output=True,
        text=True).stdout.strip(), "1")
    wrong = []
    for judge in CHECKS:
        try:
            judge(world.program)
        except Failed as e:
            wrong.append(f"{judge.__name__}: {e}")
    names = sorted(n[2:-4] for n in world.program.imported if re.fullmatch(r"__\w+_chk", n))
    part.note(f"{len(names)} fortified functions: {' '.join(names)}")
    check(not wrong, "\n".join(wrong))


@part.case
def each_check_can_fail(world, _):
    """On a program that lacks this one only; without lazy binding, also on one without
    GNU_RELRO."""
    equal("checks", set(LACKS), set(CHECKS))
    hard = world.control(*HARD)
    equal("complaints about one that has all, but is small", [c.__name__ for c in CHECKS if refused(c, hard)],
          ["fortified"])
    for judge, flags in [*LACKS.items(), (relocations_read_only, ("-Wl,-z,norelro",))]:
        program = world.control(*HARD, *flags)
        check(refused(judge, program), f"{judge.__name__} finds nothing wrong with {' '.join(flags)}")


if __name__ == "__main__":
    sys.exit(part.main(World))
