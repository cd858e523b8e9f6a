#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The notes: every finding has one, the others name the findings that they belong to, front
matter and sections are complete, code to paste is right (the C compiles, the Python is Python,
the shell passes shellcheck), and shared text exists once."""

import glob
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import types

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NOTES = os.path.join(ROOT, "prompts", "notes")
SHARED = os.path.join(ROOT, "prompts", "shared")
CACHEMON = os.environ.get("CACHEMON") or shutil.which("cachemon")
RULES = os.path.join(ROOT, "sql", "rules")
KEYS = ("id", "title", "findings", "applies_to", "precondition", "risk", "undo", "verify", "keywords")
# Each fact has one place: the action and the sources of a finding are in its sections.
KEYS_FINDING, KEYS_SUBJECT = ("facts",), ("action", "source")
SECTIONS = ["What it means", "How it is decided", "Why it happens", "What to do",
            "When it is not worth it", "Sources"]
# For a note that is not of a finding; it may have "What to do" with details of its action.
SECTIONS_SUBJECT = ["What it means", "When it is not worth it"]
APPLIES = re.compile(r"fs:(9p|[a-z][a-z0-9._-]*)|device:(rotational|ssd|network)|cgroup:v[12]"
                     r"|kernel:(>=[0-9]+(\.[0-9]+){0,2})?(<[0-9]+(\.[0-9]+){0,2})?")
NOTES_MIN = 64
# The front matter of a note that is sent to a model fits in 250 tokens: about 1,000 bytes.
SENT_MAX = 1000
LANGUAGES = ("c", "python", "shell")
# If there is nothing to change, there are no commands either.
NO_CODE = {"nothing-wrong": ("shell",), "too-little-data": ("shell",)}
CC = os.environ.get("CC", "cc")
# Verbs that show one run.
OF_A_RUN = ("report", "advise", "whatif")
# That many equal lines of prose, or of code, in two notes must be a shared text.
REPEATED = (2, 3)
# Of 80 columns in the text report, where code is indented by four blanks.
CODE_COLUMNS = 76


def body_as_shown(name):
    """Including the shared texts, as shown to people: from the program itself, without a user's
    own rules."""
    env = {**os.environ, "LC_ALL": "C.UTF-8", "HOME": "/nonexistent", "XDG_CONFIG_HOME": "", "CACHEMON_RULES": ""}
    shown = subprocess.run([CACHEMON, "explain", "--format", "md", name], env=env, capture_output=True, text=True, check=True).stdout
    return shown.split("\n\n", 1)[1].split("\nApplies to: ", 1)[0]


class Note:
    def __init__(self, name):
        self.name = name
        with open(os.path.join(NOTES, name + ".md")) as f:
            self.text = f.read()
        parts = self.text.split("---\n", 2)
        self.head = parts[1] if len(parts) == 3 and not parts[0] else ""
        self.body = body_as_shown(name)
        self.keys = dict(re.findall(r"^([a-z_]+): *(.*)$", self.head, re.M))
        self.snippets = re.findall(r"^```(\w*)\n(.*?)^```$", self.body, re.M | re.S)

    def section(self, title):
        found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", self.body, re.M | re.S)
        return found.group(1) if found else ""


def is_finding(name):
    return os.path.exists(os.path.join(RULES, name + ".sql"))


def keys(note):
    """Errors in the front matter."""
    own = KEYS_FINDING if is_finding(note.name) else KEYS_SUBJECT
    other = KEYS_SUBJECT if is_finding(note.name) else ()
    wrong = [f"no {k}" for k in KEYS + own if not note.keys.get(k)]
    wrong += [f"has {k}, which its sections have" for k in other if k in note.keys]
    wrong += [f"has an unknown {k}" for k in note.keys if k not in KEYS + KEYS_FINDING + KEYS_SUBJECT]
    if note.keys.get("id") != note.name or not re.fullmatch("[a-z0-9-]+", note.name):
        wrong.append(f"id is {note.keys.get('id')}")
    return wrong


def places(note):
    """Where it applies, and for which findings."""
    text = note.keys.get("applies_to", "")
    wrong = [] if text == "any" else [f"applies to '{t}'" for t in re.split(", ", text.strip("[]"))
                                      if not APPLIES.fullmatch(t) or t == "kernel:"]
    ids = [i for i in note.keys.get("findings", "").strip("[]").split(", ") if i]
    wrong += [f"is for {i}, which is no finding" for i in ids if not is_finding(i)]
    if is_finding(note.name) and ids[:1] != [note.name]:
        wrong.append("its own finding is not the first")
    if not ids or len(set(ids)) != len(ids):
        wrong.append("no findings, or one twice")
    return wrong


def sections(note):
    found = re.findall(r"^## (.*)$", re.sub(r"^```.*?^```$", "", note.body, flags=re.M | re.S), re.M)
    if is_finding(note.name):
        return [f"sections are {found}"] if found != SECTIONS else []
    return [f"sections are {found}"] if [f for f in found if f != "What to do"] != SECTIONS_SUBJECT \
        or found != [s for s in SECTIONS if s in found] else []


def sent(note):
    """The text for a model is short, and ends like a sentence."""
    if is_finding(note.name):
        return []
    text = "".join(note.keys.get(k, "") for k in ("title", "precondition", "action", "risk", "verify"))
    wrong = [f"{len(text)} bytes to be sent, {SENT_MAX} are the most"] if len(text) > SENT_MAX else []
    return wrong + (["its action is no sentence"] if not note.keys.get("action", "").endswith(".") else [])


def form(note):
    """Errors in front matter and sections."""
    wrong = keys(note) + places(note) + sections(note) + sent(note)
    have = {language for language, _ in note.snippets}
    wrong += [f"a snippet in '{language}'" for language in sorted(have - set(LANGUAGES))]
    if is_finding(note.name):
        wrong += [f"no snippet in {language}" for language in NO_CODE.get(note.name, LANGUAGES)
                  if language not in have]
    return wrong


def parameters(note):
    """The thresholds named by the note are those of the rule, and all of the rule's are in the
    note."""
    path = os.path.join(RULES, note.name + ".sql")
    if not os.path.exists(path):
        return []
    with open(path) as f:
        used = set(re.findall(r":((?:min|max|low|medium|high)_\w+)", f.read()))
    said = set(re.findall(r"`((?:min|max|low|medium|high)_\w+)`", note.section("How it is decided")))
    return [f"names {n}, which the rule has not" for n in sorted(said - used)] + \
        [f"does not name {n} of the rule" for n in sorted(used - said)]


def severity(note):
    """If a rule's severity has limits, the note gives their origin, with the rule's own numbers."""
    path = os.path.join(RULES, note.name + ".sql")
    if not os.path.exists(path):
        return []
    with open(path) as f:
        limits = dict(re.findall(r"^-- param ((?:low|medium|high)_\w+) = (\S+) ", f.read(), re.M))
    found = re.search(r"^Severity: .*?(?=\n\n)", note.section("How it is decided") + "\n\n", re.M | re.S)
    if not limits or not found:
        return ["says nothing of its severity"] if limits else []
    text = found.group(0).replace("\n", " ")
    wrong = [f"severity names no source and does not say that there is none: {text}"] \
        if "MLPerf" not in text and "our own choice" not in text else []
    for name, value in limits.items():
        want = f"`{name}` ({float(value) * 100:g} %)" if name.endswith("_share") else f"`{name}`"
        if want not in text:
            wrong.append(f"severity does not say {want}")
    return wrong


def facts(note):
    """Figures that a note names are in the report's JSON, or in the evidence of the finding."""
    with open(os.path.join(ROOT, "docs", "json.md")) as f:
        keys = set(re.findall(r'"([a-z_0-9]+)"', f.read()))
    path = os.path.join(RULES, note.name + ".sql")
    metrics = set()
    if os.path.exists(path):
        with open(path) as f:
            metrics = set(re.findall(r"'metric', '([^']+)'", f.read()))
    said = [f for f in note.keys.get("facts", "").strip("[]").split(", ") if f]
    return [f"speaks of {f}, which no report has" for f in said
            if f not in metrics and not set(f.split(".")) <= keys]


