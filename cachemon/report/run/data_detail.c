/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/run/data.h"

#include <cjson/cJSON.h>
#include <string.h>

#include "advisor/analysis/analysis.h"
#include "cachemon/model/model_detail.h"

/* A bucket's value of one figure; with: the function's argument. */
typedef struct opt_i64 figure(const struct timeline_bucket *b, int with);

static struct opt_i64 count_of(const struct timeline_bucket *b, int which)
{
	return counts_get(&b->counts, (enum counter)which);
}

static struct opt_i64 change_of(const struct timeline_bucket *b, int which)
{
	return (struct opt_i64){b->counts.c[which], b->counts.known[which]};
}

static struct opt_i64 hits_of(const struct timeline_bucket *b, int with)
{
	(void)with;
	return counts_sum(&b->counts, SUM_OF(TERMS_hits));
}

static struct opt_i64 prefetched_of(const struct timeline_bucket *b, int with)
{
	(void)with;
	return counts_sum(&b->counts, SUM_OF(TERMS_prefetched_pages));
}

static struct opt_i64 cpu_of(const struct timeline_bucket *b, int with)
{
	(void)with;
	return b->cpu_ns;
}

/* A value per bucket, then that of the rest; null if none is known. */
static void put_line(struct tree *t, const char *key, const struct timeline *tl, figure *f,
		     int with)
{
	bool any = false;

	for (size_t i = 0; i < tl->nr; i++)
		any = any || f(&tl->buckets[i], with).known;
	if (!any && tl->nr) {
		tree_null(t, key);
		return;
	}
	tree_line(t, key);
	for (size_t i = 0; i < tl->nr; i++)
		tree_opt_int(t, NULL, f(&tl->buckets[i], with));
	if (tl->has_rest)
		tree_opt_int(t, NULL, f(&tl->rest, with));
	tree_end(t);
}

static void put_counter(struct tree *t, const struct timeline *tl, enum counter which)
{
	put_line(t, counter_name(which), tl, count_of, (int)which);
}

/* Consecutive counters with a common prefix: their keys are the rest of the names. */
static void put_range(struct tree *t, const char *key, const char *beginning,
		      const struct timeline *tl, enum counter first, enum counter last)
{
	tree_object(t, key);
	for (enum counter i = first; i <= last; i++)
		put_line(t, counter_name(i) + strlen(beginning), tl, count_of, (int)i);
	tree_end(t);
}

static void put_lines_of_time(struct tree *t, const struct timeline *tl)
{
	static const char *const keys[] = {"start_ns", "duration_ns", "read_on_ns", "intervals"};

	for (int k = 0; k < 4; k++) {
		tree_line(t, keys[k]);
		for (size_t i = 0; i < tl->nr; i++) {
			const struct timeline_bucket *b = &tl->buckets[i];
			const int64_t v[] = {b->start_ns, b->duration_ns, b->read_on_ns,
					     b->intervals};

			tree_int(t, NULL, v[k]);
		}
		if (tl->has_rest)
			tree_null(t, NULL);
		tree_end(t);
	}
}

static void put_lines_of_pages(struct tree *t, const struct timeline *tl)
{
	put_counter(t, tl, C_demand_pages);
	put_line(t, "prefetched_pages", tl, prefetched_of, 0);
	put_counter(t, tl, C_written_pages);
	put_counter(t, tl, C_other_added_pages);
	tree_object(t, "prefetch");
	put_range(t, "origin", "prefetched_", tl, C_prefetched_sync, C_prefetched_mmap_around);
	tree_object(t, "fate");
	put_counter(t, tl, C_used);
	put_counter(t, tl, C_used_late);
	put_counter(t, tl, C_evicted_unused);
	put_line(t, "resident_unused_change", tl, change_of, C_resident_unused);
	put_counter(t, tl, C_untracked);
	tree_end(t);
	tree_end(t);
	put_range(t, "windows", "windows_", tl, C_windows_sync, C_windows_forced);
	put_range(t, "evicted_pages", "evicted_", tl, C_evicted_reclaim_kswapd,
		  C_evicted_reclaim_kswapd + EVICT_NR - 1);
#define X(name, ...) put_counter(t, tl, C_##name);
	PLAIN_COUNTERS(X)
#undef X
	put_counter(t, tl, C_refault_distance_pages);
	put_counter(t, tl, C_refault_distance_ms);
}

static void put_advice_calls(struct tree *t, const struct model_detail *d)
{
	static const char *const kinds[ADVICE_KINDS] = {NULL,	      "willneed", "dontneed",
							"sequential", "random",	  "normal",
							"noreuse",    "readahead"};
	const struct model_advice_calls *a = &d->advice;

	tree_object(t, "advice_calls");
	tree_string(t, "absent", NULL);
	tree_int(t, "traced_files", a->files);
	tree_int(t, "incomplete_files", a->incomplete);
	tree_mark(t, "lower_bound", a->incomplete);
	for (int k = 1; k < ADVICE_KINDS; k++) {
		tree_line(t, kinds[k]);
		for (size_t i = 0; i < d->timeline.nr; i++)
			tree_int(t, NULL, a->calls[k][i]);
		tree_end(t);
	}
	tree_end(t);
}

