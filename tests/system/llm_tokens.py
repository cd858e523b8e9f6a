#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The estimated number of tokens of a text, compared with two real encoders: never below either,
for any text; for prose and JSON, as in prompts, not far above. Needs npm."""

import base64
import ctypes
import glob
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.join(ROOT, "tests", "system", "tokenizer")
CC = os.environ.get("CC", "cc")
SKIP = 77
# The maximum ratio for prompts, to the larger of both counts.
ABOVE_MAX = 1.8
SEEDS = range(2, 6)

PROSE = (
    "The job reads the same 24 GiB of training shards three times, and the page cache of its control "
    "group holds only a third of it: each epoch evicts what the next one needs first.",
    "ok", "a b c d e f g", "I/O", "It didn't help: 81.2 % of the pages that were read ahead were never used.",
)


def tokenizer():
    """The directory of the encoders, installed from tokenizer/package-lock.json, whose hashes
    npm verifies."""
    cache = os.path.join(os.environ.get("CACHEMON_BUILD") or os.path.expanduser("~/.cache/cachemon"), "tokenizer")
    with open(f"{HERE}/package-lock.json", encoding="utf-8") as f:
        wanted = f.read()
    kept = f"{cache}/package-lock.json"
    if os.path.isdir(f"{cache}/node_modules/gpt-tokenizer") and open(kept, encoding="utf-8").read() == wanted:
        return cache, None
    os.makedirs(cache, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(f"{HERE}/{name}", cache)
    done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=cache,
                          capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        os.unlink(kept)
        return None, done.stderr
    return cache, None


def estimator(work):
    """tokens_of() of the program, in this process."""
    library = os.path.join(work, "tokens.so")
    subprocess.run([CC, "-shared", "-fPIC", "-O2", "-I", ROOT, "-o", library,
                    os.path.join(ROOT, "advisor", "llm", "tokens.c")], check=True)
    count = ctypes.CDLL(library).tokens_of
    count.restype, count.argtypes = ctypes.c_size_t, (ctypes.c_char_p,)
    # A NUL ends a text: here each part is a text of its own.
    return lambda text: sum(count(part) + 1 for part in text.encode().split(b"\0")) - 1


def evidence(rng, nr):
    """Lines as in a pack, and the JSON of an answer."""
    units = ("pages", "bytes", "ns", "ratio", "s", "count")
    names = ("lookups", "misses", "readahead_unused_pages", "evicted_before_use", "stall_share", "hit_ratio")
    rows = [{"key": f"E{i + 1}", "metric": rng.choice(names), "unit": rng.choice(units), "scope": f"<dir-{i % 7 + 1}>",
             "value": rng.choice((rng.randrange(10**9), round(rng.random(), 4)))} for i in range(nr)]
    answer = {"answered": True, "statements": [
        {"about": f"F{i + 1}", "text": f"Most pages that were read ahead ({{E{i + 2}}}) were never used.",
         "evidence": [f"E{i + 2}", f"E{i + 5}"], "notes": ["N1"], "action": "A1", "confidence": "high"}
        for i in range(12)], "ranking": [f"F{i + 1}" for i in range(12)]}
    lines = "\n".join(f"{r['key']} {r['metric']} = {r['value']} {r['unit']} ({r['scope']})" for r in rows)
    return {"evidence as JSON": json.dumps(rows), "evidence as JSON, indented": json.dumps(rows, indent=1),
            "evidence as lines": lines, "an answer": json.dumps(answer),
            "an answer, indented": json.dumps(answer, indent=2)}


def sent():
    """{name: text} of texts that are sent."""
    texts = {f"prose {i + 1}": text for i, text in enumerate(PROSE)}
    for path in sorted(glob.glob(os.path.join(ROOT, "prompts", "**", "*"), recursive=True)):
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as f:
                texts[os.path.relpath(path, ROOT)] = f.read()
    for name in ("README.md", "docs/advisor.md", "docs/llm.md"):
        with open(os.path.join(ROOT, name), encoding="utf-8") as f:
            texts[name] = f.read()
    texts.update(evidence(random.Random(1), 120))
    return texts


def strange(seed):
    """{name: text} of possible content of names and notes."""
    rng = random.Random(seed)
    random_bytes = rng.randbytes(3000)
    letters = "abcdefghijklmnopqrstuvwxyz"
    paths = "\n".join(f"/data/{rng.choice(letters)}{rng.randrange(999)}/train_{rng.randrange(10**6):06d}/part-"
                      f"{rng.randrange(99)}.tfrecord.zst" for _ in range(200))
    signs = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
    return {
        "paths": paths,
        "hex": random_bytes.hex(), "hex, capitals": random_bytes.hex().upper(),
        "hashes": " ".join(hashlib.sha256(bytes([i])).hexdigest() for i in range(40)),
        "base64": base64.b64encode(random_bytes).decode(),
        "base32": base64.b32encode(random_bytes).decode(),
        "digits": "".join(rng.choice("0123456789") for _ in range(3000)),
        "numbers": " ".join(str(rng.randrange(10**rng.randrange(1, 12))) for _ in range(500)),
        "letters": "".join(rng.choice(letters) for _ in range(3000)),
        "capitals": "".join(rng.choice(letters.upper()) for _ in range(3000)),
        "words of noise": " ".join("".join(rng.choice(letters) for _ in range(rng.randrange(1, 12)))
                                   for _ in range(400)),
        "signs": "".join(rng.choice(signs) for _ in range(3000)),
        "spaces": " " * 1000, "blank lines": "\n" * 1000, "tabs": "\t" * 1000,
        "blanks mixed": "".join(rng.choice(" \t\n") for _ in range(3000)),
        "letters and blanks": "".join(rng.choice("ab  \n") for _ in range(3000)),
        "any ASCII": "".join(chr(rng.randrange(32, 127)) for _ in range(3000)),
        "control characters": "".join(chr(rng.randrange(32)) for _ in range(3000)),
        "Chinese": "该作业三次读取相同的训练数据，页面缓存只能容纳其中的三分之一。",
        "Japanese": "ページキャッシュに収まらないデータを三回読み込みます。",
        "Korean": "페이지 캐시는 데이터의 3분의 1만 담을 수 있습니다.",
        "rare ideographs": "".join(chr(rng.randrange(0x3400, 0x9FFF)) for _ in range(1000)),
        "Russian": "Задание читает одни и те же данные три раза.",
        "Greek": "Η εργασία διαβάζει τα ίδια δεδομένα τρεις φορές.",
        "Arabic": "تقرأ المهمة نفس البيانات ثلاث مرات.", "Hindi": "यह कार्य एक ही डेटा को तीन बार पढ़ता है।",
        "German": "Die Größe der Zwischenspeicher überschreitet das Maß: häufig gelesene Blöcke fallen heraus.",
        "emoji": "😀🎉🧪👩‍🔬🏳️‍🌈" * 20,
        "two-byte letters": "".join(chr(rng.randrange(0xA0, 0x7FF)) for _ in range(1000)),
        "letters with accents": "".join(rng.choice("áàâäãåçéèêëíìîïñóòôöõúùûü") for _ in range(1000)),
        "nothing": "",
    }


def main():
    if not shutil.which("npm") or not shutil.which("node"):
        print("npm is not installed")
        return SKIP
    cache, why = tokenizer()
    if not cache and "EINTEGRITY" not in why:
        print(f"npm fetched nothing: {why.strip()[-200:]}")
        return SKIP
    if not cache:
        print(f"FAILED  the tokenizer is not what it was: {why[:300]}\n0 passed, 1 failed, 0 skipped")
        return 1
    prose, others = sent(), {}
    for seed in SEEDS:
        others.update({f"{name} ({seed})": text for name, text in strange(seed).items()})
    texts = {**prose, **others}
    done = subprocess.run(["node", f"{HERE}/count.mjs", cache], input=json.dumps(list(texts.values())),
                          capture_output=True, text=True, check=True)
    counts = json.loads(done.stdout)
    counts = {name: max(found) for name, found in zip(texts, zip(*counts.values()))}
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="cachemon-tokens.") as work:
        estimate = estimator(work)
        for name, text in texts.items():
            got, real = estimate(text), counts[name]
            wrong = "too low" if got < real else ""
            if name in prose and real >= 20 and got > ABOVE_MAX * real:
                wrong = f"above {ABOVE_MAX} times"
            print(f"{'FAILED ' if wrong else 'PASSED '} {name}: {got} for {real} ({got / max(real, 1):.2f})"
                  f"{', ' if wrong else ''}{wrong}")
            failed += bool(wrong)
            passed += not wrong
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
