# SPDX-License-Identifier: BSD-2-Clause
"""cachemon's report, compared with the expectation."""

FATES = ("used", "used_late", "evicted_unused", "resident_unused", "untracked")
ORIGINS = ("sync", "async", "willneed", "readahead2", "mmap_around")


CAUSES = ("reclaim_kswapd", "reclaim_direct", "reclaim_memcg", "dontneed", "drop_caches",
          "truncate", "direct_io", "other", "invalidate", "dontcache")
EVICTED = tuple("evicted_" + cause for cause in CAUSES)
PREFETCHED = tuple("prefetched_" + o for o in ORIGINS)
# The database counters that make up a column, if its name differs.
MADE_OF = {
    "hits": ("lookups", "misses"),
    "prefetched_pages": PREFETCHED,
    "sync_async": ("prefetched_sync", "prefetched_async"),
    "willneed": ("prefetched_willneed",),
    "readahead2": ("prefetched_readahead2",),
    "mmap_around": ("prefetched_mmap_around",),
    "used": ("used", "used_late"),
    "added": ("demand_pages", "written_pages", *PREFETCHED),
    "evicted": EVICTED,
    "balance": ("demand_pages", "written_pages", *PREFETCHED, *EVICTED),
    "major": ("faults_major",),
    "reclaimed": ("evicted_reclaim_kswapd", "evicted_reclaim_direct"),
}


def absent_reason(column, unmeasured):
    """cachemon's own reason for a null column; None if it gives no reason."""
    for counter in MADE_OF.get(column, (column,)):
        if unmeasured.get(counter):
            return f"{counter}: {unmeasured[counter]}"
    return None


def total(*values):
    """A sum of counts; unknown if one of them is unknown."""
    return None if any(v is None for v in values) else sum(values)


def columns(t):
    """cachemon's totals object, in the oracle's columns."""
    prefetch = t["prefetch"]
    fate, origin, gone = prefetch["fate"], prefetch["origin"], t["evicted_pages"]
    out = {k: t[k] for k in ("read_calls", "read_bytes", "lookups", "hits", "misses",
                             "demand_pages", "prefetched_pages", "refaults", "refault_misses",
                             "written_pages", "direct_read_bytes", "delayed_hits")}
    out["sync_async"] = total(origin["sync"], origin["async"])
    for k in ("willneed", "readahead2", "mmap_around"):
        out[k] = origin[k]
    out["used"] = total(fate["used"], fate["used_late"])
    for k in ("used_late", "evicted_unused", "resident_unused", "untracked"):
        out[k] = fate[k]
    out["added"] = total(t["demand_pages"], t["prefetched_pages"], t["written_pages"])
    out["evicted"] = total(*gone.values()) if gone else None
    for name in EVICTED:
        out[name] = gone.get(name.removeprefix("evicted_")) if gone else None
    out["reclaimed"] = total(out["evicted_reclaim_kswapd"], out["evicted_reclaim_direct"])
    out["balance"] = None
    if out["added"] is not None and out["evicted"] is not None:
        out["balance"] = out["added"] - out["evicted"]
    out["major"] = t["faults"]["major"]
    out["stall_ns"] = t["stall_ns"]
    return out


def difference(expected, got):
    """Distance of got from the allowed values; None if it cannot be computed."""
    if got is None:
        return None
    low, high = expected if isinstance(expected, list) else (expected, expected)
    if got < low:
        return got - low
    return got - high if got > high else 0


def marked(t, mark):
    """Counters marked as estimated or lower_bound in a totals object."""
    found = set()
    for key, value in t.items():
        if isinstance(value, dict):
            found |= marked(value, mark)
        elif value is True and key.endswith("_" + mark):
            found.add(key.removesuffix("_" + mark))
    return found


def column_marked(column, marks):
    return any(counter.removeprefix("prefetched_").removeprefix("evicted_") in marks or counter in marks
               for counter in (column, *MADE_OF.get(column, ())))


def at_most(expected):
    return [0, expected[1] if isinstance(expected, list) else expected]


