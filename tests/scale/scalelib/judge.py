# SPDX-License-Identifier: BSD-2-Clause
"""Checks of a large run, independent of the job."""

import json

from faultlib.part import expect
from faultlib.watch import PREFETCHED, check_law, run

from .measured import Measured

MIB = 1 << 20
OWN_BYTES_MAX = 64 * MIB
PAGE = 4096
COUNTED = ("read_calls", "read_bytes", "lookups", "misses")
# store/store_rollup.c: sums of jobs, directories and files; one row per file and interval, 256 of
# them.
SUMS_BYTES = 5_000_000
FILE_ROW_BYTES = 210
INTERVAL_FILES = 256
INTERVAL_BYTES = 1500  # the rows of the interval itself and of its two jobs


def start_up(case, job):
    """The reads of a start of the job, all from the cache: the same every time."""
    names = (*COUNTED, "demand_pages")
    starts = [Measured(case, job, f"start{i}", ["nothing"]).db.job() for i in range(3)]
    base = [{name: start[name] for name in names} for start in starts[1:]]
    expect(base[0] == base[1], f"a start is not like another: {base}")
    expect(base[0]["misses"] == 0, f"a start has misses: {base[0]}")
    return base[0]


def totals(measured, base):
    """The job's own count, plus that of its start, equals cachemon's."""
    job, truth = measured.db.job(), measured.truth
    for name in COUNTED:
        expect(job[name] == truth[name] + base[name],
               f"{name} {job[name]}; the workload {truth[name]}, its start {base[name]}")
    expect(job["demand_pages"] == truth["misses"] + base["demand_pages"],
           f"demand_pages {job['demand_pages']}; the workload missed {truth['misses']}")
    prefetched = sum(job[name] for name in PREFETCHED)
    expect(prefetched == truth["added"] - truth["misses"],
           f"prefetched {prefetched}; the workload {truth['added'] - truth['misses']}")
    return (f"{job['read_calls']} calls, {job['read_bytes']} bytes, {job['lookups']} lookups, "
            f"{job['misses']} misses, {job['demand_pages']} demand and {prefetched} prefetched "
            "pages: no difference")


def losses(measured):
    """The law holds; only the maps' limits cause losses, and these are counted."""
    row, job = measured.db.run(), measured.db.job()
    expect(row["state"] == "complete", f"the run is {row['state']}")
    expect(row["law_error_pages"] == 0, f"the law is broken by {row['law_error_pages']} pages")
    check_law(job)
    for name in ("loss_state_drops", "loss_advice_full", "loss_intervals"):
        expect(row[name] == 0, f"{name} {row[name]}")
    expect(row["loss_chunk_full"] or not job["untracked_map_full"],
           f"{job['untracked_map_full']} pages without state, and nothing says that a map was full")
    lost = {name[len("loss_"):]: row[name] for name in row if name.startswith("loss_")
            and row[name]}
    return (f"law holds; untracked {job['untracked']}, for a full map "
            f"{job['untracked_map_full']}; losses {lost or 'none'}")


def sums(case, measured):
    """Directories and, in the report, files with the rest add up to the job, for every counter."""
    job = measured.db.job()
    names = [row["name"] for row in measured.db.rows("SELECT name FROM pragma_table_info("
                                                     "'file_interval')") if row["name"] in job]
    names = [name for name in names if name not in ("interval_id", "file_id", "job_id")]
    expect(len(names) > 40, f"only {len(names)} counters found")
    added = measured.db.rows("SELECT " + ", ".join(f"sum({name}) AS {name}" for name in names) +
                             " FROM directory WHERE job_id = ?", job["id"])[0]
    for name in names:
        expect(added[name] == job[name],
               f"directories: {name} add up to {added[name]}, the job has {job[name]}")
    done = run([case.cachemon, "report", "--db", measured.db.path, "--format", "json",
                "--files", "10000"])
    expect(done.status == 0, str(done))
    reported = json.loads(done.out)["jobs"][0]
    for kind in ("files", "directories"):
        for name in (*COUNTED, "demand_pages", "prefetched_pages"):
            parts = sum(entry["totals"][name] for entry in reported[kind])
            expect(parts == job[name] if name in job else parts == sum(job[n] for n in PREFETCHED),
                   f"report: {name} of {kind} add up to {parts}, not to the job")
    return (f"{len(names)} counters of {measured.db.one('SELECT count(*) FROM directory')} "
            f"directories, {measured.db.one('SELECT count(*) FROM file')} files with a row")


def collector_memory(measured):
    own = measured.own_bytes()
    mapped = max(mapped for _, mapped in measured.marks) * 1024
    expect(own <= OWN_BYTES_MAX, f"{own / MIB:.1f} MiB beside the maps, {OWN_BYTES_MAX / MIB:.0f} "
           f"allowed (peak {measured.end['peak_bytes'] / MIB:.1f} MiB, of maps {mapped / MIB:.1f})")
    return (f"peak {measured.end['peak_bytes'] / MIB:.1f} MiB, of it pages of maps "
            f"{mapped / MIB:.1f} MiB, beside them {own / MIB:.1f} MiB")


def map_memory(case, measured):
    """Each map takes what doctor says, throughout the run. The rule ignores a page at each end
    of a map, and the maps of the program's few variables."""
    done = run([case.cachemon, "doctor", "--json"])
    expect(done.status == 0, str(done))
    predicted = json.loads(done.out)["maps"]
    seen = [maps for maps in measured.maps if maps]
    # While the programs are loaded, some of their tables do not exist yet.
    while seen and set(seen[0]) != set(seen[-1]):
        del seen[0]
    expect(len(seen) >= 2, f"the maps were seen {len(seen)} times")
    expect(all(maps == seen[0] for maps in seen), "the maps' memory changes during the run")
    for entry in predicted["list"]:
        name, want = entry["name"], entry["bytes"]
        got = seen[0].get(name)
        expect(got is not None, f"cachemon holds no map {name}: {sorted(seen[0])}")
        expect(abs(got - want) <= want / 1000 + 2 * PAGE,
               f"map {name} takes {got} bytes, doctor says {want}")
    charged = sum(seen[0].values())
    expect(abs(charged - predicted["bytes"]) <= charged / 100,
           f"all maps take {charged} bytes, doctor says {predicted['bytes']}")
    return (f"{charged} bytes charged, {predicted['bytes']} predicted "
            f"({100 * (predicted['bytes'] - charged) / charged:+.2f} %), in {len(seen)} looks")


def database(measured):
    """A run of less than 15 minutes: its sums, and all of its intervals with their files."""
    intervals = measured.intervals()
    bound = SUMS_BYTES + intervals * (INTERVAL_FILES * FILE_ROW_BYTES + INTERVAL_BYTES)
    expect(measured.db_size <= bound,
           f"{measured.db_size} bytes after {intervals} intervals, at most {bound} expected")
    return (f"{measured.db_size} bytes after {intervals} intervals ({bound} allowed), "
            f"with its log at most {measured.db_peak} bytes on the way")
