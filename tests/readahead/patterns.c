/* SPDX-License-Identifier: BSD-2-Clause */
#include "patterns.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>

enum { KB = 1024, MB = 1024 * KB, RANDOM_CALLS = 256, TOUCHES = 256 };

static struct call *more(struct calls *c)
{
	if (c->nr == c->room) {
		c->room = c->room ? 2 * c->room : 256;
		c->call = realloc(c->call, c->room * sizeof(*c->call));
		if (!c->call)
			err(1, "calls");
	}
	memset(&c->call[c->nr], 0, sizeof(*c->call));
	return &c->call[c->nr++];
}

static void access_by(struct calls *c, enum call_kind kind, unsigned int stream, uint64_t pos,
		      uint64_t count)
{
	struct call *call = more(c);

	call->kind = kind;
	call->stream = stream;
	call->pos = pos;
	call->count = count;
}

static void reads(struct calls *c, uint64_t pos, uint64_t count)
{
	access_by(c, DO_READ, 0, pos, count);
}

static void page_read(struct calls *c, uint64_t page)
{
	reads(c, page * PATTERN_PAGE, PATTERN_PAGE);
}

static void touch(struct calls *c, uint64_t page)
{
	access_by(c, DO_TOUCH, 0, page * PATTERN_PAGE, 1);
}

static void advise(struct calls *c, enum call_kind kind, enum call_advice advice, uint64_t pos,
		   uint64_t count)
{
	access_by(c, kind, 0, pos, count);
	c->call[c->nr - 1].advice = advice;
}

/* The same numbers on every machine. */
static uint64_t pseudo(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 33;
}

static void stride(struct calls *c, uint64_t step, uint64_t count)
{
	for (uint64_t pos = 0; pos < PATTERN_BYTES; pos += step)
		reads(c, pos, count);
}

static void seq_4k(struct calls *c)
{
	stride(c, 4 * KB, 4 * KB);
}

static void seq_64k(struct calls *c)
{
	stride(c, 64 * KB, 64 * KB);
}

static void seq_1m(struct calls *c)
{
	stride(c, MB, MB);
}

static void seq_4m(struct calls *c)
{
	stride(c, 4 * MB, 4 * MB);
}

static void unaligned(struct calls *c)
{
	stride(c, 5000, 5000);
}

static void midfile(struct calls *c)
{
	for (uint64_t pos = 1001 * PATTERN_PAGE; pos < 12 * MB; pos += 16 * KB)
		reads(c, pos, 16 * KB);
}

static void streams(struct calls *c, unsigned int nr, uint64_t count)
{
	uint64_t share = PATTERN_PAGES / nr * PATTERN_PAGE;

	for (uint64_t pos = 0; pos < share; pos += count)
		for (unsigned int i = 0; i < nr; i++)
			reads(c, i * share + pos, count);
}

static void streams_2(struct calls *c)
{
	streams(c, 2, 16 * KB);
}

static void streams_3(struct calls *c)
{
	streams(c, 3, 8 * KB);
}

static void two_descriptions(struct calls *c)
{
	for (uint64_t pos = 0; pos < 8 * MB; pos += 16 * KB) {
		access_by(c, DO_READ, 0, pos, 16 * KB);
		access_by(c, DO_READ, 1, pos + 4 * MB + 16 * KB, 16 * KB);
	}
}

static void stride_16k_64k(struct calls *c)
{
	stride(c, 64 * KB, 16 * KB);
}

static void stride_4k_8k(struct calls *c)
{
	for (uint64_t page = 0; page < 1200; page += 2)
		page_read(c, page);
}

static void stride_4k_12k(struct calls *c)
{
	stride(c, 12 * KB, 4 * KB);
}

static void stride_64k_1m(struct calls *c)
{
	stride(c, MB, 64 * KB);
}

static void backward_4k(struct calls *c)
{
	for (uint64_t page = 1024; page--;)
		page_read(c, page);
}

static void backward_64k(struct calls *c)
{
	for (uint64_t pos = 16 * MB; pos;) {
		pos -= 64 * KB;
		reads(c, pos, 64 * KB);
	}
}

static void random_4k(struct calls *c)
{
	uint64_t state = 1;

	for (int i = 0; i < RANDOM_CALLS; i++)
		page_read(c, pseudo(&state) % PATTERN_PAGES);
}

static void random_64k(struct calls *c)
{
	uint64_t state = 2;

	for (int i = 0; i < RANDOM_CALLS; i++)
		reads(c, pseudo(&state) % (PATTERN_PAGES - 16) * PATTERN_PAGE, 64 * KB);
}

static void random_runs(struct calls *c)
{
	uint64_t state = 3;

	for (int i = 0; i < RANDOM_CALLS / 8; i++) {
		uint64_t page = pseudo(&state) % (PATTERN_PAGES - 64);
		uint64_t nr = pseudo(&state) % 60;

		for (uint64_t j = 0; j < nr; j++)
			page_read(c, page + j);
	}
}

static void advised_random(struct calls *c)
{
	for (uint64_t page = 0; page < 100; page++)
		page_read(c, page);
	advise(c, DO_ADVISE, ADVISE_RANDOM, 0, 0);
	for (uint64_t pos = 100 * PATTERN_PAGE; pos < 10 * MB; pos += 16 * KB)
		reads(c, pos, 16 * KB);
	for (uint64_t pos = 10 * MB; pos < 16 * MB; pos += 2 * MB)
		reads(c, pos, 2 * MB);
	advise(c, DO_ADVISE, ADVISE_NORMAL, 0, 0);
	for (uint64_t page = 2900; page < 3200; page++)
		page_read(c, page);
}

