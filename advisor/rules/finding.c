/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/rules/finding.h"

#include <stdlib.h>
#include <string.h>

const char *const severity_names[SEVERITY_NR] = {"info", "low", "medium", "high"};
const char *const subject_names[SUBJECT_NR] = {"job", "file", "directory", "device"};
const char *const gain_unit_names[GAIN_UNIT_NR] = {"s", "bytes"};
const char *const gain_method_names[GAIN_METHOD_NR] = {"measured", "model", "bound"};

enum { BYTES_PER_S_ASSUMED = 200 * 1000 * 1000 };

struct gain_rate gain_rate_of(bool known, double brought_bytes, double stall_s)
{
	struct gain_rate r = {
		.bytes_per_s = BYTES_PER_S_ASSUMED,
		.method = "Bytes are ordered among seconds as if they were read at 200 MB/s.",
	};

	/* A smaller value is not a measurement of a device. */
	if (!known || stall_s < 0.01 || brought_bytes < 1 << 20)
		return r;
	r.bytes_per_s = brought_bytes / stall_s;
	r.method =
		"Bytes are ordered among seconds by what the job brought in while it slept for it.";
	return r;
}

static int compare_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

/* How sure a gain is: a bound is what cannot be exceeded, and mostly is not reached. */
static int sureness(const struct finding *f)
{
	if (!f->gain.known)
		return 0;
	return f->gain.method == GAIN_BOUND ? 1 : 2;
}

static int by_severity(const struct finding *a, const struct finding *b)
{
	return (a->severity < b->severity) - (a->severity > b->severity);
}

static int by_gain(const struct finding *a, const struct finding *b)
{
	return (a->order_s < b->order_s) - (a->order_s > b->order_s);
}

/*
 * Gains that were measured or modelled come before those of which a bound is known: the wait for a
 * device is a bound of many a finding, and says little of how much of it goes away. Bounds are told
 * apart by severity first, which looks at more than the time.
 */
static int by_worth(const struct finding *a, const struct finding *b)
{
	int c = sureness(b) - sureness(a);

	if (!c && sureness(a) == 1)
		c = by_severity(a, b);
	if (!c)
		c = by_gain(a, b);
	return c ? c : by_severity(a, b);
}

/* The order of a report: what gains most first; infos last; always the same. */
static int by_rank(const void *pa, const void *pb)
{
	const struct finding *a = pa;
	const struct finding *b = pb;
	bool info_a = a->severity == SEVERITY_INFO;
	bool info_b = b->severity == SEVERITY_INFO;
	size_t len;
	int c;

	if (a->job_id != b->job_id)
		return a->job_id < b->job_id ? -1 : 1;
	if (info_a != info_b)
		return info_a ? 1 : -1;
	c = by_worth(a, b);
	if (c)
		return c;
	if (a->confidence != b->confidence)
		return a->confidence > b->confidence ? -1 : 1;
	c = compare_text(a->rule ? a->rule->id : NULL, b->rule ? b->rule->id : NULL);
	if (c)
		return c;
	len = a->subject.len < b->subject.len ? a->subject.len : b->subject.len;
	c = len ? memcmp(a->subject.data, b->subject.data, len) : 0;
	if (c)
		return c;
	return (a->subject.len > b->subject.len) - (a->subject.len < b->subject.len);
}

/* The greater of the same job and cause that is in front of it already. */
static struct finding *same_cause(struct finding *list, size_t nr, const struct finding *f)
{
	for (size_t i = 0; f->cause && i < nr; i++)
		if (list[i].job_id == f->job_id && list[i].cause &&
		    strcmp(list[i].cause, f->cause) == 0)
			return &list[i];
	return NULL;
}

static void append_merged(struct finding *to, struct finding *lesser)
{
	while (to->merged)
		to = to->merged;
	to->merged = lesser;
}

/* Of nr findings the lesser ones move after the kept ones, where their pointers stay valid. */
static size_t merge_causes(struct finding *list, size_t nr, struct finding *scratch)
{
	size_t kept = 0;
	size_t lesser = nr;

	for (size_t i = 0; i < nr; i++) {
		if (same_cause(scratch, kept, &list[i]))
			scratch[--lesser] = list[i];
		else
			scratch[kept++] = list[i];
	}
	memcpy(list, scratch, nr * sizeof(*list));
	/* From the back: they stand there in the reverse of their order. */
	for (size_t i = nr; i > kept; i--)
		append_merged(same_cause(list, kept, &list[i - 1]), &list[i - 1]);
	return kept;
}

size_t findings_rank(struct finding *list, size_t nr, const struct gain_rate *rate)
{
	struct finding *scratch;
	size_t kept = nr;

	for (size_t i = 0; i < nr; i++) {
		const struct gain *g = &list[i].gain;

		list[i].merged = NULL;
		list[i].order_s = -1;
		if (g->known)
			list[i].order_s =
				list[i].confidence *
				(g->unit == GAIN_SECONDS ? g->value : g->value / rate->bytes_per_s);
	}
	if (nr < 2)
		return nr;
	qsort(list, nr, sizeof(*list), by_rank);
	scratch = malloc(nr * sizeof(*scratch));
	if (scratch) /* else they stay apart */
		kept = merge_causes(list, nr, scratch);
	free(scratch);
	return kept;
}
