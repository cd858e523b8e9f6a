/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The loop that tests/bench/icount measures: blocks of 4 KiB preads of a file that is wholly
 * cached, the same pages in each block. A line for each block: its nanoseconds by the clock and by
 * the CPU time of the thread. Where the clock counts instructions, the first are instructions.
 *
 * With a hook as the last argument an empty program is attached to it meanwhile.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "empties.h"
#include "hotfile.h"

#define WARM_READS 2000

struct block {
	uint64_t clock_ns, cpu_ns;
};

static void measure(struct hotfile *file, long reads, struct block *ret)
{
	uint64_t cpu = bench_thread_cpu_ns(), clock = bench_now_ns();

	file->seed = HOTFILE_SEED;
	if (hotfile_read(file, reads))
		bench_fail("a read failed");
	ret->clock_ns = bench_now_ns() - clock;
	ret->cpu_ns = bench_thread_cpu_ns() - cpu;
}

int main(int argc, char **argv)
{
	struct empties empties = {};
	struct hotfile file;
	struct block *b;
	long blocks, reads;
	FILE *out;

	if (argc < 5 || argc > 6) {
		fprintf(stderr, "usage: icount_loop FILE OUT BLOCKS READS [HOOK]\n");
		return 2;
	}
	blocks = atol(argv[3]);
	reads = atol(argv[4]);
	b = calloc((size_t)blocks, sizeof(*b));
	out = fopen(argv[2], "w");
	if (!b || !out)
		bench_fail("cannot keep %ld blocks in %s", blocks, argv[2]);
	hotfile_open(argv[1], &file);
	if (argc == 6)
		empties_attach_hook(argv[5], &empties);
	/* Also touches all of b, which is memory still to be made. */
	for (long i = 0; i < blocks; i++)
		measure(&file, 1, &b[i]);
	hotfile_read(&file, WARM_READS);
	for (long i = 0; i < blocks; i++)
		measure(&file, reads, &b[i]);
	empties_detach(&empties);
	if (hotfile_missing(&file))
		bench_fail("pages left the cache meanwhile: the figures are worth nothing");
	for (long i = 0; i < blocks; i++)
		fprintf(out, "%lu %lu\n", (unsigned long)b[i].clock_ns, (unsigned long)b[i].cpu_ns);
	hotfile_free(&file);
	if (fclose(out))
		bench_fail("cannot write %s", argv[2]);
	return 0;
}
