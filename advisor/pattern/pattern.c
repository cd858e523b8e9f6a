/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/pattern/pattern.h"

#include <math.h>
#include <stdarg.h>

const char *feature_name(enum feature f)
{
	static const char *const names[F_NR] = {
#define X(name) [F_##name] = #name,
		PATTERN_FEATURES(X)
#undef X
	};

	return names[f];
}

void features_set(struct features *f, enum feature which, double value)
{
	f->known[which] = isfinite(value);
	f->value[which] = f->known[which] ? value : 0;
}

void features_set_ratio(struct features *f, enum feature which, double num, double den)
{
	if (den > 0)
		features_set(f, which, num / den);
}

bool features_least(const struct features *f, enum feature which, double value)
{
	return f->known[which] && f->value[which] >= value;
}

/* Known and at most this. */
static bool features_most(const struct features *f, enum feature which, double value)
{
	return f->known[which] && f->value[which] <= value;
}

void features_merge(struct features *to, const struct features *from)
{
	for (int i = 0; i < F_NR; i++) {
		if (to->known[i] || !from->known[i])
			continue;
		to->known[i] = true;
		to->value[i] = from->value[i];
	}
}

/* Shares of steps: nearly all, most. */
#define NEARLY_ALL 0.9
#define MOST	   0.7
/* Between these shares there is no dominant direction. */
#define NO_WAY_LOW  0.25
#define NO_WAY_HIGH 0.75
#define TWICE	    1.8 /* epochs: the second one may be cut short */
#define ONCE	    1.3 /* pages at the seam of two reads count twice */
#define WHOLE	    0.9 /* of a file */
/* Up to this size, readahead and fault-around hide the steps of a mapping that is read in order. */
#define MAPPED_STEP_PAGES 128
#define RUNS_MIN	  8  /* fewer steps do not make a stride */
#define SMALL_PAGES	  32 /* a file of one default readahead window */
#define MANY_FILES	  32

/* Confidence from counters alone, which do not show the order. */
#define BY_COUNTERS 0.5
#define BY_SAMPLE   0.8
#define BY_TRACE    0.95

const char *pattern_name(enum pattern_name name)
{
	static const char *const names[PATTERN_NR] = {
#define X(n) [PATTERN_##n] = #n,
		PATTERN_NAMES(X)
#undef X
	};

	return names[name];
}

/* The deciding features follow, then F_NR. */
static struct pattern named_pattern(enum pattern_name name, double confidence, ...)
{
	struct pattern p = {.name = name, .confidence = fmin(fmax(confidence, 0), 1)};
	va_list args;

	va_start(args, confidence);
	for (int f = va_arg(args, int); f != F_NR && p.nr_decided < PATTERN_DECIDING_MAX;
	     f = va_arg(args, int))
		p.decided[p.nr_decided++] = (enum feature)f;
	va_end(args);
	return p;
}

/* A few steps may be an accident: 20 steps get two thirds of the confidence of many. */
static double sureness_of(double base, double clear, const struct features *f, enum feature steps)
{
	double n = f->known[steps] ? f->value[steps] : 100;

	return base * clear * n / (n + 10);
}

static struct pattern of_mapping(const struct features *f)
{
	double up = f->value[F_fault_ascending_share];