static void put_no_advice_calls(struct tree *t, const char *reason)
{
	tree_object(t, "advice_calls");
	tree_text(t, "absent", reason);
	tree_end(t);
}

static void put_timeline(struct tree *t, const struct model_detail *d)
{
	const struct timeline *tl = &d->timeline;

	tree_object(t, "timeline");
	tree_int(t, "buckets", (int64_t)(tl->nr + tl->has_rest));
	put_lines_of_time(t, tl);
	put_line(t, "cpu_ns", tl, cpu_of, 0);
	put_counter(t, tl, C_read_calls);
	put_counter(t, tl, C_read_bytes);
	put_counter(t, tl, C_lookups);
	put_line(t, "hits", tl, hits_of, 0);
	put_counter(t, tl, C_delayed_hits);
	put_counter(t, tl, C_misses);
	put_lines_of_pages(t, tl);
	put_range(t, "faults", "faults_", tl, C_faults_major, C_faults_minor);
	put_counter(t, tl, C_mapped_pages_upper_bound);
	put_counter(t, tl, C_direct_read_calls);
	put_counter(t, tl, C_direct_read_bytes);
	put_counter(t, tl, C_stall_ns);
	put_counter(t, tl, C_stalls);
	if (d->advice.absent)
		put_no_advice_calls(t, d->advice.absent);
	else
		put_advice_calls(t, d);
	tree_end(t);
}

static void put_eviction(struct tree *t, const struct model_eviction *e)
{
	tree_object(t, NULL);
	tree_name(t, "cause", &e->cause);
	if (e->rows) {
		tree_bool(t, "rest", true);
		tree_int(t, "rows", e->rows);
		tree_null(t, "evictor");
	} else {
		tree_object(t, "evictor");
		tree_name(t, "kind", &e->kind);
		tree_name(t, "job", &e->job);
		tree_name(t, "command", &e->command);
		tree_name(t, "cgroup", &e->cgroup);
		tree_name(t, "directory", &e->directory);
		if (e->writes.known)
			tree_bool(t, "writes", e->writes.value == 1);
		else
			tree_null(t, "writes");
		tree_end(t);
	}
	tree_name(t, "owner_directory", &e->owner_directory);
	tree_opt_int(t, "pages", e->pages);
	tree_bool(t, "exact", e->exact);
	tree_end(t);
}

static void put_interference(struct tree *t, const struct model_detail *d)
{
	tree_object(t, "interference");
	if (d->interference_absent) {
		tree_text(t, "absent", d->interference_absent);
		tree_null(t, "evictions");
	} else {
		tree_null(t, "absent");
		tree_array(t, "evictions");
		for (size_t i = 0; i < d->nr_evictions; i++)
			put_eviction(t, &d->evictions[i]);
		tree_end(t);
	}
	tree_end(t);
}

static void put_read_sizes(struct tree *t, const struct model_detail *d)
{
	const char *absent = d->advice.absent;

	tree_object(t, "read_sizes");
	tree_text(t, "absent", absent);
	if (absent) {
		tree_null(t, "traced_files");
		tree_null(t, "incomplete_files");
		tree_null(t, "calls_log2");
	} else {
		tree_int(t, "traced_files", d->advice.files);
		tree_int(t, "incomplete_files", d->advice.incomplete);
		tree_line(t, "calls_log2");
		for (int i = 0; i < READ_SIZES; i++)
			tree_int(t, NULL, d->reads[i]);
		tree_end(t);
		tree_mark(t, "calls_log2_lower_bound", d->advice.incomplete);
	}
	tree_end(t);
}

static void put_epoch(struct tree *t, const struct model_epoch *x)
{
	const struct counts *c = &x->counts;
	struct derived d;

	counts_derive(c, 0, &d);
	tree_object(t, NULL);
	tree_name(t, "name", &x->name);
	tree_int(t, "start_ns", x->start_ns);
	tree_int(t, "duration_ns", x->duration_ns);
	tree_opt_int(t, "cpu_ns", x->cpu_ns);
	tree_opt_int(t, "read_calls", counts_get(c, C_read_calls));
	tree_opt_int(t, "read_bytes", counts_get(c, C_read_bytes));
	tree_opt_int(t, "lookups", counts_get(c, C_lookups));
	tree_opt_int(t, "hits", d.hits);
	tree_opt_int(t, "misses", counts_get(c, C_misses));
	tree_opt_double(t, "hit_ratio", d.hit_ratio);
	tree_opt_int(t, "demand_pages", counts_get(c, C_demand_pages));
	tree_opt_int(t, "prefetched_pages", d.prefetched_pages);
	tree_opt_int(t, "evicted_pages", d.evicted_pages);
	tree_opt_int(t, "stall_ns", counts_get(c, C_stall_ns));
	tree_opt_int(t, "stalls", counts_get(c, C_stalls));
	tree_end(t);
}

