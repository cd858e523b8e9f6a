/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/analysis/job_curve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/load/load_references.h"

/* Too few sampled pages for a band that means anything, and too few lookups for a ratio. */
enum { PAGES_MIN = 64, LOOKUPS_MIN = 1000 };

struct arrays {
	uint32_t *entries, *hashes;
};

static void arrays_free(struct arrays *a)
{
	free(a->entries);
	free(a->hashes);
}

/* Numbers the pages that are looked up at all: readahead brings others, and advice takes them. */
static void fill_sample(const struct references *r, uint32_t number[], struct arrays *a,
			struct curve_sample *s)
{
	memset(number, 0xff, r->nr_pages * sizeof(*number));
	for (size_t i = 0; i < r->nr_entries; i++) {
		uint32_t page = curve_entry_page(r->entries[i]);
		bool removed = curve_entry_removed(r->entries[i]);

		if (number[page] == UINT32_MAX) {
			if (removed)
				continue;
			number[page] = s->nr_pages;
			a->hashes[s->nr_pages++] = r->pages[page].hash;
		}
		a->entries[s->nr_entries++] = number[page] << 1 | removed;
	}
}

static int make_sample(const struct references *r, struct arrays *a, struct curve_sample *ret)
{
	struct curve_sample s = {
		.threshold = r->threshold,
		.lookups = (double)r->lookups,
		.distinct_pages = (double)r->distinct_pages,
		.distinct_error = r->distinct_error,
	};
	uint32_t *number = malloc((r->nr_pages + 1) * sizeof(*number));

	a->entries = malloc((r->nr_entries + 1) * sizeof(*a->entries));
	a->hashes = malloc((r->nr_pages + 1) * sizeof(*a->hashes));
	if (!number || !a->entries || !a->hashes) {
		free(number);
		arrays_free(a);
		return -ENOMEM;
	}
	fill_sample(r, number, a, &s);
	free(number);
	s.entries = a->entries;
	s.hashes = a->hashes;
	*ret = s;
	return 0;
}

static void say_absent(struct job_curve *c, const char *why)
{
	c->there = false;
	snprintf(c->absent, sizeof(c->absent), "%s", why);
}

/* Why there are few comes first, where that is known. */
static void say_too_few(struct job_curve *c, const struct curve_sample *s)
{
	size_t n = 0;

	if (c->why_broken[0])
		n = (size_t)snprintf(c->absent, sizeof(c->absent),
				     "The recording ended early: %s. ", c->why_broken);
	if (n >= sizeof(c->absent))
		return;
	if (!s->nr_pages && s->lookups < 1)
		snprintf(c->absent + n, sizeof(c->absent) - n, "%s",
			 n ? "It holds no lookup." : "The recording holds no lookup.");
	else
		snprintf(c->absent + n, sizeof(c->absent) - n,
			 "Too few references: %u sampled pages and %.0f lookups, where %d and %d "
			 "are the least that tell anything.",
			 s->nr_pages, s->lookups, PAGES_MIN, LOOKUPS_MIN);
}

static int make_curve(const struct curve_sample *s, struct job_curve *c)
{
	int ret = 0;

	if (s->nr_pages < PAGES_MIN || s->lookups < LOOKUPS_MIN) {
		say_too_few(c, s);
		return 0;
	}
	ret = curve_make(s, &c->curve);
	if (ret == -EINVAL) {
		say_absent(c, "The recorded totals cannot be those of the recorded sample.");
		return 0;
	}
	if (ret < 0)
		return ret;
	c->there = true;
	return curve_judge(&c->curve, s, &c->facts.counted, &c->verdict);
}

static int from_references(const struct references *r, struct job_curve *c, struct errtext *err)
{
	struct curve_sample sample;
	struct arrays arrays = {0};
	int ret = make_sample(r, &arrays, &sample);

	if (!ret) {
		c->broken = r->broken;
		snprintf(c->why_broken, sizeof(c->why_broken), "%s", r->reason);
		c->sampled_lookups = (double)r->lookups;
		ret = make_curve(&sample, c);
		arrays_free(&arrays);
	}
	return ret < 0 ? errtext_set(err, ret, "out of memory") : 0;
}

/* Why there is nothing to make it from; error: what reading it came to, in words too. */
static void explain_absence(struct job_curve *c, int error, const char *said)
{
	if (error != -ENOENT)
		snprintf(c->absent, sizeof(c->absent),
			 "The references that were recorded cannot be used: %s.", said);
	else if (c->facts.cold)
		say_absent(c,
			   "The run was recorded at level cold, which sees no lookups: record it "
			   "with --level full.");
	else if (c->facts.sliced)
		say_absent(c, "The per-read hook was off part of the time: record the job with "
			      "--level full.");
	else
		snprintf(c->absent, sizeof(c->absent), "No references were recorded: %s.", said);
}

static int load_facts(sqlite3 *db, int64_t job_id, double lookups, struct job_curve *c,
		      struct errtext *err)
{
	return load_curve_facts(db, job_id, lookups, &c->facts, err);
}

int job_curve_load(sqlite3 *db, int64_t job_id, struct job_curve *ret, struct errtext *err)
{
	struct job_curve c = {0};
	struct references refs;
	struct errtext why = {0};
	int refs_error = load_references(db, job_id, &refs, &why);
	int r = refs_error;

	if (r == -EIO || r == -ENOMEM)
		return errtext_set(err, r, "%s", why.text);
	if (r < 0) {
		r = load_facts(db, job_id, 0, &c, err);
		if (!r)
			explain_absence(&c, refs_error, why.text);
	} else {
		r = load_facts(db, job_id, (double)refs.lookups, &c, err);
		if (!r)
			r = from_references(&refs, &c, err);
		references_free(&refs);
	}
	if (r < 0)
		job_curve_free(&c);
	else
		*ret = c;
	return r;
}

void job_curve_free(struct job_curve *c)
{
	curve_free(&c->curve);
}
