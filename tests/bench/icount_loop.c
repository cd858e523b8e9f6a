/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The loop that tests/bench/icount measures: blocks of 4 KiB preads of a fully cached file. One
 * line per block: its nanoseconds by the clock and by the CPU time of the thread. If the clock
 * counts instructions, the first are instructions. The blocks run twice, at the beginning and after
 * WARM more reads. With a hook as the last argument, an empty program is attached to it meanwhile.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "empties.h"
#include "hotfile.h"

struct block {
	uint64_t clock_ns, cpu_ns;
};

static void measure(struct hotfile *file, long reads, struct block *ret)
{
	uint64_t cpu = bench_thread_cpu_ns(), clock = bench_now_ns();

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
	long blocks, reads, warm;
	FILE *out;

	if (argc < 6 || argc > 7) {
		fprintf(stderr, "usage: icount_loop FILE OUT BLOCKS READS WARM [HOOK]\n");
		return 2;
	}
	blocks = atol(argv[3]);
	reads = atol(argv[4]);
	warm = atol(argv[5]);
	b = malloc((size_t)blocks * 2 * sizeof(*b));
	out = fopen(argv[2], "w");
	if (!b || !out)
		bench_fail("cannot keep %ld blocks in %s", blocks, argv[2]);
	hotfile_open(argv[1], &file);
	/* Touches its memory before the measurement. */
	memset(b, 0, (size_t)blocks * 2 * sizeof(*b));
	if (argc == 7)
		empties_attach_hook(argv[6], &empties);
	for (long i = 0; i < blocks; i++)
		measure(&file, reads, &b[i]);
	if (hotfile_read(&file, warm))
		bench_fail("a read failed");
	for (long i = blocks; i < 2 * blocks; i++)
		measure(&file, reads, &b[i]);
	empties_detach(&empties);
	if (hotfile_missing(&file))
		bench_fail("pages left the cache meanwhile: the figures are worth nothing");
	for (long i = 0; i < 2 * blocks; i++)
		fprintf(out, "%lu %lu\n", (unsigned long)b[i].clock_ns, (unsigned long)b[i].cpu_ns);
	hotfile_free(&file);
	if (fclose(out))
		bench_fail("cannot write %s", argv[2]);
	return 0;
}
