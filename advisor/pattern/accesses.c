/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/pattern/accesses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/arena.h"
#include "cachemon/base/order.h"

enum { ENDS = 16, DESCRIPTIONS_MAX = 65536 };

/* Where the last reads of an open file ended, the latest first. */
struct track {
	uint64_t ends[ENDS];
	uint64_t pos; /* end of the last read */
	uint64_t run; /* start of the run that the read belongs to */
	size_t nr;
};

/* The step from one access of an open file to the next. */
struct steps {
	uint64_t page_bytes;
	size_t nr, sequential, backward, ascending, on_stream;
	size_t jumps, jumps_up; /* steps that are not sequential */
	size_t depth[ENDS];	/* streams in between, for a read on a stream */
	int64_t usual; /* from run to run, the majority of the steps (Boyer and Moore's vote) */
	size_t votes, usual_nr;
	bool voted; /* usual is known, and counted */
};

static uint64_t median_u64(uint64_t *values, size_t nr)
{
	qsort(values, nr, sizeof(*values), order_u64);
	return values[nr / 2];
}

static bool continues_at(uint64_t end, uint64_t pos, uint64_t page_bytes)
{
	/* Tolerates a gap within a page, and a page that two neighbouring reads share. */
	return pos < end + page_bytes && pos + page_bytes > end;
}

static void remember_end(struct track *t, size_t at, uint64_t pos, uint64_t end)
{
	memmove(&t->ends[1], &t->ends[0], at * sizeof(t->ends[0]));
	t->ends[0] = end;
	t->pos = pos;
}

/* A new run begins. */
static void begin_run(struct track *t, uint64_t pos, struct steps *s)
{
	int64_t by = (int64_t)(pos - t->run);

	s->jumps++;
	s->jumps_up += pos > t->pos;
	t->run = pos;
	if (s->voted) {
		s->usual_nr += by == s->usual;
		return;
	}
	if (s->votes == 0)
		s->usual = by;
	s->votes += by == s->usual ? 1 : -1;
}

/* Counts the step to this access, which becomes the latest of its open file. */
static void take_step(struct track *t, const struct access *a, struct steps *s)
{
	uint64_t end = a->pos + a->len;
	size_t at = 0;
	bool sequential;

	if (!t->nr) {
		t->nr = 1;
		t->run = a->pos;
		remember_end(t, 0, a->pos, end);
		return;
	}
	while (at < t->nr && !continues_at(t->ends[at], a->pos, s->page_bytes))
		at++;
	sequential = at == 0 && a->pos > t->pos;
	s->nr++;
	s->sequential += sequential;
	s->ascending += a->pos > t->pos;
	s->backward += a->pos < t->pos && continues_at(end, t->pos, s->page_bytes);
	if (!sequential)
		begin_run(t, a->pos, s);
	if (at < t->nr) {
		s->on_stream++;
		s->depth[at]++;
	} else {
		t->nr += t->nr < ENDS;
		at = t->nr - 1;
	}
	remember_end(t, at, a->pos, end);
}

static size_t tracks_of(const struct access *a, size_t nr, size_t *ret_used)
{
	bool *seen = calloc(DESCRIPTIONS_MAX, sizeof(*seen));
	size_t most = 0;
	size_t used = 0;

	for (size_t i = 0; seen && i < nr; i++) {
		size_t d = a[i].description % DESCRIPTIONS_MAX;

		used += !seen[d];
		seen[d] = true;
		if (d + 1 > most)
			most = d + 1;
	}
	free(seen);
	*ret_used = used;
	return most;
}

/* apart: each open file separately; else the whole file as one, if each open file is used once
 * and closed. */
static int walk_once(const struct access *a, size_t nr, bool apart, size_t nr_tracks,
		     struct steps *s)
{
	struct track *t = calloc(nr_tracks + 1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		take_step(&t[apart ? a[i].description % DESCRIPTIONS_MAX : 0], &a[i], s);
	free(t);
	return 0;
}

/* Two passes: the vote finds a majority step if there is one, but not how many make it. */
static int walk_twice(const struct access *a, size_t nr, bool apart, size_t nr_tracks,
		      struct steps *s)
{
	struct steps voted = {.page_bytes = s->page_bytes, .voted = true};
	int ret = walk_once(a, nr, apart, nr_tracks, s);