	if (!f->known[F_fault_ascending_share]) {
		if (features_least(f, F_async_share, 0.4))
			return named_pattern(PATTERN_mmap_sequential, BY_COUNTERS, F_fault_share,
					     F_async_share, F_NR);
		if (features_most(f, F_async_share, 0.1))
			return named_pattern(PATTERN_mmap_random, BY_COUNTERS, F_fault_share,
					     F_async_share, F_NR);
		return named_pattern(PATTERN_unknown, 0, F_NR);
	}
	if (up <= 1 - NEARLY_ALL)
		return named_pattern(PATTERN_backward, sureness_of(BY_TRACE, 1 - up, f, F_faults),
				     F_fault_ascending_share, F_NR);
	/* Pages between two touches were mapped by fault-around or wait in a window: in a
	 * sequential pass, touches are at the window marks. */
	if (up >= NEARLY_ALL && features_least(f, F_async_share, MOST))
		return named_pattern(PATTERN_mmap_sequential,
				     sureness_of(BY_TRACE, up, f, F_faults),
				     F_fault_ascending_share, F_async_share, F_NR);
	if (up >= NEARLY_ALL && features_most(f, F_fault_gap_pages, MAPPED_STEP_PAGES) &&
	    !(features_least(f, F_fault_gap_share, MOST) &&
	      features_least(f, F_fault_gap_pages, 17)))
		return named_pattern(PATTERN_mmap_sequential,
				     sureness_of(BY_TRACE, up, f, F_faults),
				     F_fault_ascending_share, F_fault_gap_pages, F_NR);
	if (up >= NEARLY_ALL && features_least(f, F_fault_gap_share, MOST))
		return named_pattern(
			PATTERN_strided,
			sureness_of(BY_TRACE, f->value[F_fault_gap_share], f, F_faults),
			F_fault_ascending_share, F_fault_gap_pages, F_fault_gap_share, F_NR);
	if (up >= NO_WAY_LOW && up <= NO_WAY_HIGH)
		return named_pattern(PATTERN_mmap_random,
				     sureness_of(BY_TRACE, 1 - fabs(up - 0.5), f, F_faults),
				     F_fault_ascending_share, F_NR);
	return named_pattern(PATTERN_mixed, 0.5, F_fault_ascending_share, F_fault_gap_pages, F_NR);
}

/* Enough jumps to show a direction, but no direction. */
static bool jumps_about(const struct features *f, enum feature jumps, enum feature up)
{
	return features_least(f, jumps, RUNS_MIN) && features_least(f, up, NO_WAY_LOW) &&
	       features_most(f, up, NO_WAY_HIGH);
}

/* The order of one pass, from all its reads. */
static struct pattern order_of_trace(const struct features *f)
{
	double seq = f->value[F_sequential_share];
	double jump = f->value[F_jump_ascending_share];

	if (features_least(f, F_backward_share, 0.8))
		return named_pattern(PATTERN_backward,
				     sureness_of(BY_TRACE, f->value[F_backward_share], f, F_reads),
				     F_backward_share, F_NR);
	/* Tested before strides, because equal parts that are read in turns lie one step apart. */
	if (features_least(f, F_stream_share, 0.8) && features_least(f, F_streams, 2))
		return named_pattern(PATTERN_interleaved,
				     sureness_of(BY_TRACE, f->value[F_stream_share], f, F_reads),
				     F_stream_share, F_streams, F_NR);
	if (features_least(f, F_stride_share, MOST) && f->value[F_stride_bytes] != 0 &&
	    f->value[F_runs] >= RUNS_MIN)
		return named_pattern(f->value[F_stride_bytes] < 0 ? PATTERN_backward
								  : PATTERN_strided,
				     sureness_of(BY_TRACE, f->value[F_stride_share], f, F_runs),
				     F_stride_bytes, F_stride_share, F_run_bytes, F_NR);
	if (seq >= NEARLY_ALL && !jumps_about(f, F_runs, F_jump_ascending_share))
		return named_pattern(PATTERN_sequential, sureness_of(BY_TRACE, seq, f, F_reads),
				     F_sequential_share, F_NR);
	if (features_least(f, F_jump_ascending_share, NEARLY_ALL) &&
	    features_least(f, F_density, 0.6))
		return named_pattern(PATTERN_sequential, 0.5, F_jump_ascending_share, F_density,
				     F_NR);
	if (seq < MOST && jump >= NO_WAY_LOW && jump <= NO_WAY_HIGH)
		return named_pattern(PATTERN_random,
				     sureness_of(BY_TRACE, 1 - fabs(jump - 0.5), f, F_reads),
				     F_sequential_share, F_jump_ascending_share, F_NR);
	/* Records at random places, each read by several calls. */
	if (jumps_about(f, F_runs, F_jump_ascending_share))
		return named_pattern(PATTERN_random,
				     sureness_of(BY_SAMPLE, 1 - fabs(jump - 0.5), f, F_runs),
				     F_run_bytes, F_jump_ascending_share, F_NR);
	return named_pattern(PATTERN_mixed, 0.5, F_sequential_share, F_stride_share, F_stream_share,
			     F_NR);
}