static void advised_sequential(struct calls *c)
{
	advise(c, DO_ADVISE, ADVISE_SEQUENTIAL, 0, 0);
	stride(c, 16 * KB, 16 * KB);
}

static void willneed(struct calls *c)
{
	page_read(c, 700);
	advise(c, DO_ADVISE, ADVISE_WILLNEED, MB + 100, 8 * MB);
	advise(c, DO_ADVISE, ADVISE_WILLNEED, 12 * MB, 300 * KB);
	stride(c, 64 * KB, 64 * KB);
}

static void mmap_seq(struct calls *c)
{
	for (uint64_t page = 0; page < PATTERN_PAGES; page++)
		touch(c, page);
}

static void mmap_random(struct calls *c)
{
	uint64_t state = 4;

	for (int i = 0; i < TOUCHES; i++)
		touch(c, pseudo(&state) % PATTERN_PAGES);
}

static void mmap_backward(struct calls *c)
{
	for (uint64_t page = PATTERN_PAGES; page--;)
		touch(c, page);
}

static void mmap_stride(struct calls *c)
{
	for (uint64_t i = 0; i < 200; i++)
		touch(c, 20 * i);
}

static void mmap_advised_random(struct calls *c)
{
	advise(c, DO_MADVISE, ADVISE_RANDOM, 0, 0);
	for (uint64_t page = 0; page < 300; page++)
		touch(c, page);
	mmap_random(c);
}

static void mmap_advised_sequential(struct calls *c)
{
	advise(c, DO_MADVISE, ADVISE_SEQUENTIAL, 0, 0);
	for (uint64_t page = 500; page < 2500; page++)
		touch(c, page);
	for (uint64_t page = 0; page < 300; page++)
		touch(c, page);
}

static void mmap_willneed(struct calls *c)
{
	advise(c, DO_MADVISE, ADVISE_WILLNEED, 2 * MB, 6 * MB);
	mmap_seq(c);
}

static void end_of_file(struct calls *c)
{
	for (uint64_t pos = PATTERN_BYTES - 2 * MB; pos < PATTERN_BYTES + 256 * KB; pos += 128 * KB)
		reads(c, pos, 128 * KB);
	page_read(c, PATTERN_PAGES - 600);
	for (uint64_t page = PATTERN_PAGES - 599; page < PATTERN_PAGES + 2; page++)
		page_read(c, page);
	reads(c, 0, 100 * MB);
}

static void sendfile_1m(struct calls *c)
{
	for (uint64_t pos = 0; pos < 16 * MB; pos += MB)
		access_by(c, DO_SEND, 0, pos, MB);
}

static void mmap_exec(struct calls *c)
{
	for (uint64_t page = 0; page < 600; page += 3)
		touch(c, page);
	mmap_random(c);
}

static void mmap_and_reads(struct calls *c)
{
	for (uint64_t page = 0; page < 1500; page++) {
		page_read(c, page);
		touch(c, 4000 - page);
	}
}

static const struct pattern patterns[] = {
	{"seq_4k", seq_4k, false},
	{"seq_64k", seq_64k, false},
	{"seq_1m", seq_1m, false},
	{"seq_4m", seq_4m, false},
	{"unaligned", unaligned, false},
	{"midfile", midfile, false},
	{"streams_2", streams_2, false},
	{"streams_3", streams_3, false},
	{"two_descriptions", two_descriptions, false},
	{"stride_16k_64k", stride_16k_64k, false},
	{"stride_4k_8k", stride_4k_8k, false},
	{"stride_4k_12k", stride_4k_12k, false},
	{"stride_64k_1m", stride_64k_1m, false},
	{"backward_4k", backward_4k, false},
	{"backward_64k", backward_64k, false},
	{"random_4k", random_4k, false},
	{"random_64k", random_64k, false},
	{"random_runs", random_runs, false},
	{"advised_random", advised_random, false},
	{"advised_sequential", advised_sequential, false},
	{"willneed", willneed, false},
	{"mmap_seq", mmap_seq, false},
	{"mmap_random", mmap_random, false},
	{"mmap_backward", mmap_backward, false},
	{"mmap_stride", mmap_stride, false},
	{"mmap_advised_random", mmap_advised_random, false},
	{"mmap_advised_sequential", mmap_advised_sequential, false},
	{"mmap_willneed", mmap_willneed, false},
	{"end_of_file", end_of_file, false},
	{"sendfile_1m", sendfile_1m, false},
	{"mmap_exec", mmap_exec, true},
	{"mmap_and_reads", mmap_and_reads, false},
};

size_t pattern_count(void)
{
	return sizeof(patterns) / sizeof(patterns[0]);
}

const struct pattern *pattern_at(size_t i)
{
	return &patterns[i];
}

const struct pattern *pattern_named(const char *name)
{
	for (size_t i = 0; i < pattern_count(); i++)
		if (strcmp(patterns[i].name, name) == 0)
			return &patterns[i];
	return NULL;
}

size_t pattern_settings(const unsigned int **ret_kb)
{
	static const unsigned int kb[] = {32, 128, 1024};

	*ret_kb = kb;
	return sizeof(kb) / sizeof(kb[0]);
}

void calls_make(const struct pattern *p, struct calls *ret)
{
	memset(ret, 0, sizeof(*ret));
	p->make(ret);
}

void calls_free(struct calls *calls)
{
	free(calls->call);
	memset(calls, 0, sizeof(*calls));
}