def compare_file(want, totals, unmeasured):
    """Rows (column, expected, got, difference) of one file. Estimates are not compared; lower
    bounds may be less."""
    got = columns(totals) if totals else None
    guesses, least = ((marked(totals, m) if totals else set()) for m in ("estimated", "lower_bound"))
    rows = []
    for name, expected in want["expect"].items():
        if column_marked(name, guesses):
            continue
        # By the conservation law this is the rest without a known fate.
        if name == "untracked" and got and (got["used"] is None or "used" in least):
            continue
        if column_marked(name, least):
            expected = at_most(expected)
        # A file without an entry had no activity: right only if 0 is expected.
        value = got[name] if got else None if absent_reason(name, unmeasured) else 0
        rows.append((name, expected, value, difference(expected, value)))
    return rows


def row(file, name, expected, got):
    """A figure that a pattern has in addition to those of compare_file()."""
    return (file, name, expected, got, difference(expected, got))


def unmeasured_of(report):
    """{counter: reason} of counters that cachemon could not measure here."""
    return {u["counter"]: u["reason"] for u in report["run"].get("unmeasured") or []}


def oracle_law(want):
    """The oracle's own figures must balance before it may judge."""
    e = want["expect"]
    if not all(k in e for k in ("used", "evicted_unused", "resident_unused")):
        return None
    if any(isinstance(e[k], list) for k in e):
        return None
    if e["used"] + e["evicted_unused"] + e["resident_unused"] != e["prefetched_pages"]:
        return f"{want['path']}: the oracle's own fates do not add up"
    if e["added"] - e["evicted"] != want["resident"] and not want.get("warm"):
        return f"{want['path']}: the oracle's adds, evictions and residency do not add up"
    return None


def law_error(t):
    """prefetched pages minus the sum of their fates, in pages; 0 if not measured."""
    fates = [t["prefetch"]["fate"][k] for k in FATES]
    if t["prefetched_pages"] is None or any(v is None for v in fates):
        return 0
    return sum(fates) - t["prefetched_pages"]


def flat(t, prefix=""):
    """Every integer of a totals object by its path, without ratios, lists and marks."""
    for key, value in t.items():
        if isinstance(value, dict):
            yield from flat(value, prefix + key + ".")
        elif isinstance(value, int) and not isinstance(value, bool):
            yield prefix + key, value


def report_errors(report):
    """Holds in every report: the law, the sums, no losses, at level full no estimates."""
    errors = []
    for loss, n in report["run"]["losses"].items():
        if n:
            errors.append(f"losses.{loss} = {n}")
    for probe in report["run"]["probes"]:
        if probe["state"] == "failed":
            errors.append(f"probe {probe['role']} failed: {probe['reason']}")
    for job in report["jobs"]:
        errors += job_errors(job, report["run"]["level"])
    return errors


def job_errors(job, level):
    errors = []
    parts = [("job " + job["name"], job["totals"])]
    parts += [(str(f["path"]), f["totals"]) for f in job.get("files") or []]
    parts += [(str(d["path"]) + "/", d["totals"]) for d in job.get("directories") or []]
    for name, t in parts:
        if law_error(t):
            errors.append(f"{name}: the fates are {law_error(t):+d} off prefetched_pages")
        if level == "full":
            errors += [f"{name}: {k} is an estimate at level full" for k in marked(t, "estimated")]
    errors += wait_errors("job " + job["name"], job)
    for f in job.get("files") or []:
        if not f.get("rest"):
            errors += wait_errors(str(f["path"]), f)
    for kind in ("files", "directories"):
        if job.get(kind) and not job.get("other"):
            errors += sum_errors(job, kind)
    return errors


def wait_errors(name, row):
    """The waits of all lengths are all waits."""
    stalls, lengths = row["totals"]["stalls"], row["wait_histogram"]
    if lengths is None:
        return [f"{name}: waits without lengths"] if stalls else []
    sleeps = sum(bucket["sleeps"] for bucket in lengths)
    return [] if sleeps == stalls else [f"{name}: {sleeps} waits by length, {stalls} in all"]


def bare(key):
    """The name of a figure, without the suffix of an end of its interval."""
    return key.split(".")[-1].removesuffix("_low").removesuffix("_high")


def sum_errors(job, kind):
    """The sums of files, and of directories, must equal the job."""
    sums = {}
    for entry in job[kind]:
        for key, value in flat(entry["totals"]):
            sums[key] = sums.get(key, 0) + value
    aside = marked(job["totals"], "estimated") | {"accuracy", "coverage"}  # files have no estimates
    return [f"job {job['name']}: {key} is {value}, its {kind} add up to {sums.get(key, 0)}"
            for key, value in flat(job["totals"])
            if sums.get(key, 0) != value and bare(key) not in aside]