static void put_epochs(struct tree *t, const struct model_epochs *e)
{
	tree_array(t, "marks");
	for (size_t i = 0; i < e->nr_marks; i++) {
		tree_object(t, NULL);
		tree_int(t, "at_ns", e->marks[i].at_ns);
		tree_name(t, "text", &e->marks[i].text);
		tree_opt_int(t, "late_ns", e->marks[i].late_ns);
		tree_end(t);
	}
	tree_end(t);
	tree_opt_int(t, "marks_dropped", e->marks_dropped);
	tree_object(t, "epochs");
	tree_string(t, "source", !e->nr ? NULL : e->marked ? "marks" : "found");
	tree_string(t, "absent", e->absent);
	tree_opt_int(t, "margin_ns",
		     (struct opt_i64){e->margin_ns.value, e->nr > 0 && e->margin_ns.known});
	tree_array(t, "list");
	for (size_t i = 0; i < e->nr; i++)
		put_epoch(t, &e->list[i]);
	tree_end(t);
	tree_end(t);
}

void data_detail(struct tree *t, const struct model_job *job)
{
	if (!job->detail) {
		tree_null(t, "read_sizes");
		tree_null(t, "timeline");
		tree_null(t, "interference");
		tree_null(t, "marks");
		tree_null(t, "epochs");
		return;
	}
	put_read_sizes(t, job->detail);
	put_timeline(t, job->detail);
	put_interference(t, job->detail);
	put_epochs(t, &job->detail->epochs);
}

static void put_parts(struct tree *t, const char *key, const struct coverage *c,
		      const uint64_t pages[COVERAGE_PARTS])
{
	tree_line(t, key);
	for (size_t i = 0; i < c->nr_parts; i++)
		tree_uint(t, NULL, pages[i]);
	tree_end(t);
}

static void put_covered(struct tree *t, const struct model_coverage *c)
{
	tree_null(t, "absent");
	tree_string(t, "source", c->sampled ? "references" : "trace");
	tree_bool(t, "whole", !c->broken);
	tree_text(t, "broken_reason", c->broken);
	tree_uint(t, "file_pages", c->parts->file_pages);
	tree_uint(t, "part_pages", c->parts->part_pages);
	put_parts(t, "read_pages", c->parts, c->parts->read);
	if (c->sampled) {
		tree_mark(t, "read_pages_estimated", c->estimated);
		tree_null(t, "evicted_pages");
		tree_null(t, "evicted_unused_pages");
		tree_null(t, "resident_unused_pages");
		return;
	}
	put_parts(t, "evicted_pages", c->parts, c->parts->evicted);
	put_parts(t, "evicted_unused_pages", c->parts, c->parts->evicted_unused);
	put_parts(t, "resident_unused_pages", c->parts, c->parts->resident_unused);
}

void data_coverage(struct tree *t, const struct model_job *job, size_t at)
{
	const struct model_coverage *c = job->detail ? &job->detail->coverage[at] : NULL;

	if (!c) {
		tree_null(t, "coverage");
		return;
	}
	tree_object(t, "coverage");
	if (c->absent)
		tree_text(t, "absent", c->absent);
	else
		put_covered(t, c);
	tree_end(t);
}

static void put_decided_by(struct tree *t, const cJSON *array)
{
	const cJSON *name;

	tree_array(t, "decided_by");
	cJSON_ArrayForEach(name, array)
	{
		if (cJSON_IsString(name))
			tree_string(t, NULL, name->valuestring);
	}
	tree_end(t);
}

static void put_features(struct tree *t, const char *text)
{
	cJSON *json = text ? cJSON_Parse(text) : NULL;
	const cJSON *f;

	tree_object(t, "features");
	cJSON_ArrayForEach(f, json)
	{
		if (cJSON_IsNumber(f))
			tree_double(t, f->string, f->valuedouble);
	}
	tree_end(t);
	put_decided_by(t, json ? cJSON_GetObjectItemCaseSensitive(json, "decided_by") : NULL);
	cJSON_Delete(json);
}

void data_pattern(struct tree *t, const struct model *m, bool directory, int64_t id)
{
	const struct analysis_pattern *p =
		m->analysis ? analysis_pattern_of(m->analysis, directory, id) : NULL;

	if (!p) {
		tree_null(t, "pattern");
		return;
	}
	tree_object(t, "pattern");
	tree_string(t, "name", p->name);
	tree_double(t, "confidence", p->confidence.known ? p->confidence.value : 0);
	put_features(t, p->features);
	tree_end(t);
}