def run(argv, text=None):
    done = subprocess.run(argv, input=text, capture_output=True, text=True)
    return done.returncode, (done.stdout + done.stderr).strip()


def compiles_c(code, work):
    path = os.path.join(work, "snippet.c")
    with open(path, "w") as f:
        f.write(code)
    return run([CC, "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-c", "-o", os.devnull, path])


def compiles_python(code, _):
    try:
        compile(code, "snippet.py", "exec")
    except SyntaxError as e:
        return 1, str(e)
    return 0, ""


def checks_shell(code, _):
    # As "explain" prints it: a placeholder may be a command with its options.
    for name, word in placeholders().items():
        code = code.replace(name, word)
    return run(["shellcheck", "-s", "bash", "-"], code)


def parses_fio(note, work):
    """The commands of fio, by fio itself, which reads nothing."""
    shell = "\n".join(code for language, code in note.snippets if language == "shell").replace("\\\n", " ")
    wrong = []
    for line in re.findall(r"^fio .*$", shell, re.M):
        words = line.replace("%FILE%", os.path.join(work, "file")).split()
        status, said = run([*words, "--parse-only"])
        if status:
            wrong.append(f"{line}: {said}")
    return wrong


def widths(note):
    """Lines of code wider than the 80 columns of the text report."""
    lines = [line.expandtabs(8) for _, code in note.snippets for line in code.splitlines()]
    return [f"{len(line)} columns, {CODE_COLUMNS} are the most: {line.strip()}"
            for line in lines if len(line) > CODE_COLUMNS]


