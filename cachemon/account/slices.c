/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/account/slices.h"

#include <math.h>
#include <string.h>

static const char nothing_seen[] = "no slice contained a read of this kind";
static const char too_few[] = "too few slices contained reads to compute an interval";
static const char uncounted[] = "the kernel does not count bytes read by AIO, io_uring and splice, "
				"so slices do not represent the time between them";
static const char lost[] =
	"at least once, /proc did not show how many bytes the job's tasks had read";
static const char fewer_than_misses[] = "the estimate is below the number of misses";
static const char too_wide[] =
	"the 90 % interval of the estimate is wider than a quarter of its value";

void slices_exact(struct slices *s, const double seen[SLICE_FIGURES])
{
	for (int f = 0; f < SLICE_FIGURES; f++)
		s->exact[f] += seen[f];
}

/* The base of a figure: the measure that it is most nearly proportional to. */
static double read_for(enum slice_figure f, const struct slice_read *r)
{
	return f == SLICE_READ_CALLS ? r->calls : r->bytes;
}

static void part_add(struct slice_part *sum, const struct slice_part *p)
{
	for (int f = 0; f < SLICE_FIGURES; f++)
		sum->seen[f] += p->seen[f];
	sum->on.bytes += p->on.bytes;
	sum->on.calls += p->on.calls;
	sum->all.bytes += p->all.bytes;
	sum->all.calls += p->all.calls;
	sum->cuts += p->cuts;
}

static void join_neighbours(struct slices *s)
{
	for (size_t i = 0; i < s->nr / 2; i++) {
		s->parts[i] = s->parts[2 * i];
		part_add(&s->parts[i], &s->parts[2 * i + 1]);
	}
	s->nr /= 2;
	s->per_part *= 2;
}

void slices_add(struct slices *s, const struct slice_part *part)
{
	if (!s->per_part)
		s->per_part = 1;
	if (s->nr && s->last_part < s->per_part) {
		part_add(&s->parts[s->nr - 1], part);
		s->last_part++;
		return;
	}
	if (s->nr == SLICE_PARTS_MAX) {
		join_neighbours(s);
		part_add(&s->parts[s->nr - 1], part);
		s->last_part = s->per_part / 2 + 1;
		return;
	}
	s->parts[s->nr++] = *part;
	s->last_part = 1;
}

/* Sums over neighbouring parts: what was seen, and its base. */
struct stratum {
	double seen, on, all;
	double call; /* base of a mean call with the hook on */
	double cuts;
	double value;	 /* estimate of the whole stratum */
	double variance; /* of it */
	unsigned int nr; /* parts whose slices saw reads */
};

static void stratum_sum(const struct slice_part *p, size_t nr, enum slice_figure f,
			struct stratum *h)
{
	struct slice_read read = {0};

	*h = (struct stratum){0};
	for (size_t i = 0; i < nr; i++) {
		double on = read_for(f, &p[i].on);

		h->seen += p[i].seen[f];
		h->on += on;
		h->all += read_for(f, &p[i].all);
		h->cuts += p[i].cuts;
		h->nr += on > 0;
		read.calls += p[i].seen[SLICE_READ_CALLS];
		read.bytes += p[i].seen[SLICE_READ_BYTES];
	}
	if (read.calls > 0)
		h->call = f == SLICE_READ_CALLS ? 1 : read.bytes / read.calls;
}

/* A slice may begin and end within a call. The bytes of such a call count as a whole, but its pages
 * do not: the missing or surplus part is uniformly distributed between none and all of a mean
 * call. */
static double cut_variance(const struct stratum *h, double ratio)
{
	double call = ratio * h->call;

	return h->cuts * call * call / 12;
}

/* The ratio of all parts except this one. */
static double without(const struct stratum *h, const struct slice_part *p, enum slice_figure f)
{
	return (h->seen - p->seen[f]) / (h->on - read_for(f, &p->on));
}

/*
 * The estimate: what was seen, plus the ratio of what was seen to what was read in slices, times
 * what was read outside. Its variance comes from the ratios without one part each (jackknife).
 * False: unknown.
 */
static bool stratum_estimate(const struct slice_part *p, size_t nr, enum slice_figure f,
			     struct stratum *h)
{
	double ratio, mean = 0, squares = 0, off;

	stratum_sum(p, nr, f, h);
	off = fmax(h->all - h->on, 0);
	if (off <= 0 || h->nr < 2) {
		h->value = h->seen;
		return off <= 0;
	}
	ratio = h->seen / h->on;
	h->value = h->seen + ratio * off;
	for (size_t i = 0; i < nr; i++)
		if (read_for(f, &p[i].on) > 0)
			mean += without(h, &p[i], f) / h->nr;
	for (size_t i = 0; i < nr; i++) {
		double d;

		if (read_for(f, &p[i].on) <= 0)
			continue;
		d = without(h, &p[i], f) - mean;
		squares += d * d;
	}
	/* Omits the jackknife's factor (nr - 1) / nr: with it, intervals of few parts contained the
	 * true value too seldom. */
	h->variance = squares * off * off + cut_variance(h, ratio) * off * off / h->on / h->on;
	return true;
}

/* 95 % quantile of Student's t: 10 % for both sides together. */
static double student(double df)
{
	static const double t[] = {6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895,
				   1.860, 1.833, 1.812, 1.796, 1.782, 1.771, 1.761,
				   1.753, 1.746, 1.740, 1.734, 1.729, 1.725};
	size_t n = sizeof(t) / sizeof(t[0]);

	if (df < 1)
		return t[0];
	return df < (double)n ? t[(size_t)df - 1] : 1.645 + 1.6 / df;
}

