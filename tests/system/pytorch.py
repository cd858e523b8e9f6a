#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A real PyTorch DataLoader: 1,200 files of 176 KiB, three epochs, two workers, cold. The oracle
is the size of the files: each epoch reads every page of them once, the first epoch brings them
into the cache, and none leaves it. Epochs are found without marks. Needs Debian's python3-torch."""

import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib.part import Part, Skipped, check, equal  # noqa: E402
from syslib.reads import PAGE, cached_pages, fill  # noqa: E402
from syslib.world import World  # noqa: E402

ME = os.path.abspath(__file__)
PYTHON = "/usr/bin/python3"  # Debian's Python, which has its packages
FILES, PAGES, EPOCHS, WORKERS, BATCH = 1200, 44, 3, 2, 32
SIZE = PAGES * PAGE
WORK = 4  # matrix products per batch, so that the job computes as in training

part = Part(__doc__)


def train(folder):
    import torch
    from torch.utils.data import DataLoader, Dataset

    class Images(Dataset):
        def __init__(self):
            self.paths = sorted(entry.path for entry in os.scandir(folder))

        def __len__(self):
            return len(self.paths)

        def __getitem__(self, i):
            with open(self.paths[i], "rb", buffering=0) as f:
                data = f.read(SIZE)
            return torch.frombuffer(bytearray(data), dtype=torch.uint8)

    torch.manual_seed(1)
    torch.set_num_threads(1)
    weights = torch.rand(256, 256)
    for _ in range(EPOCHS):
        for batch in DataLoader(Images(), batch_size=BATCH, shuffle=True, num_workers=WORKERS):
            assert batch.shape[1] == SIZE
            for _ in range(WORK):
                weights = torch.tanh(weights @ weights)


class Loader(World):
    def __init__(self, args, work, stack):
        super().__init__(args, work, stack)
        if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode:
            raise Skipped("there is no PyTorch: install python3-torch")
        self.folder = f"{self.data}/images"
        os.mkdir(self.folder)

    def watch(self, stack, *options):
        paths = [f"{self.folder}/{i}" for i in range(FILES)]
        for path in paths:
            fill(path, PAGES)
            with open(path, "rb") as f:
                equal("pages in the cache before", cached_pages(f.fileno()), 0)
        watch = self.tool.watch(stack, ["--interval", "250ms", *options],
                                [PYTHON, "-B", ME, "--train", self.folder], stdout=subprocess.DEVNULL)
        watch.process.communicate()
        equal("status", watch.process.returncode, 0)
        for path in paths:
            with open(path, "rb") as f:
                equal("pages in the cache after", cached_pages(f.fileno()), PAGES)
        report, job = self.tool.report(watch.db)
        return report, job, next(d["totals"] for d in job["directories"] if d["path"] == self.folder)


def pages_that_came(totals):
    origin = totals["prefetch"]["origin"]
    return totals["demand_pages"] + sum(origin.values())


def three_epochs(w, job, reads):
    """Borders are those of intervals: the reads of an epoch may be off by those of its two
    border intervals."""
    epochs = job["epochs"]
    equal("source of epochs", epochs["source"], "found")
    equal("epochs", len(epochs["list"]), EPOCHS)
    first = epochs["list"][0]
    came = sum(e["demand_pages"] + e["prefetched_pages"] for e in epochs["list"][1:])
    check(came < 0.1 * FILES * PAGES, f"{came} pages came after the first epoch")
    check(first["demand_pages"] + first["prefetched_pages"] >= 0.9 * FILES * PAGES, "pages of the first epoch")
    equal("waiting of all epochs", sum(e["stall_ns"] for e in epochs["list"]), job["totals"]["stall_ns"])
    if reads:
        for e in epochs["list"][1:]:
            check(abs(e["read_bytes"] / (FILES * SIZE) - 1) < 0.5, f"an epoch read {e['read_bytes']} bytes")


@part.case
def full(w, stack):
    _, job, totals = w.watch(stack, "--level", "full")
    equal("bytes", totals["read_bytes"], EPOCHS * FILES * SIZE)
    equal("lookups", totals["lookups"], EPOCHS * FILES * PAGES)
    equal("pages that came", pages_that_came(totals), FILES * PAGES)
    equal("evicted", sum(v or 0 for v in totals["evicted_pages"].values()), 0)
    # Pages that were cached before a request are hits: the rest missed.
    equal("hits and misses", totals["hits"] + totals["misses"], EPOCHS * FILES * PAGES)
    three_epochs(w, job, True)


@part.case
def by_default(w, stack):
    report, job, totals = w.watch(stack)
    equal("pages that came", pages_that_came(totals), FILES * PAGES)
    equal("evicted", sum(v or 0 for v in totals["evicted_pages"].values()), 0)
    if totals["read_bytes"] is not None and not totals.get("read_bytes_estimated"):
        equal("bytes", totals["read_bytes"], EPOCHS * FILES * SIZE)
        equal("lookups", totals["lookups"], EPOCHS * FILES * PAGES)
        three_epochs(w, job, True)
    cost = report["run"]["cost"]
    part.note(f"default level: {cost['share']:.2%} of {job['cpu_ns'] / 1e9:.1f} s CPU time, "
              f"{job['wall_ns'] / 1e9:.1f} s, waiting {job['totals']['stall_ns'] / 1e9:.2f} s, "
              f"epochs {[round(e['duration_ns'] / 1e9, 2) for e in job['epochs']['list']]} s")
    equal("the budget was kept", cost["budget_kept"], True)


def main():
    if sys.argv[1:2] == ["--train"]:
        return train(sys.argv[2])
    return part.main(Loader)


if __name__ == "__main__":
    sys.exit(main())
