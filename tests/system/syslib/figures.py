# SPDX-License-Identifier: BSD-2-Clause
"""Figures of the JSON as shown to people, written again from the description of the formats,
without code of the program."""

from .pages import numbers


def scaled(value, base, units):
    value, at = float(value), 0
    if value < base:
        return f"{int(value)}{units[0]}"
    while at + 1 < len(units) and value >= base - 0.5:
        value, at = value / base, at + 1
    return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f}{units[at]}"


def of_bytes(value):
    return scaled(value, 1024, [" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"])


def of_ns(value):
    if not value:
        return "0 s"
    if value < 59_950_000_000:
        return scaled(value, 1000, [" ns", " us", " ms", " s"])
    seconds = (int(value) + 500_000_000) // 10**9
    if seconds < 3600:
        return f"{seconds // 60}m {seconds % 60:02}s"
    minutes = (seconds + 30) // 60
    return f"{minutes // 60}h {minutes % 60:02}m"


def of_count(value):
    return f"{int(value):,}"


def of_ratio(value):
    if 0 < value < 0.0005:
        return "<0.1 %"
    return ">99.9 %" if 0.9995 <= value < 1 else f"{value * 100:.1f} %"


def leaves(tree, keys=()):
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        if isinstance(value, (dict, list)):
            yield from leaves(value, (*keys, key))
        else:
            yield (*keys, key), value


def ways(keys, value, page):
    """The possible forms of a number, by its unit."""
    name = next(str(k) for k in reversed(keys) if not isinstance(k, int))
    if name.endswith("_ns") and isinstance(value, int):
        return [of_ns(max(value, 0))]
    if name.endswith("_ms"):
        return [of_ns(value * 10**6)]
    if name.endswith("_bytes"):
        return [of_bytes(max(value, 0)), of_count(value)]
    if isinstance(value, int):
        return [of_count(value), str(value), of_bytes(max(value, 0) * page)]
    plain = [f"{value:.{n}f}" for n in (0, 1, 2, 3, 4)] + [f"{value:.3g}", f"{value:.15g}"]
    if name in ("value", "low", "high") or name.endswith("_s"):
        plain += [of_ns(round(value * 1e9)), of_bytes(round(value))]
    if value >= 0:
        plain.append(of_ratio(min(value, 1)))
    return plain


def known(trees, page):
    """The possible forms of every number in these values."""
    found = set()
    for tree in trees:
        for keys, value in leaves(tree):
            if isinstance(value, str):
                found.update(numbers(value))
            elif value is not None and not isinstance(value, bool):
                for way in ways(keys, value, page):
                    found.update(numbers(way))
    return found


PARTS = ("read_pages", "evicted_pages", "evicted_unused_pages", "resident_unused_pages")