/* A stratum ends when it has enough informative parts; the last stratum takes the rest. */
static size_t stratum_parts(const struct slices *s, size_t from, enum slice_figure f)
{
	size_t nr = 0, say = 0;

	while (from + nr < s->nr && say < SLICE_STRATUM)
		say += read_for(f, &s->parts[from + nr++].on) > 0;
	for (size_t i = from + nr, rest = 0; i < s->nr; i++) {
		rest += read_for(f, &s->parts[i].on) > 0;
		if (rest == SLICE_STRATUM)
			return nr;
	}
	return s->nr - from;
}

static void judge_width(struct slice_estimate *e)
{
	e->known = e->high - e->low <= SLICE_WIDTH_MAX * fabs(e->value);
	e->reason = e->known ? NULL : too_wide;
}

/* All parts, with slices or with the hook on. */
struct seen_in_all {
	double figure[SLICE_FIGURES];
	struct slice_read on; /* of slices */
	double sliced_bytes;  /* number seen in slices */
	double cuts;
};

static struct seen_in_all sum_all(const struct slices *s)
{
	struct seen_in_all sum = {0};

	for (int f = 0; f < SLICE_FIGURES; f++)
		sum.figure[f] = s->exact[f];
	for (size_t i = 0; i < s->nr; i++) {
		for (int f = 0; f < SLICE_FIGURES; f++)
			sum.figure[f] += s->parts[i].seen[f];
		sum.on.bytes += s->parts[i].on.bytes;
		sum.on.calls += s->parts[i].on.calls;
		sum.sliced_bytes += s->parts[i].seen[SLICE_READ_BYTES];
		sum.cuts += s->parts[i].cuts;
	}
	return sum;
}

/* A slice may begin or end within a call, which is then in only one of the two counts. */
static bool are_uncounted(const struct seen_in_all *sum)
{
	double calls = sum->figure[SLICE_READ_CALLS];
	double call = calls > 0 ? sum->figure[SLICE_READ_BYTES] / calls : 0;

	return sum->sliced_bytes * (1 - SLICE_UNCOUNTED_MAX) > sum->on.bytes + sum->cuts * call;
}

/* A figure per byte, or per call: its value if everything that was read came from files. */
static double rate_of_files(const struct seen_in_all *sum, enum slice_figure f)
{
	double files = sum->figure[f == SLICE_READ_CALLS ? SLICE_READ_CALLS : SLICE_READ_BYTES];

	return files > 0 ? sum->figure[f] / files : 0;
}

void slices_estimate(const struct slices *s, enum slice_figure which, struct slice_estimate *ret)
{
	double variance = 0, freedom = 0, half, seen = s->exact[which];
	double off = 0, unseen = 0;
	struct seen_in_all sum = sum_all(s);
	struct stratum h;

	*ret = (struct slice_estimate){.value = s->exact[which]};
	if (s->lost || are_uncounted(&sum)) {
		ret->reason = s->lost ? lost : uncounted;
		return;
	}
	for (size_t i = 0, nr; i < s->nr; i += nr) {
		nr = stratum_parts(s, i, which);
		if (!stratum_estimate(s->parts + i, nr, which, &h)) {
			ret->reason = h.on > 0 ? too_few : nothing_seen;
			return;
		}
		ret->value += h.value;
		seen += h.seen;
		variance += h.variance;
		off += fmax(h.all - h.on, 0);
		unseen += h.seen > 0 ? h.value - h.seen
				     : rate_of_files(&sum, which) * fmax(h.all - h.on, 0);
		if (h.nr > 1)
			freedom += h.variance * h.variance / (h.nr - 1);
	}
	half = freedom > 0 ? student(variance * variance / freedom) * sqrt(variance) : 0;
	if (sum.cuts > 0)
		half = hypot(half, SLICE_UNSEEN * 2 / sum.cuts * unseen);
	half += SLICE_SEAM * (ret->value - seen);
	ret->low = fmax(ret->value - half, seen);
	ret->high = ret->value + half;
	judge_width(ret);
	/* Some may still exist that no slice saw. */
	if (s->nr && seen == s->exact[which] &&
	    (which == SLICE_DELAYED_HITS || (off > 0 && sum.figure[which] <= 0))) {
		ret->known = false;
		ret->reason = nothing_seen;
	}
}

void slices_lookups(const struct slices *s, double misses, struct slice_estimate *ret)
{
	slices_estimate(s, SLICE_LOOKUPS, ret);
	if (ret->reason && ret->reason != too_wide)
		return;
	if (ret->high < misses) {
		ret->known = false;
		ret->reason = fewer_than_misses;
		return;
	}
	ret->value = fmax(ret->value, misses);
	ret->low = fmax(ret->low, misses);
	judge_width(ret);
}

void slices_hits(const struct slices *s, double misses, struct slice_estimate *ret_hits,
		 struct slice_estimate *ret_ratio)
{
	struct slice_estimate lookups;

	slices_lookups(s, misses, &lookups);
	*ret_hits = *ret_ratio = lookups;
	if (lookups.reason && lookups.reason != too_wide)
		return;
	ret_hits->value = lookups.value - misses;
	ret_hits->low = lookups.low - misses;
	ret_hits->high = lookups.high - misses;
	judge_width(ret_hits);
	ret_ratio->value = lookups.value > 0 ? ret_hits->value / lookups.value : 0;
	ret_ratio->low = lookups.low > 0 ? ret_hits->low / lookups.low : 0;
	ret_ratio->high = lookups.high > 0 ? ret_hits->high / lookups.high : 0;
	judge_width(ret_ratio);
	if (ret_ratio->known && lookups.value <= 0) {
		ret_ratio->known = false;
		ret_ratio->reason = nothing_seen;
	}
}