def commands(note):
    """Commands of cachemon in notes use existing verbs and options."""
    wrong = []
    text = "\n".join(code for language, code in note.snippets if language == "shell")
    for verb, rest in re.findall(r"\bcachemon ([a-z]+)([^\n|;`]*)", text):
        files = glob.glob(os.path.join(ROOT, "cachemon", "cmd", f"cmd_{verb}.c"))
        if not files:
            wrong.append(f"cachemon has no verb {verb}")
            continue
        files += glob.glob(os.path.join(ROOT, "cachemon", "cmd", f"*{verb}_*.c"))
        text = "".join(read(path) for path in files)
        # Options of several verbs are macros.
        known = set(re.findall(r'OPTION\("([a-z-]+)", ', text)) | \
            {word.lower() for word in re.findall(r"\bREPORT_ARGS_([A-Z]+)", text)}
        # The last run may be of another job, in another database.
        wrong += [f"cachemon {verb} names no {what} of the report" for what, option in
                  (("database", "--db %DB%"), ("run", "--run %RUN%")) if verb in OF_A_RUN and option not in rest]
        wrong += [f"cachemon {verb} has no --{o}"
                  for o in re.findall(r"--([a-z-]+)", rest.split(" -- ")[0]) if o not in known]
    return wrong


def placeholders():
    """The placeholders that a report fills in, and the words in their place if there is no run."""
    with open(os.path.join(ROOT, "cachemon/report/run/snippets.c"), encoding="utf-8") as f:
        return dict(re.findall(r'{"(%[A-Z_]+%)", \w+, "([^"]+)"}', f.read()))


def prose(note):
    """Only commands are filled in; a model is given the rest of a note as it stands. The text of a
    finding is printed for every job, so it names no manager that this job may not have."""
    text = re.sub(r"^```.*?^```$", "", read(NOTES, note.name + ".md"), flags=re.M | re.S)
    said = re.search(r"^## Why it happens\n(.*?)^## ", text, flags=re.M | re.S)
    managers = re.findall(r"Slurm|Kubernetes|Docker", said[1]) if said and is_finding(note.name) else []
    return [f"{word} outside of a command" for word in re.findall(r"%[A-Z]+_?[A-Z0-9_]*%", text)] + \
        [f"{name} is named to every job" for name in managers]


def snippets(note, work):
    check = {"c": compiles_c, "python": compiles_python, "shell": checks_shell}
    wrong = []
    for number, (language, code) in enumerate(note.snippets, 1):
        if language not in check:
            continue
        status, said = check[language](code, work)
        if status:
            wrong.append(f"snippet {number} ({language}): {said}")
        unknown = set(re.findall(r"%[A-Z_]+%", code)) - set(placeholders() if language == "shell" else ())
        if unknown:
            wrong.append(f"snippet {number} ({language}): nobody fills in {sorted(unknown)}")
        # Names that no run has: a report would invent them.
        if language == "shell" and re.search(r"\btraining\.|/data\b|train\.py", code) and is_finding(note.name):
            wrong.append(f"snippet {number} ({language}): invents a name")
    return wrong


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as f:
        return f.read()


def paragraphs(text):
    """(is code, its lines without trivial ones) of each paragraph of a note or of a shared text."""
    code, lines = False, []
    for line in text.removeprefix("---\n").split("---\n", 1)[-1].splitlines() + [""]:
        if line.startswith("```") or not line.strip() or line.startswith("#") and not code:
            yield code, lines
            lines = []
            code ^= line.startswith("```")
        elif not re.fullmatch(r"\s*[{}]|#include .*|@.*@", line):
            lines.append(line)


def repeats():
    """Lines that are in two places. A shared text is prose or code, as in the note that refers
    to it."""
    places = {}
    for directory in (NOTES, SHARED):
        for name in sorted(os.listdir(directory)):
            for code, lines in paragraphs(read(directory, name)):
                for many in {REPEATED[code], *(REPEATED if directory == SHARED else ())}:
                    for i in range(len(lines) - many + 1):
                        places.setdefault(tuple(lines[i:i + many]), set()).add(name)
    return [f"{' and '.join(sorted(names))} have the same: {lines[0].strip()} ..."
            for lines, names in places.items() if len(names) > 1]


