/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/series/series_cells.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "cachemon/base/optional.h"
#include "cachemon/base/order.h"
#include "cachemon/figures/counters.h"
#include "cachemon/figures/counts.h"

/* A run with coarse rows is analysed as a whole if it has at least this many of them; else only
 * from where finer rows begin. An hour of minutes, 15 hours of 15 minutes. */
enum { WHOLE_CELLS_MIN = 60 };

/* With fewer lookups a hit ratio is chance. */
#define LOOKUPS_MIN 100

/* A larger sum of rows is damaged. */
#define COUNT_MAX 9e18

static int by_start(const void *a, const void *b)
{
	const struct series_row *x = a;
	const struct series_row *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return (x->duration_ns > y->duration_ns) - (x->duration_ns < y->duration_ns);
}

static bool is_active(const struct series_row *r)
{
	for (int i = 0; i < INPUT_SUMS; i++)
		if (r->v[i] > 0)
			return true;
	return false;
}

/* From the job's first act to its last: it may have begun after the run and ended before it. */
static void trim_rows(struct series_row **rows, size_t *nr)
{
	while (*nr && !is_active(&(*rows)[*nr - 1]))
		--*nr;
	while (*nr && !is_active(&(*rows)[0])) {
		++*rows;
		--*nr;
	}
}

static int64_t total_ns(const struct series_row *rows, size_t nr)
{
	int64_t sum = 0;

	for (size_t i = 0; i < nr; i++)
		sum = add_saturating(sum, rows[i].duration_ns);
	return sum;
}

static int64_t longest_rolled(const struct series_row *rows, size_t nr)
{
	int64_t longest = 0;

	for (size_t i = 0; i < nr; i++)
		if (rows[i].rolled && rows[i].duration_ns > longest)
			longest = rows[i].duration_ns;
	return longest;
}

/* After the last row of about that length. */
static size_t behind_rolled(const struct series_row *rows, size_t nr, int64_t length_ns)
{
	size_t behind = 0;

	for (size_t i = 0; i < nr; i++)
		if (rows[i].rolled && rows[i].duration_ns > length_ns / 2)
			behind = i + 1;
	return behind;
}

static int median_length(const struct series_row *rows, size_t nr, int64_t *ret)
{
	int64_t *lengths = reallocarray(NULL, nr, sizeof(*lengths));

	if (!lengths)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		lengths[i] = rows[i].duration_ns;
	qsort(lengths, nr, sizeof(*lengths), order_i64);
	*ret = lengths[nr / 2];
	free(lengths);
	return 0;
}

/* The length of the cells, and the first row to use. */
static int choose_length(struct series_row **rows, size_t *nr, struct series_cells *c)
{
	int64_t length = longest_rolled(*rows, *nr);
	int64_t folded;
	int e = 0;

	while (length && total_ns(*rows, *nr) / length < WHOLE_CELLS_MIN) {
		size_t behind = behind_rolled(*rows, *nr, length);

		/* The job ended early, and all of its rows are coarse. */
		if (behind == *nr)
			break;
		*rows += behind;
		*nr -= behind;
		c->left_out_ns = (*rows)->start_ns;
		length = longest_rolled(*rows, *nr);
	}
	if (!length)
		e = median_length(*rows, *nr, &length);
	if (e)
		return e;
	folded = length > 0 ? total_ns(*rows, *nr) / length / SERIES_MAX + 1 : 1;
	c->length_ns = length * folded;
	return 0;
}

struct open_cell {
	int64_t start_ns, end_ns, duration_ns;
	bool partial;
	double v[INPUT_NR];
};

/* NAN if not known: fmax() would return 0. */
static double rate_over(double sum, double by)
{
	return isnan(sum) || !(by > 0) ? NAN : fmax(sum, 0) / by;
}

static double hit_ratio(const struct open_cell *o)
{
	double lookups = o->v[INPUT_LOOKUPS];
	double misses = o->v[INPUT_MISSES];
	struct counts c = {.known = {[C_lookups] = true, [C_misses] = true}};
	struct derived d;

	if (o->partial ||
	    !(lookups >= LOOKUPS_MIN && lookups < COUNT_MAX && fabs(misses) < COUNT_MAX))
		return NAN;
	c.c[C_lookups] = (int64_t)lookups;
	c.c[C_misses] = (int64_t)misses;
	counts_derive(&c, 0, &d);
	return d.hit_ratio.known ? d.hit_ratio.value : NAN;
}

