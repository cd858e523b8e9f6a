#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Lists the sources whose code can run while cachemon has root's identity or capabilities, and counts
their lines.

The program is built with a section for each function. From main(), the references of each section are
followed, like a linker that discards unreferenced sections. They are not followed into code that runs as
the invoker: verbs that measure nothing, and functions passed to invoker_run(). Each section that is
reached counts with its whole file, and with the project's headers that the file includes."""

import argparse
import collections
import os
import re
import subprocess
import sys

REPO = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# These verbs become the invoker before they do anything else.
BECOME = {"run_top"}
KEPT = re.compile(r"\.(text|data|rodata|bss|init|fini)")


def build(directory):
    """The objects of the program, by their source."""
    quiet = {"check": True, "stdout": subprocess.DEVNULL}
    subprocess.run(["cmake", "-S", REPO, "-B", directory, "-DBUILD_TESTING=OFF",
                    "-DCMAKE_C_FLAGS=-ffunction-sections -fdata-sections -fno-inline"], **quiet)
    subprocess.run(["cmake", "--build", directory, "-j2", "--target", "cachemon"], **quiet)
    found = {}
    for base in ("cachemon", "advisor"):
        for top, _, names in os.walk(os.path.join(directory, base)):
            for name in names:
                made = re.match(r"CMakeFiles/\w+\.dir/(.*)\.o$",
                                os.path.relpath(os.path.join(top, name), os.path.join(directory, base)))
                if made:
                    found[os.path.normpath(os.path.join(base, made[1]))] = os.path.join(top, name)
    return found


def sources():
    for base in ("cachemon", "advisor"):
        for top, _, names in os.walk(os.path.join(REPO, base)):
            for name in names:
                if name.endswith(".c"):
                    with open(os.path.join(top, name), encoding="utf-8") as f:
                        yield f.read()


def boundaries():
    """Names of functions that run as the invoker."""
    found = set(BECOME)
    for text in sources():
        found |= set(re.findall(r"\binvoker_run\([^,;{]*, (\w+), ", text))
        for spec in re.findall(r"struct verb_spec \w+ = \{(.*?)^\};", text, re.M | re.S):
            if ".measures = true" not in spec:
                found |= set(re.findall(r"\.run = (\w+)", spec))
    return found


class Objects:
    """Sections as nodes: (source, name of the section); the references of each, by name or as a
    node."""

    def __init__(self, objects):
        self.refers = collections.defaultdict(set)
        self.defined = {}  # global name -> node
        self.local = {}  # (source, name) -> node
        self.size = {}
        for source, path in objects.items():
            self.read(source, subprocess.run(["readelf", "-WSsr", path], check=True, capture_output=True,
                                             text=True).stdout)

    def read(self, source, text):
        sections = {}
        for nr, name, size in re.findall(r"^ +\[ *(\d+)\] (\S+) +\S+ +[0-9a-f]+ [0-9a-f]+ ([0-9a-f]+)", text, re.M):
            sections[nr] = name
            if name.startswith(".text"):
                self.size[source, name] = int(size, 16)
        for kind, bind, section, name in re.findall(
                r"^ +\d+: [0-9a-f]+ +\S+ (\w+) +(\w+) +\w+ +(\w+) (\S+)", text, re.M):
            if section in sections and kind != "SECTION":
                node = (source, sections[section])
                self.local[source, name] = node
                if bind != "LOCAL":
                    self.defined[name] = node
        at = None
        for line in text.splitlines():
            begin = re.match(r"Relocation section '\.rela?(\S+)'", line)
            if begin:
                at = begin[1] if KEPT.match(begin[1]) else None
            elif at and re.match(r"[0-9a-f]{12,} ", line):
                words = line.split()
                if len(words) > 4:
                    self.refers[source, at].add(words[4])

    def node(self, source, name):
        if name.startswith("."):
            return source, name
        return self.local.get((source, name)) or self.defined.get(name)

    def reached(self, begin, cut):
        """Nodes reachable from a function, without those of cut."""
        stops = {node for (_, name), node in self.local.items() if name in cut}
        seen, left = set(), [self.defined[begin]]
        while left:
            node = left.pop()
            if node in seen or node in stops:
                continue
            seen.add(node)
            left += [n for n in (self.node(node[0], name) for name in self.refers[node]) if n]
        return seen


def headers(path):
    """The project's own headers of an object."""
    with open(path + ".d", encoding="utf-8") as f:
        words = f.read().replace("\\\n", " ").split()[1:]
    names = (os.path.relpath(os.path.join(REPO, w), REPO) for w in words if w.endswith(".h"))
    return {n for n in names if re.match(r"(cachemon|advisor|bpf)/", n)}


def lines(names):
    total = 0
    for name in names:
        with open(os.path.join(REPO, name), encoding="utf-8") as f:
            total += sum(1 for _ in f)
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(REPO, "build-privileged"), help="where it is built")
    parser.add_argument("--files", action="store_true", help="name each file")
    parser.add_argument("--why", metavar="FILE", help="what refers to code of this file")
    parser.add_argument("--all", action="store_true", help="as if nothing became the invoker")
    args = parser.parse_args()
    paths = build(args.build)
    objects = Objects(paths)
    cut = set() if args.all else boundaries()
    seen = {n for n in objects.reached("main", cut) if n[1].startswith(".text")}
    files = sorted({source for source, _ in seen})
    if args.why:
        for source, section in sorted(seen):
            if any((objects.node(source, r) or ("",))[0] == args.why for r in objects.refers[source, section]):
                print(f"{source}: {section.split('.')[-1]}")
        return
    table = collections.defaultdict(list)
    for name in files:
        table[os.path.dirname(name)].append(name)
    whole = collections.Counter(os.path.dirname(name) for name in paths)
    print(f"{'directory':24}{'files':>12}{'lines of .c':>13}{'bytes of code':>15}")
    for place, names in sorted(table.items()):
        code = sum(objects.size.get(n, 0) for n in seen if n[0] in set(names))
        print(f"{place:24}{f'{len(names)} of {whole[place]}':>12}{lines(names):>13,}{code:>15,}")
        if args.files:
            print("".join(f"    {os.path.basename(n)}\n" for n in names), end="")
    included = set().union(*(headers(paths[name]) for name in files))
    code = sum(objects.size.get(n, 0) for n in seen)
    print(f"{'all':24}{f'{len(files)} of {len(paths)}':>12}{lines(files):>13,}{code:>15,}")
    print(f"with {len(included)} headers: {lines(files) + lines(included):,} lines; "
          f"of the whole program: {lines(paths) + lines(set().union(*map(headers, paths.values()))):,}")


if __name__ == "__main__":
    sys.exit(main())