	voted.usual = s->usual;
	if (!ret)
		ret = walk_once(a, nr, apart, nr_tracks, &voted);
	s->usual_nr = voted.usual_nr;
	return ret;
}

/* 1 + the median number of streams that a stream waited for. */
static size_t streams_of(const struct steps *s)
{
	size_t sum = 0;

	for (size_t i = 0; i < ENDS; i++) {
		sum += s->depth[i];
		if (s->on_stream && sum * 2 >= s->on_stream)
			return i + 1;
	}
	return 1;
}

static int put_median(const struct access *a, size_t nr, struct features *f)
{
	uint64_t *sizes = malloc(nr * sizeof(*sizes));

	if (!sizes)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		sizes[i] = a[i].len;
	features_set(f, F_read_bytes_median, (double)median_u64(sizes, nr));
	free(sizes);
	return 0;
}

int accesses_features(const struct access *a, size_t nr, uint64_t page_bytes, struct features *f)
{
	struct steps s = {.page_bytes = page_bytes};
	size_t used = 0;
	size_t nr_tracks = tracks_of(a, nr, &used);
	bool apart = used * 2 <= nr;
	double bytes = 0;

	if (!nr)
		return 0;
	if (put_median(a, nr, f) || walk_twice(a, nr, apart, nr_tracks, &s))
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		bytes += (double)a[i].len;
	features_set(f, F_reads, (double)nr);
	features_set(f, F_descriptions, (double)used);
	features_set_ratio(f, F_sequential_share, (double)s.sequential, (double)s.nr);
	features_set_ratio(f, F_backward_share, (double)s.backward, (double)s.nr);
	features_set_ratio(f, F_stream_share, (double)s.on_stream, (double)s.nr);
	features_set_ratio(f, F_ascending_share, (double)s.ascending, (double)s.nr);
	features_set_ratio(f, F_stride_share, (double)s.usual_nr, (double)s.jumps);
	features_set_ratio(f, F_jump_ascending_share, (double)s.jumps_up, (double)s.jumps);
	features_set(f, F_runs, (double)(s.jumps + (apart ? used : 1)));
	features_set(f, F_run_bytes, bytes / f->value[F_runs]);
	if (s.jumps)
		features_set(f, F_stride_bytes, (double)s.usual);
	if (s.nr)
		features_set(f, F_streams, (double)streams_of(&s));
	return 0;
}

int faults_features(const struct access *a, size_t nr, uint64_t page_bytes, struct features *f)
{
	size_t used = 0;
	size_t nr_tracks = tracks_of(a, nr, &used);
	struct steps s = {.page_bytes = page_bytes};
	struct arena arena = {0};
	uint64_t *gaps = arena_alloc(&arena, (nr + 1) * sizeof(*gaps));
	uint64_t *last = arena_alloc(&arena, (nr_tracks + 1) * sizeof(*last));
	bool *seen = arena_alloc(&arena, (nr_tracks + 1) * sizeof(*seen));
	size_t up = 0;
	size_t down = 0;
	int ret = arena.failed ? -ENOMEM : 0;

	for (size_t i = 0; i < nr && !ret; i++) {
		size_t d = a[i].description % DESCRIPTIONS_MAX;

		if (seen[d] && a[i].pos > last[d])
			gaps[up++] = (a[i].pos - last[d]) / page_bytes;
		down += seen[d] && a[i].pos < last[d];
		seen[d] = true;
		last[d] = a[i].pos;
	}
	if (!ret && nr)
		ret = walk_twice(a, nr, true, nr_tracks, &s);
	if (!ret && nr) {
		features_set(f, F_faults, (double)nr);
		features_set_ratio(f, F_fault_ascending_share, (double)up, (double)(up + down));
		features_set_ratio(f, F_fault_gap_share, (double)s.usual_nr, (double)s.jumps);
		if (up)
			features_set(f, F_fault_gap_pages, (double)median_u64(gaps, up));
	}
	arena_free(&arena);
	return ret;
}

/* Share of the file; a task that reads less shares the work with others. */
static const double WHOLE = 0.8;

static int by_task_and_place(const void *a, const void *b)
{
	const struct access *x = a;
	const struct access *y = b;

	if (x->actor != y->actor)
		return x->actor < y->actor ? -1 : 1;
	return x->pos < y->pos ? -1 : x->pos > y->pos;
}

/* Distinct bytes that the task at i read; *ret_next: the first access of the next task. */
static double distinct_bytes(const struct access *a, size_t nr, size_t i, size_t *ret_next)
{
	uint32_t actor = a[i].actor;
	uint64_t reached = 0;
	double bytes = 0;

	for (; i < nr && a[i].actor == actor; i++) {
		uint64_t from = a[i].pos > reached ? a[i].pos : reached;
		uint64_t end = a[i].pos + a[i].len;

		if (end <= from)
			continue;
		bytes += (double)(end - from);
		reached = end;
	}
	*ret_next = i;
	return bytes;
}

int readers_features(const struct access *a, size_t nr, uint64_t size_bytes, struct features *f)
{
	struct access *sorted;
	size_t readers = 0;

	if (!nr || !size_bytes)
		return 0;
	sorted = malloc(nr * sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		sorted[i] = a[i];
	qsort(sorted, nr, sizeof(*sorted), by_task_and_place);
	for (size_t i = 0; i < nr;)
		readers += distinct_bytes(sorted, nr, i, &i) >= WHOLE * (double)size_bytes;
	features_set(f, F_readers, (double)readers);
	free(sorted);
	return 0;
}