/* last: values of the cell that ends where this one begins; NAN if there is no such cell. */
static void put_figures(struct series_cells *c, const struct open_cell *o, const double *last)
{
	double s = (double)o->duration_ns / 1e9;
	double watched = o->partial ? NAN : 1; /* reads */
	size_t i = c->nr;

	c->v[FIGURE_HIT_RATIO][i] = hit_ratio(o);
	c->v[FIGURE_MISSES][i] = rate_over(o->v[INPUT_MISSES], s);
	c->v[FIGURE_LOOKUPS][i] = rate_over(o->v[INPUT_LOOKUPS] * watched, s);
	c->v[FIGURE_READ_BYTES][i] = rate_over(o->v[INPUT_READ_BYTES] * watched, s);
	c->v[FIGURE_PREFETCHED][i] = rate_over(o->v[INPUT_PREFETCHED], s);
	c->v[FIGURE_WASTED][i] = rate_over(o->v[INPUT_WASTED], s);
	c->v[FIGURE_EVICTED][i] = rate_over(o->v[INPUT_EVICTED], s);
	c->v[FIGURE_REFAULTS][i] = rate_over(o->v[INPUT_REFAULTS], s);
	c->v[FIGURE_STALL][i] = rate_over(o->v[INPUT_STALL_NS] / 1e9, s);
	c->v[FIGURE_CPU][i] = rate_over(o->v[INPUT_CPU_NS] / 1e9, s);
	for (int k = 0; k < INPUT_NR - INPUT_SUMS; k++)
		c->v[FIGURE_AVAILABLE + k][i] = (o->v[INPUT_SUMS + k] - last[k]) / s;
}

static void close_cell(struct series_cells *c, struct open_cell *o, double *last)
{
	bool short_one = o->duration_ns < c->length_ns / 2;

	if (o->duration_ns > 0 && !short_one) {
		put_figures(c, o, last);
		c->start_ns[c->nr] = o->start_ns;
		c->end_ns[c->nr++] = o->end_ns;
	}
	for (int k = 0; k < INPUT_NR - INPUT_SUMS; k++)
		last[k] = o->duration_ns > 0 && !short_one ? o->v[INPUT_SUMS + k] : NAN;
	*o = (struct open_cell){0};
}

static void add_row(struct open_cell *o, const struct series_row *r)
{
	if (!o->duration_ns)
		o->start_ns = r->start_ns;
	o->end_ns = r->start_ns + r->duration_ns;
	o->duration_ns = add_saturating(o->duration_ns, r->duration_ns);
	o->partial = o->partial || r->partial;
	for (int i = 0; i < INPUT_NR; i++)
		o->v[i] = i < INPUT_SUMS ? o->v[i] + r->v[i] : r->v[i];
}

static void fill_cells(const struct series_row *rows, size_t nr, struct series_cells *c,
		       size_t room)
{
	struct open_cell o = {0};
	double last[INPUT_NR - INPUT_SUMS] = {NAN, NAN, NAN};
	int64_t end_ns = rows[0].start_ns;

	for (size_t i = 0; i < nr && c->nr < room; i++) {
		/* Intervals were lost: the next cell has no predecessor. */
		if (rows[i].start_ns - end_ns > c->length_ns / 2) {
			if (o.duration_ns)
				close_cell(c, &o, last);
			for (int k = 0; k < INPUT_NR - INPUT_SUMS; k++)
				last[k] = NAN;
		}
		if (c->nr == room)
			return;
		add_row(&o, &rows[i]);
		end_ns = o.end_ns;
		if (add_saturating(o.duration_ns, rows[i].duration_ns / 2) >= c->length_ns)
			close_cell(c, &o, last);
	}
	if (c->nr < room && o.duration_ns)
		close_cell(c, &o, last);
}

int series_cells_make(struct series_row *rows, size_t nr, struct arena *arena,
		      struct series_cells *ret)
{
	struct series_cells c = {0};
	size_t room;
	int e;

	qsort(rows, nr, sizeof(*rows), by_start);
	trim_rows(&rows, &nr);
	if (!nr) {
		*ret = c;
		return 0;
	}
	e = choose_length(&rows, &nr, &c);
	if (e)
		return e;
	room = nr < 2 * SERIES_MAX ? nr : 2 * SERIES_MAX;
	c.start_ns = arena_alloc(arena, room * sizeof(*c.start_ns));
	c.end_ns = arena_alloc(arena, room * sizeof(*c.end_ns));
	for (int f = 0; f < FIGURE_NR; f++)
		c.v[f] = arena_alloc(arena, room * sizeof(*c.v[f]));
	if (arena->failed)
		return -ENOMEM;
	fill_cells(rows, nr, &c, room);
	*ret = c;
	return 0;
}

#define MIB 1048576.0

/* 100 pages/s are 400 KiB/s, which no device notices. A difference of a twentieth in a ratio
 * matters to a reader. Memory that changes by less than 4 MiB/s takes minutes to matter. */
#define FEW_PAGES  100
#define FEW_BYTES  (4 * MIB)
#define FEW_SHARE  0.05
#define FEW_MEMORY (4 * MIB)

