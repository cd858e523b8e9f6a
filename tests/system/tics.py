#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What tests/tics finds, where it looks, and how its baseline falls. The files are made here."""

import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib.part import Part, check, equal  # noqa: E402

TICS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tics")
LONG = "word " * 20 + "wider"  # 105 columns

part = Part(__doc__)

# (path, text, lines that are complained about)
TEXTS = (
    ("found.md", "It tells all.\n\nThe rest goes with it.\n\nIt is read anew, beside that, behind it.\n", [1, 3, 5, 5, 5]),
    ("starts.md", "Who reads waits.\n\nThis is it. Of all readers one waits. What is left is said.\n", [1, 3, 3]),
    ("wraps.md", "The value is\nnone.\n", [1]),
    ("none.md", "It is no longer there. There is no file. Who reads it? It is nonetheless good.\n", []),
    ("nouns.md", "A storyteller tolls a bell; besides, renewal is a kindness.\n", []),
    ("code.md", "    cachemon tell beside\n\n```\nWho tells\n```\n\nSay `tell`, see [this](tell.md).\n", []),
    ("heading.md", "## What it costs\n\n* what it costs\n", []),
    ("cells.md", "| a | it tells |\n", [1]),
    ("rows.md", "| a | b |\n|---|---|\n| x | y |\n| x \\| `|` | y |\n| x | y | | x | y |\n| x | y | text\n\n| a |\n", [5, 6]),
    ("wide.md", LONG + "\n\n| " + LONG + " |\n\n    " + LONG + "\n\nhttps://example.org/" + "x" * 100 + "\n", [1]),
    ("c.c", '#include "tell.h"\n/* It\n * tells. */\nint tell(void);\nputs("a " "line " /* x */\n     "each");\n', [2]),
    ("string.c", 'puts("a "\n     "line each");\nchar tell = \'"\'; /* anew */\n', [1, 3]),
    ("wide.c", "\t/* " + "word " * 18 + "wider */\nint x = 1 " + "+ 1 " * 30 + ";\n", [1]),
    ("q.sql", "-- It tells.\nSELECT told FROM beside; -- anew\n", [1, 2]),
    ("s", "#!/bin/bash\n# It tells.\necho tell\n", [2]),
    ("p.py", '"""It tells."""\n\ntell = "told"\n\n\ndef f():\n    """Anew."""\n    # beside\n    return """told"""\n', [1, 7, 8]),
    ("CMakeLists.txt", "# It tells.\nproject(tell)\n", [1]),
    ("data.txt", "It tells.\n", []),
    ("bytes.c", b"/* tells \xff */\n", []),
)


def run(root, *words):
    done = subprocess.run([TICS, "--root", root, *words], stdout=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


def write(root, path, text):
    with open(os.path.join(root, path), "wb") as f:
        f.write(text if isinstance(text, bytes) else text.encode())


@part.case
def found(work, _):
    """Each kind of file: the lines that are complained about, and no others."""
    for path, text, want in TEXTS:
        write(work, path, text)
        status, lines = run(work, path)
        equal(f"{path}: {lines}", [int(line.split(":")[1]) for line in lines], want)
        equal(f"status of {path}", status, 1 if want else 0)


@part.case
def baseline(work, _):
    """What is not in the baseline fails, and a number falls but does not rise."""
    root = os.path.join(work, "tree")
    os.makedirs(os.path.join(root, "tests"))
    subprocess.run(["git", "init", "-q", root], check=True)
    write(root, "a.md", "It tells.\n\nIt told.\n")
    write(root, "b.md", "Plain.\n")
    subprocess.run(["git", "-C", root, "add", "."], check=True)
    equal("without a baseline", run(root)[0], 1)
    write(root, "tests/tics.baseline", "3 a.md\n")
    status, lines = run(root)
    check(status == 0 and lines[0].startswith("1 fewer complaints"), f"{lines}")
    for text, status in (("It tells.\n\nIt told.\n", 0), ("It tells.\n\nIt told.\n\nIt tells.\n", 1)):
        write(root, "a.md", text)
        equal(f"status of {text!r}", run(root, "--update")[0], status)
        with open(os.path.join(root, "tests/tics.baseline"), encoding="utf-8") as f:
            equal("baseline", f.read().splitlines()[1:], ["2 a.md"])
    write(root, "a.md", "Plain.\n")
    run(root, "--update")
    write(root, "b.md", "It tells.\n")
    status, lines = run(root, "--update")
    check(status == 1 and "b.md: 1 complaints, 0 at most" in lines, f"a file that was clean: {lines}")


if __name__ == "__main__":
    sys.exit(part.main(lambda args, work, _: work))