def derived(job, page):
    """Numbers shown to people that the JSON has in another form, as described in docs/json.md."""
    totals = job["totals"]
    gone = [v for v in totals["evicted_pages"].values() if v is not None and v is not True]
    found = {of_count(sum(gone)), of_bytes(sum(gone) * page)}
    busy = (job.get("accelerator_ceiling") or {}).get("overall")
    if busy is not None:
        found.add(of_ratio(1 - busy))
    if totals["refaults"]:
        found.add(of_count(totals["refault_distance_pages"] // totals["refaults"]))
        found.add(of_ns(totals["refault_distance_ms"] // totals["refaults"] * 10**6))
    if totals["stalls"]:
        found.add(of_ns(totals["stall_ns"] // totals["stalls"]))
    for file in job["files"]:
        parts = file["coverage"] or {}
        sums = {key: sum(parts.get(key) or []) for key in PARTS}
        found.update(of_count(v) for v in sums.values())
    return {n for text in found for n in numbers(text)}


def rates(line, durations):
    """A line of the timeline, per second."""
    return [None if v is None else max(v, 0) * 1e9 / d for v, d in zip(line, durations)]


def added(*lines):
    return [None if None in values else sum(values) for values in zip(*lines)]


ADVICE = ("willneed", "dontneed", "sequential", "random", "normal", "noreuse", "readahead")


def marked(mark, shown):
    """Unknown values have no mark."""
    return shown if shown == "-" else mark + shown


def least(lower_bounds, of):
    """The mark of a line of the timeline, from the losses of the run."""
    lost = {bound["figures"] for bound in lower_bounds}
    return ">=" if "all" in lost or of in lost else ""


def of_timeline(timeline, lower_bounds):
    """The columns of its table."""
    nr = timeline["buckets"] - (None in timeline["start_ns"])
    starts, durations = timeline["start_ns"][:nr], timeline["duration_ns"][:nr]

    def line(*keys):
        value = timeline
        for key in keys:
            value = value[key]
        return [None] * nr if value is None else value[:nr]

    gone, fate = ("evicted_pages",), ("prefetch", "fate")
    lines = [line("hits"), line("misses"), *(line(*fate, k) for k in ("used", "used_late", "evicted_unused")),
             line(*fate, "resident_unused_change"), line(*fate, "untracked"),
             *(line(*gone, k) for k in ("reclaim_kswapd", "reclaim_direct", "reclaim_memcg")),
             added(line(*gone, "dontneed"), line(*gone, "drop_caches")),
             added(*(line(*gone, k) for k in ("truncate", "direct_io", "other", "invalidate", "dontcache")))]
    # Of reads, of fates except untracked, of evictions.
    marks = [least(lower_bounds, of) for of in [""] * 2 + ["evictions"] * 4 + [""] + ["evictions"] * 5]
    columns = [[of_ns(v) for v in starts], [of_ns(s + d) for s, d in zip(starts, durations)]]
    for mark, values in zip(marks, lines, strict=True):
        columns.append([marked(mark, "-" if v is None else of_count(v + 0.5) + " pages/s")
                        for v in rates(values, durations)])
    stall = rates(line("stall_ns"), durations)
    columns.append([marked(marks[0], "-" if v is None else f"{v / 1e9:.{2 if v < 1e10 else 1}f}") for v in stall])
    calls = timeline["advice_calls"]
    for kind in ADVICE if calls["absent"] is None else ():
        if any(calls[kind]):
            columns.append([">=" * ("lower_bound" in calls) + of_count(v) for v in calls[kind]])
    return columns


def of_coverage(coverage):
    """The strips of a file, {name: (mark, [share of each part, None: not known])}."""
    each, pages = coverage["part_pages"], coverage["file_pages"]
    sizes = [min(each, pages - at) for at in range(0, pages, each)]
    if coverage["source"] == "references":
        mark = "~" if "read_pages_estimated" in coverage else ">=" * (not coverage["whole"])
        return {"read": (mark, [min(n / size, 1) if n else None
                                for n, size in zip(coverage["read_pages"], sizes, strict=True)])}
    mark = ">=" * (not coverage["whole"])
    return {name: (its, [min(n / size, 1) for n, size in zip(coverage[key], sizes, strict=True)])
            for name, key, its in (
                ("read", "read_pages", mark), ("left the cache", "evicted_pages", mark),
                ("evicted unused", "evicted_unused_pages", mark), ("resident unused", "resident_unused_pages", ""))}


def shade(share):
    """The character of a part."""
    if share is None:
        return "?"
    return "_" if share <= 0 else "█" if share >= 1 else "░▒▓"[int(share * 3)]


def trimmed(values):
    """From the first to the last value that is not 0."""
    there = [i for i, v in enumerate(values) if v > 0]
    return values[there[0]:there[-1] + 1] if there else []


def of_waits(histogram):
    """Names and numbers of its bars, with the empty ones between."""
    names = [0] + [1 << n for n in range(11, 34)]
    sleeps = {bucket["from_ns"]: bucket["sleeps"] for bucket in histogram}
    used = [n for n in names if names.index(min(sleeps)) <= names.index(n) <= names.index(max(sleeps))]
    return [[of_ns(n), of_count(sleeps.get(n, 0))] for n in used]


def of_settings(settings):
    """If a figure is an estimate with one setting, it is marked with all settings."""
    def mark(key):
        errors = [s[f"{key}_error"] for s in settings if s[key] is not None]
        return "~" * any(e is None or e > 0.5 for e in errors)
    rows, of_misses, of_ahead, of_wasted = [], *map(mark, ("misses", "prefetched_pages", "wasted_pages"))
    for s in settings:
        wasted = s["wasted_pages"]
        ahead = ([of_ahead + of_count(s["prefetched_pages"])] if wasted is None else
                 [(of_ahead or of_wasted) + of_count(s["prefetched_pages"] - wasted), of_wasted + of_count(wasted)])
        rows.append([f"{v} pages" for v in (of_misses + of_count(s["misses"]), *ahead)]
                    + [mark("waits") + of_count(s["waits"])])
    return rows