static const struct {
	struct series_metric metric;
	double least;
} figures[FIGURE_NR] = {
	[FIGURE_HIT_RATIO] = {{"hit_ratio", LABEL_hit_ratio, "ratio"}, FEW_SHARE},
	[FIGURE_MISSES] = {{"misses_per_s", "misses", "pages/s"}, FEW_PAGES},
	[FIGURE_LOOKUPS] = {{"lookups_per_s", "lookups", "pages/s"}, 10 * FEW_PAGES},
	[FIGURE_READ_BYTES] = {{"read_bytes_per_s", "bytes read", "bytes/s"}, FEW_BYTES},
	[FIGURE_PREFETCHED] = {{"prefetched_per_s", "prefetched pages", "pages/s"}, FEW_PAGES},
	[FIGURE_WASTED] = {{"wasted_per_s", "evicted unused", "pages/s"}, FEW_PAGES},
	[FIGURE_EVICTED] = {{"evicted_per_s", "evictions", "pages/s"}, FEW_PAGES},
	[FIGURE_REFAULTS] = {{"refaults_per_s", "refaults", "pages/s"}, FEW_PAGES},
	[FIGURE_STALL] = {{"stall_share", "stall", "tasks"}, FEW_SHARE},
	[FIGURE_CPU] = {{"cpu_share", "CPU use", "CPUs"}, FEW_SHARE},
	[FIGURE_AVAILABLE] = {{"available_growth", "growth of the machine's available memory",
			       "bytes/s"},
			      FEW_MEMORY},
	[FIGURE_JOB_MEMORY] = {{"job_memory_growth", "growth of the job's memory", "bytes/s"},
			       FEW_MEMORY},
	[FIGURE_JOB_FILES] = {{"job_file_growth", "growth of the job's page cache", "bytes/s"},
			      FEW_MEMORY},
};

const struct series_metric *series_metric(enum series_figure f)
{
	return &figures[f].metric;
}

double series_least(enum series_figure f)
{
	return figures[f].least;
}

double series_lowest(enum series_figure f)
{
	return f >= FIGURE_AVAILABLE ? -INFINITY : 0;
}

#define A_LOOKUP  "lookups include misses"
#define A_READ	  "a read looks up each of its pages, including the misses"
#define A_VOLUME  "readahead begins with a miss and follows the reads"
#define A_REFAULT "a refault is a miss or a prefetch"
#define AN_EVENT  "evictions include pages evicted unused"
#define A_GROWTH  "the cache grows by added pages and shrinks by evictions"
#define A_PART	  "the job's memory includes its page cache"
#define A_COPY	  "reads copy data, which takes CPU time in any job"

static const struct {
	enum series_figure a, b;
	const char *why;
} bound[] = {
	{FIGURE_HIT_RATIO, FIGURE_MISSES, A_LOOKUP},
	{FIGURE_HIT_RATIO, FIGURE_LOOKUPS, A_LOOKUP},
	{FIGURE_MISSES, FIGURE_LOOKUPS, A_LOOKUP},
	{FIGURE_HIT_RATIO, FIGURE_READ_BYTES, A_READ},
	{FIGURE_MISSES, FIGURE_READ_BYTES, A_READ},
	{FIGURE_LOOKUPS, FIGURE_READ_BYTES, A_READ},
	{FIGURE_HIT_RATIO, FIGURE_PREFETCHED, A_VOLUME},
	{FIGURE_MISSES, FIGURE_PREFETCHED, A_VOLUME},
	{FIGURE_LOOKUPS, FIGURE_PREFETCHED, A_VOLUME},
	{FIGURE_READ_BYTES, FIGURE_PREFETCHED, A_VOLUME},
	{FIGURE_HIT_RATIO, FIGURE_REFAULTS, A_REFAULT},
	{FIGURE_MISSES, FIGURE_REFAULTS, A_REFAULT},
	{FIGURE_PREFETCHED, FIGURE_REFAULTS, A_REFAULT},
	{FIGURE_WASTED, FIGURE_EVICTED, AN_EVENT},
	{FIGURE_MISSES, FIGURE_JOB_FILES, A_GROWTH},
	{FIGURE_PREFETCHED, FIGURE_JOB_FILES, A_GROWTH},
	{FIGURE_REFAULTS, FIGURE_JOB_FILES, A_GROWTH},
	{FIGURE_EVICTED, FIGURE_JOB_FILES, A_GROWTH},
	{FIGURE_WASTED, FIGURE_JOB_FILES, A_GROWTH},
	{FIGURE_MISSES, FIGURE_JOB_MEMORY, A_GROWTH},
	{FIGURE_PREFETCHED, FIGURE_JOB_MEMORY, A_GROWTH},
	{FIGURE_REFAULTS, FIGURE_JOB_MEMORY, A_GROWTH},
	{FIGURE_EVICTED, FIGURE_JOB_MEMORY, A_GROWTH},
	{FIGURE_WASTED, FIGURE_JOB_MEMORY, A_GROWTH},
	{FIGURE_JOB_MEMORY, FIGURE_JOB_FILES, A_PART},
	{FIGURE_LOOKUPS, FIGURE_CPU, A_COPY},
	{FIGURE_READ_BYTES, FIGURE_CPU, A_COPY},
};

const char *series_bound(enum series_figure a, enum series_figure b)
{
	for (size_t i = 0; i < sizeof(bound) / sizeof(bound[0]); i++)
		if ((bound[i].a == a && bound[i].b == b) || (bound[i].a == b && bound[i].b == a))
			return bound[i].why;
	return NULL;
}