/* The same from sampled pages, which do not show small steps. */
static struct pattern order_of_sample(const struct features *f)
{
	double up = f->value[F_page_ascending_share];
	double jump = f->value[F_page_jump_ascending_share];

	if (features_least(f, F_page_jumps, RUNS_MIN) &&
	    features_least(f, F_page_stream_share, 0.8))
		return named_pattern(PATTERN_interleaved, BY_SAMPLE * f->value[F_page_stream_share],
				     F_page_jumps, F_page_stream_share, F_NR);
	if (jumps_about(f, F_page_jumps, F_page_jump_ascending_share))
		return named_pattern(PATTERN_random, BY_SAMPLE * (1 - fabs(jump - 0.5)),
				     F_page_jumps, F_page_jump_ascending_share, F_NR);
	if (up >= NEARLY_ALL && features_most(f, F_density, 0.6))
		return named_pattern(PATTERN_strided, BY_COUNTERS, F_page_ascending_share,
				     F_density, F_NR);
	if (up >= NEARLY_ALL)
		return named_pattern(PATTERN_sequential, BY_SAMPLE * up, F_page_ascending_share,
				     F_density, F_NR);
	if (up <= 1 - NEARLY_ALL)
		return named_pattern(PATTERN_backward, BY_SAMPLE * (1 - up), F_page_ascending_share,
				     F_NR);
	return named_pattern(PATTERN_mixed, 0.4, F_page_ascending_share, F_page_jumps, F_NR);
}

/* Active readahead shows order; in a warm cache its absence shows nothing. */
static struct pattern order_of_counters(const struct features *f)
{
	if (features_least(f, F_prefetch_coverage, 0.75) && features_least(f, F_async_share, 0.3))
		return named_pattern(PATTERN_sequential, BY_COUNTERS, F_prefetch_coverage,
				     F_async_share, F_NR);
	if (features_most(f, F_prefetch_coverage, 0.2) && features_most(f, F_bytes_per_call, 65536))
		return named_pattern(PATTERN_random, BY_COUNTERS * 0.8, F_prefetch_coverage,
				     F_bytes_per_call, F_NR);
	return named_pattern(PATTERN_unknown, 0, F_NR);
}

static struct pattern order_of(const struct features *f)
{
	if (f->known[F_sequential_share])
		return order_of_trace(f);
	if (f->known[F_page_ascending_share])
		return order_of_sample(f);
	return order_of_counters(f);
}

static bool in_epochs(const struct features *f)
{
	return features_least(f, F_epochs, TWICE) && f->known[F_order_similarity];
}

/* Each page once, in random order: a shuffled epoch does that, drawing with replacement does
 * not. */
static bool one_permutation(const struct features *f)
{
	return features_least(f, F_coverage, 0.95) && features_most(f, F_reuse, 1.1) &&
	       features_least(f, F_evenness, 0.95);
}

static struct pattern of_reading(const struct features *f)
{
	struct pattern order = order_of(f);
	bool seq = order.name == PATTERN_sequential;
	bool any = order.name == PATTERN_random || order.name == PATTERN_mixed;

	if (seq && features_least(f, F_growth_share, 0.5))
		return named_pattern(PATTERN_append_follow, order.confidence, F_growth_share,
				     order.decided[0], F_NR);
	if (seq && features_least(f, F_reuse, TWICE))
		return named_pattern(PATTERN_reread, order.confidence, F_reuse, order.decided[0],
				     F_epochs, F_order_similarity, F_NR);
	if ((any || order.name == PATTERN_unknown) && in_epochs(f)) {
		double same = f->value[F_order_similarity];
		double base = order.confidence > BY_SAMPLE ? order.confidence : BY_SAMPLE;

		if (same >= 0.8)
			return named_pattern(PATTERN_reread, base * same, F_epochs,
					     F_order_similarity, F_evenness, F_NR);
		if (same <= 0.5)
			return named_pattern(PATTERN_shuffled_epoch, base * (1 - fabs(same) / 2),
					     F_epochs, F_order_similarity, F_evenness, F_NR);
	}
	if (order.name == PATTERN_random && one_permutation(f))
		return named_pattern(PATTERN_shuffled_epoch, 0.7 * order.confidence, F_coverage,
				     F_reuse, F_evenness, order.decided[0], F_NR);
	/* From counters alone: pages were read twice, and were brought in in order. */
	if (seq && !f->known[F_reuse] && features_least(f, F_lookups_per_page, TWICE))
		return named_pattern(PATTERN_reread, 0.8 * order.confidence, F_lookups_per_page,
				     order.decided[0], F_NR);
	if (seq && features_least(f, F_coverage, WHOLE) && features_most(f, F_reuse, ONCE))
		return named_pattern(PATTERN_scan_once, order.confidence, F_coverage, F_reuse,
				     order.decided[0], F_NR);
	if (seq && !f->known[F_coverage] && features_least(f, F_lookups_per_page, WHOLE) &&
	    features_most(f, F_lookups_per_page, ONCE))
		return named_pattern(PATTERN_scan_once, 0.8 * order.confidence, F_lookups_per_page,
				     order.decided[0], F_NR);
	return order;
}

