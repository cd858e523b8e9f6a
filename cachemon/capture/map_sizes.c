/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/capture/map_sizes.h"

#include "bpf/names.h"
#include "bpf/references.h"
#include "bpf/shared.h"
#include "bpf/trace.h"

#define BLOCKS_MIN  16384
#define BLOCK_BYTES (256 << 10) /* of memory, for each block */

/* struct htab_elem, and struct bucket: one a power of two of entries (kernel/bpf/hashtab.c). */
#define HASH_EXTRA (48 + 16)

static uint64_t round_up_pow2(uint64_t n)
{
	uint64_t p = 1;

	while (p < n)
		p <<= 1;
	return p;
}

/* Beside its bytes: pages for its positions, and an address of each page; those of the bytes are
 * there twice, so that a record may cross the end (kernel/bpf/ringbuf.c). */
static uint64_t ring_extra(uint64_t ring_bytes, uint64_t page_size)
{
	const uint64_t positions = 3;

	return positions * page_size + (positions + 2 * ring_bytes / page_size) * sizeof(void *);
}

/* For a machine whose memory is all page cache, in files of 256 KiB: such files have a block each,
 * a quarter of it filled with pages of 4 KiB. Where pages are larger files are not, so it is by
 * bytes. */
size_t map_sizes(uint64_t ram_bytes, uint64_t page_size, unsigned int nr_cpus, struct map_size *out,
		 size_t max)
{
	uint64_t blocks = round_up_pow2(ram_bytes / BLOCK_BYTES);
	struct map_size maps[] = {
		{"blocks", blocks < BLOCKS_MIN ? BLOCKS_MIN : blocks,
		 HASH_EXTRA + sizeof(struct block_key) + sizeof(struct block), 0},
		/* Two: one is drained while the other fills. */
		{"rows_a", NR_ROWS,
		 HASH_EXTRA + sizeof(struct file_row_key) + sizeof(struct file_row), 0},
		{"rows_b", NR_ROWS,
		 HASH_EXTRA + sizeof(struct file_row_key) + sizeof(struct file_row), 0},
		{"names", NAME_RING_BYTES, 1, ring_extra(NAME_RING_BYTES, page_size)},
		{"references", REFERENCE_RING_BYTES, 1,
		 ring_extra(REFERENCE_RING_BYTES, page_size)},
		{"reference_pages", NR_REFERENCE_PAGES, HASH_EXTRA + 8 + 8, 0},
		{"traces", TRACE_RING_BYTES, 1, ring_extra(TRACE_RING_BYTES, page_size)},
		{"traced", NR_TRACED, HASH_EXTRA + sizeof(struct file_key) + sizeof(struct traced),
		 0},
		{"named", NR_NAMED, HASH_EXTRA + sizeof(struct file_key) + sizeof(struct name_seen),
		 0},
		{"seeds", NR_SEEDS, HASH_EXTRA + 8 + 8, 0},
		{"parents", NR_PARENTS, HASH_EXTRA + 8 + 8, 0},
		{"marks_left", NR_MARKS_LEFT, HASH_EXTRA + 8 + 8, 0},
		{"advice", NR_ADVICE,
		 HASH_EXTRA + sizeof(struct advice_key) + sizeof(struct advice_row), 0},
		{"evictors_a", NR_EVICTORS, HASH_EXTRA + sizeof(struct evictor_key) + 8, 0},
		{"evictors_b", NR_EVICTORS, HASH_EXTRA + sizeof(struct evictor_key) + 8, 0},
		{"adders", NR_ADDERS, HASH_EXTRA + sizeof(struct adder_key) + 8, 0},
		{"lives", 1, sizeof(struct live) * nr_cpus, 0},
		{"cells", (uint64_t)2 * CELLS_NR, sizeof(struct cell) * nr_cpus, 0},
		{"uring_reads", NR_URING, sizeof(struct uring_read), 0},
		{"name_scratch", 2, sizeof(struct name_work) * nr_cpus, 0},
		{"jobs", JOB_NR, sizeof(struct job_row) * nr_cpus, 0},
	};
	size_t nr = sizeof(maps) / sizeof(maps[0]);

	for (size_t i = 0; i < nr && i < max; i++) {
		maps[i].bytes += maps[i].entries * maps[i].bytes_each;
		out[i] = maps[i];
	}
	return nr;
}
