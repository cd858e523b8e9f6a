/* SPDX-License-Identifier: BSD-2-Clause */
/* Ways in which programs read, access by access: one function for each way. */
#ifndef MADE_READS_H
#define MADE_READS_H

#include "advisor/pattern/accesses.h"

enum { PAGE = 4096, FILE_PAGES = 1024, MOST = 40000 };

/* The accesses of a program, in order. */
struct made {
	struct access a[MOST];
	size_t nr;
	uint64_t seed;
};

static inline uint64_t next(struct made *m)
{
	uint64_t z = m->seed += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static inline void add(struct made *m, uint64_t pos, uint64_t len, uint32_t description)
{
	assert_true(m->nr < MOST);
	m->a[m->nr++] = (struct access){pos, len, description, 0};
}

static inline void permute(struct made *m, uint32_t *order, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		order[i] = i;
	for (uint32_t i = nr; i > 1; i--) {
		uint32_t k = (uint32_t)(next(m) % i);
		uint32_t swap = order[i - 1];

		order[i - 1] = order[k];
		order[k] = swap;
	}
}

static inline void make_sequential(struct made *m)
{
	for (uint64_t pos = 0; pos < FILE_PAGES / 2 * PAGE; pos += 16384)
		add(m, pos, 16384, 0);
}

static inline void make_scan(struct made *m)
{
	for (uint64_t pos = 0; pos < FILE_PAGES * PAGE; pos += 20000)
		add(m, pos, 20000, 0);
}

static inline void make_small_reads(struct made *m)
{
	for (uint64_t pos = 0; pos < FILE_PAGES * PAGE / 2; pos += 512)
		add(m, pos, 512, 0);
}

static inline void make_reread(struct made *m)
{
	for (uint32_t epoch = 0; epoch < 3; epoch++)
		for (uint64_t pos = 0; pos < FILE_PAGES * PAGE; pos += 65536)
			add(m, pos, 65536, epoch);
}

static inline void make_strided(struct made *m)
{
	for (uint64_t pos = 0; pos < FILE_PAGES * PAGE; pos += 65536)
		add(m, pos, 8192, 0);
}

static inline void make_strided_runs(struct made *m)
{
	for (uint64_t pos = 0; pos < (uint64_t)64 << 20; pos += 1 << 20)
		for (uint64_t at = 0; at < 128 << 10; at += 16384)
			add(m, pos + at, 16384, 0);
}

static inline void make_backward(struct made *m)
{
	for (uint64_t page = FILE_PAGES; page > 0; page--)
		add(m, (page - 1) * PAGE, PAGE, 0);
}

static inline void make_random(struct made *m)
{
	for (int i = 0; i < 600; i++)
		add(m, next(m) % FILE_PAGES * PAGE, PAGE, 0);
}

/* One descriptor per read, like a loader that opens a file for each record. */
static inline void make_random_opened(struct made *m)
{
	for (uint32_t i = 0; i < 600; i++)
		add(m, next(m) % FILE_PAGES * PAGE, PAGE, i);
}

static inline void make_records(struct made *m)
{
	for (int i = 0; i < 200; i++) {
		uint64_t pos = next(m) % (FILE_PAGES / 32) * 32 * PAGE;

		for (int k = 0; k < 4; k++)
			add(m, pos + (uint64_t)k * 8 * PAGE, (uint64_t)8 * PAGE, 0);
	}
}

static inline void make_shuffled(struct made *m)
{
	uint32_t order[FILE_PAGES / 8];

	for (int epoch = 0; epoch < 3; epoch++) {
		permute(m, order, FILE_PAGES / 8);
		for (int i = 0; i < FILE_PAGES / 8; i++)
			add(m, (uint64_t)order[i] * 8 * PAGE, (uint64_t)8 * PAGE, 0);
	}
}

/* 1 MiB at a time in reads of 16 KiB: almost no step is a jump. */
static inline void make_large_records(struct made *m)
{
	uint32_t order[64];

	for (int epoch = 0; epoch < 2; epoch++) {
		permute(m, order, 64);
		for (int i = 0; i < 64; i++)
			for (uint64_t at = 0; at < 16; at++)
				add(m, ((uint64_t)order[i] * 16 + at) * PAGE, PAGE, 0);
	}
}

static inline void make_one_shuffled(struct made *m)
{
	uint32_t order[FILE_PAGES];

	permute(m, order, FILE_PAGES);
	for (int i = 0; i < FILE_PAGES; i++)
		add(m, (uint64_t)order[i] * PAGE, PAGE, 0);
}

/* The same permutation in every epoch. */
static inline void make_fixed_order(struct made *m)
{
	uint32_t order[FILE_PAGES];

	permute(m, order, FILE_PAGES);
	for (int epoch = 0; epoch < 3; epoch++)
		for (int i = 0; i < FILE_PAGES; i++)
			add(m, (uint64_t)order[i] * PAGE, PAGE, 0);
}

static inline void make_interleaved(struct made *m)
{
	for (uint64_t i = 0; i < FILE_PAGES / 4; i++)
		for (uint64_t stream = 0; stream < 3; stream++)
			add(m, (stream * FILE_PAGES / 3 + i) * PAGE, PAGE, 0);
}

/* The step from stream to stream is the same in seven of eight cases. */
static inline void make_eight_streams(struct made *m)
{
	for (uint64_t i = 0; i < FILE_PAGES / 8; i++)
		for (uint64_t stream = 0; stream < 8; stream++)
			add(m, (stream * FILE_PAGES / 8 + i) * PAGE, PAGE, 0);
}

/* 64 rows read column by column: returning to the start still counts as one stride. */
static inline void make_columns(struct made *m)
{
	for (uint64_t column = 0; column < 4; column++)
		for (uint64_t row = 0; row < 64; row++)
			add(m, (row * FILE_PAGES / 64 + column) * PAGE, PAGE, 0);
}

/* Streams with an open file each are all sequential. */
static inline void make_sharded(struct made *m)
{
	for (uint64_t i = 0; i < FILE_PAGES / 4; i++)
		for (uint32_t stream = 0; stream < 3; stream++)
			add(m, ((uint64_t)stream * FILE_PAGES / 3 + i) * PAGE, PAGE, stream);
}

static inline void make_nothing(struct made *m)
{
	(void)m;
}

#endif