struct pattern pattern_of_file(const struct features *f)
{
	if (features_least(f, F_direct_share, NEARLY_ALL))
		return named_pattern(PATTERN_direct, f->value[F_direct_share], F_direct_share,
				     F_NR);
	if (features_least(f, F_fault_share, 0.5))
		return of_mapping(f);
	return of_reading(f);
}

/*
 * The known name with the most weight, its share of the known weight, and its confidence. Unknown
 * if less than half of the weight has a name.
 */
static enum pattern_name heaviest(const struct pattern_part *parts, size_t nr, double *ret_share,
				  double *ret_sure)
{
	double weight[PATTERN_NR] = {0};
	double confidence[PATTERN_NR] = {0};
	double all = 0;
	double known;
	int best = PATTERN_unknown + 1;

	for (size_t i = 0; i < nr; i++) {
		weight[parts[i].name] += parts[i].weight;
		confidence[parts[i].name] += parts[i].weight * parts[i].confidence;
		all += parts[i].weight;
	}
	known = all - weight[PATTERN_unknown];
	for (int i = best; i < PATTERN_NR; i++)
		if (weight[i] > weight[best])
			best = i;
	if (!(weight[best] > 0) || known * 2 < all)
		return PATTERN_unknown;
	*ret_share = weight[best] / known;
	*ret_sure = confidence[best] / weight[best] * known / all;
	return (enum pattern_name)best;
}

static bool is_read_in_order(enum pattern_name name)
{
	return name == PATTERN_sequential || name == PATTERN_scan_once || name == PATTERN_reread ||
	       name == PATTERN_unknown || name == PATTERN_mixed || name == PATTERN_random ||
	       name == PATTERN_shuffled_epoch;
}

struct pattern pattern_of_directory(struct features *f, const struct pattern_part *parts, size_t nr)
{
	double share = 0;
	double confidence = 0;
	enum pattern_name name = heaviest(parts, nr, &share, &confidence);
	bool small = features_least(f, F_files, MANY_FILES) &&
		     features_most(f, F_pages_per_file, SMALL_PAGES);

	if (share > 0)
		features_set(f, F_main_share, share);
	/* Across several files there is another order, independent of the order within each
	 * file. */
	if (features_least(f, F_files, 2) && is_read_in_order(name) && in_epochs(f)) {
		double same = f->value[F_order_similarity];

		if (same <= 0.5)
			return named_pattern(PATTERN_shuffled_epoch, BY_SAMPLE, F_files, F_epochs,
					     F_order_similarity, F_NR);
		if (same >= 0.8 && !small)
			return named_pattern(PATTERN_reread, BY_SAMPLE, F_files, F_epochs,
					     F_order_similarity, F_NR);
	}
	if (small && is_read_in_order(name))
		return named_pattern(PATTERN_small_files, BY_TRACE, F_files, F_pages_per_file,
				     F_NR);
	if (share >= MOST)
		return named_pattern(name, confidence * share, F_main_share, F_NR);
	if (share > 0)
		return named_pattern(PATTERN_mixed, 0.5, F_main_share, F_NR);
	return named_pattern(PATTERN_unknown, 0, F_NR);
}