def shared():
    """A shared text is used by at least two notes, and leaves the form of a note to the note."""
    used = [n for f in os.listdir(NOTES) for n in set(re.findall(r"^@([a-z0-9-]+).*@$", read(NOTES, f), re.M))]
    names = [f.removesuffix(".md") for f in sorted(os.listdir(SHARED))]
    return [f"{n} is used {used.count(n)} times" for n in names if used.count(n) < 2] + \
        [f"{n} has a fence or a heading" for n in names if re.search("^(```|##+ )", read(SHARED, n + ".md"), re.M)]


class Torch(types.ModuleType):
    """The part of PyTorch that the code of a note imports, for one worker of several."""

    IterableDataset = object

    def __init__(self):
        super().__init__("torch.utils.data")
        self.worker = None

    def get_worker_info(self):
        return self.worker


def samples_once(work):
    """The loader of small-files gives each sample to one worker, and epochs have different orders."""
    torch = Torch()
    sys.modules.update({"torch": types.ModuleType("torch"), "torch.utils": types.ModuleType("torch.utils"),
                        "torch.utils.data": torch})
    names, shards = [f"{n:03d}" for n in range(120)], []
    for first in range(0, len(names), 20):
        shards.append(os.path.join(work, f"shard-{first}.tar"))
        with tarfile.open(shards[-1], "w") as tar:
            for name in names[first:first + 20]:
                info = tarfile.TarInfo(name)
                info.size = len(name)
                tar.addfile(info, io.BytesIO(name.encode()))
    space = {}
    exec(next(code for language, code in Note("small-files").snippets if language == "python"), space)
    wrong = []
    for workers in (0, 1, 2, 4):
        orders = []
        for epoch in range(2):  # A DataLoader copies the dataset to new workers in each epoch.
            got = []
            for number in range(max(workers, 1)):
                torch.worker = workers and types.SimpleNamespace(id=number, num_workers=workers,
                                                                 seed=1000 * epoch + number)
                got += [data.decode() for _, data in space["Shards"](shards, buffered=10)]
            orders.append(got)
            if sorted(got) != names:
                wrong.append(f"{workers} workers give {len(got)} samples of {len(names)}")
        if orders[0] == orders[1]:
            wrong.append(f"two epochs of {workers} workers have the same order")
    return wrong


def reads_in_order(note):
    """run_ahead gives each of the program's reads once, in its order, and at most `depth` + 1 run
    before the caller asks for the next."""
    space, wrong = {}, []
    exec(next(code for language, code in note.snippets if language == "python"), space)
    for number in (0, 1, 4, 5, 30):
        begun = []
        reads = [lambda i=i, begun=begun: begun.append(i) or i for i in range(number)]
        for count, got in enumerate(space["run_ahead"](reads)):
            if got != count or len(begun) > count + 5:
                wrong.append(f"read {got} of {number} as number {count}, after {len(begun)} began")
        if sorted(begun) != list(range(number)):
            wrong.append(f"{len(begun)} reads of {number}")
    return wrong


def findings():
    """Every finding of the catalogue has a note: detects a rule without one, and a note whose
    rule is gone, which would lack the parts of a general note."""
    rules = {f[:-4] for f in os.listdir(RULES) if f.endswith(".sql")} if os.path.isdir(RULES) else set()
    notes = {f[:-3] for f in os.listdir(NOTES) if f.endswith(".md")}
    wrong = [f"{r} has no note" for r in sorted(rules - notes)]
    return wrong + ([f"only {len(notes)} notes"] if len(notes) < NOTES_MIN else [])


def main():
    counts = {"passed": 0, "failed": 0, "skipped": 0}

    def tell(verdict, name, why=()):
        counts[verdict] += 1
        print(f"{verdict.upper():7} {name}{': ' if why else ''}{'; '.join(why)}", flush=True)

    missing = [t for t in ("shellcheck", CC) if not shutil.which(t)]
    for name, wrong in (("every rule has a note", findings()), ("no two notes say the same", repeats()),
                        ("shared texts", shared())):
        tell("failed" if wrong else "passed", name, wrong)
    with tempfile.TemporaryDirectory(prefix="cachemon-notes.") as work:
        for name in sorted(f[:-3] for f in os.listdir(NOTES) if f.endswith(".md")):
            note = Note(name)
            wrong = form(note) + parameters(note) + severity(note) + facts(note) + commands(note) + widths(note) + \
                prose(note)
            tell("failed" if wrong else "passed", f"{name}: form", wrong)
            if missing:
                tell("skipped", f"{name}: snippets", [f"{' and '.join(missing)} not installed"])
                continue
            wrong = snippets(note, work)
            if shutil.which("fio"):
                wrong += parses_fio(note, work)
            if name == "small-files":
                wrong += samples_once(work)
            if name == "first-touch-only":
                wrong += reads_in_order(note)
            tell("failed" if wrong else "passed", f"{name}: snippets", wrong)
    print(", ".join(f"{counts[k]} {k}" for k in ("passed", "failed", "skipped")))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
