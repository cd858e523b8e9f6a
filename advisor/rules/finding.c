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
		.method = "To rank gains in bytes among gains in seconds, a rate of 200 MB/s is "
			  "assumed.",
	};

	/* A smaller rate is not a real measurement of a device. */
	if (!known || stall_s < 0.01 || brought_bytes < 1 << 20)
		return r;
	r.bytes_per_s = brought_bytes / stall_s;
	r.measured = true;
	r.method = "To rank gains in bytes among gains in seconds, bytes are divided by the bytes "
		   "that the job brought in per second of waiting.";
	return r;
}

/* The smallest share of the wall time for each severity, in most rules. */
static const double severity_share[SEVERITY_NR] = {[SEVERITY_MEDIUM] = 0.05, [SEVERITY_HIGH] = 0.2};

static double gain_seconds(const struct gain *g, const struct gain_rate *rate)
{
	return g->unit == GAIN_SECONDS ? g->value : g->value / rate->bytes_per_s;
}

struct opt_f64 gain_share(const struct gain *g, const struct gain_scale *scale)
{
	struct opt_f64 ret = {0};

	if (!g->known || !scale->wall_s.known || scale->wall_s.value <= 0)
		return ret;
	if (g->unit == GAIN_BYTES && !scale->rate.measured)
		return ret;
	ret.value = gain_seconds(g, &scale->rate) / scale->wall_s.value;
	ret.known = true;
	return ret;
}

void finding_apply_floor(struct finding *f, const struct gain_scale *scale)
{
	struct opt_f64 share = gain_share(&f->gain, scale);

	if (share.known && share.value < scale->floor_share)
		f->severity = SEVERITY_INFO;
}

/* The lower end of the gain times the confidence; without a gain, the share of its severity. */
static double order_seconds(const struct finding *f, const struct gain_scale *scale)
{
	const struct gain *g = &f->gain;

	if (!g->known)
		return scale->wall_s.known && f->severity > SEVERITY_LOW
			       ? f->confidence * severity_share[f->severity] * scale->wall_s.value
			       : -1;
	return f->confidence * gain_seconds(g, &scale->rate) *
	       (g->method == GAIN_BOUND ? GAIN_BOUND_PART : 1 / GAIN_FACTOR);
}

static int compare_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

/* The order of a report: most severe first, then the largest gain; the order is total, so it is
 * always the same. */
static int by_rank(const void *pa, const void *pb)
{
	const struct finding *a = pa;
	const struct finding *b = pb;
	size_t len;
	int c;

	if (a->job_id != b->job_id)
		return a->job_id < b->job_id ? -1 : 1;
	if (a->severity != b->severity)
		return a->severity > b->severity ? -1 : 1;
	if (a->order_s != b->order_s)
		return a->order_s > b->order_s ? -1 : 1;
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

static bool same_cause(const struct finding *a, const struct finding *b)
{
	return a->cause && b->cause && a->job_id == b->job_id && strcmp(a->cause, b->cause) == 0;
}

static enum rule_lever lever_of(const struct finding *f)
{
	return f->rule ? f->rule->lever : LEVER_CAUSE;
}

/* Whether a stays, of two findings with one cause; b ranks first. A finding that is only worth
 * knowing must not hide one to fix. */
static bool is_kept_over(const struct finding *a, const struct finding *b)
{
	bool info_a = a->severity == SEVERITY_INFO;
	bool info_b = b->severity == SEVERITY_INFO;

	return info_a == info_b ? lever_of(a) < lever_of(b) : info_b;
}

/* Whether this finding stays for its cause; the rank decides between equal levers. */
static bool is_kept(const struct finding *list, size_t nr, size_t at)
{
	for (size_t i = 0; i < nr; i++)
		if (i != at && same_cause(&list[i], &list[at]) &&
		    (i < at ? !is_kept_over(&list[at], &list[i])
			    : is_kept_over(&list[i], &list[at])))
			return false;
	return true;
}

/* Moves the kept findings to the front first, so that the pointers set afterwards stay valid. */
static size_t merge_causes(struct finding *list, size_t nr, struct finding *scratch)
{
	size_t kept = 0;
	size_t at;

	for (size_t i = 0; i < nr; i++)
		if (is_kept(list, nr, i))
			scratch[kept++] = list[i];
	at = kept;
	for (size_t i = 0; i < nr; i++)
		if (!is_kept(list, nr, i))
			scratch[at++] = list[i];
	memcpy(list, scratch, nr * sizeof(*list));
	for (size_t k = 0; k < kept; k++) {
		struct finding *last = &list[k];

		for (size_t i = kept; i < nr; i++)
			if (same_cause(&list[k], &list[i])) {
				list[i].merged_into = &list[k];
				last->merged = &list[i];
				last = &list[i];
			}
	}
	return kept;
}

size_t findings_rank(struct finding *list, size_t nr, const struct gain_scale *scale)
{
	struct finding *scratch;
	size_t kept = nr;

	for (size_t i = 0; i < nr; i++) {
		list[i].merged = NULL;
		list[i].merged_into = NULL;
		list[i].order_s = order_seconds(&list[i], scale);
	}
	if (nr < 2)
		return nr;
	qsort(list, nr, sizeof(*list), by_rank);
	scratch = malloc(nr * sizeof(*scratch));
	if (scratch) /* otherwise they stay separate */
		kept = merge_causes(list, nr, scratch);
	free(scratch);
	return kept;
}
