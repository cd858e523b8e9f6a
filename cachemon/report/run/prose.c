/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/run/prose.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/model/bounds.h"
#include "cachemon/base/escape.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/figures/show.h"

/* The share of the bytes that the tasks read above which a sentence mentions it. */
enum { OUTSIDE_LEAST_BYTES = 1 << 20, OUTSIDE_SHARE_MIN = 10 /* percent */ };

/* Truncates in place to max bytes, at the end of a word if possible. NULL stays. */
static char *cut(char *text, size_t max)
{
	size_t at = max - strlen("...");

	if (!text || strlen(text) <= max)
		return text;
	while (at && text[at] != ' ')
		at--;
	if (!at)
		for (at = max - strlen("..."); ((unsigned char)text[at] & 0xc0) == 0x80;)
			at--;
	memcpy(text + at, "...", sizeof("..."));
	return text;
}

char *prose_name(const struct bytes *name, size_t max)
{
	return cut(escape_inert_copy(name->data, name->len), max);
}

/* Where a sentence may end: at a full stop, or at a colon that no word follows. */
static bool sentence_ends(const char *s)
{
	return (*s == '.' && (!s[1] || isspace((unsigned char)s[1]))) ||
	       (*s == ':' && (!s[1] || s[1] == '\n'));
}

char *prose_action(const struct finding *f)
{
	enum { SAYS_SOMETHING = 32 };
	const char *from = f->note && f->note->action ? f->note->action : f->summary;
	struct text_builder b;
	FILE *out = text_begin(&b);
	const char *end = from;

	while (*end && !(sentence_ends(end) && (end - from >= SAYS_SOMETHING || !end[1])))
		end++;
	for (const char *p = from; out && p < end; p++)
		if (*p != '`')
			putc(*p == '\n' ? ' ' : *p, out);
	if (out)
		putc('.', out);
	return text_end(&b);
}

struct view {
	const struct model *m;
	const struct model_job *job;
	const struct counts *c;
	struct derived d;
	int64_t page_size;
};

static struct view view_of(const struct model *m, const struct model_job *job)
{
	struct view v = {
		.m = m,
		.job = job,
		.c = &job->counts,
		.page_size = m->run.page_size_bytes.value,
	};

	counts_derive(v.c, v.page_size, &v.d);
	return v;
}

static struct shown pages_size(const struct view *v, struct opt_i64 pages)
{
	return show_bytes(opt_mul(pages, v->page_size), false);
}

static void put_name(FILE *out, const struct model_job *job)
{
	char *name = model_others(job) ? NULL : prose_name(&job->name, PROSE_NAME_MAX);

	fputs(name ? name : "everybody else", out);
	free(name);
}

/* Read calls are a small part of its accesses, so faults and waits come first. */
static void say_mapped(FILE *out, const struct view *v)
{
	struct opt_i64 major = counts_get(v->c, C_faults_major);
	struct opt_i64 lookups = counts_get(v->c, C_lookups);

	put_name(out, v->job);
	fprintf(out, " read through mappings: %s %s had to read", show_count(major, false).s,
		show_plural(major, "fault", "faults"));
	if (counts_get(v->c, C_stall_ns).known)
		fprintf(out, ", and its tasks waited %s of %s for the page cache",
			show_ns(counts_get(v->c, C_stall_ns)).s, show_ns(v->m->run.duration_ns).s);
	fputs(". Accesses through a mapping are not observed.", out);
	if (v->d.hit_ratio.known)
		fprintf(out,
			" The hit ratio (%s of %s page %s) covers only its read calls. Programs "
			"make most of these while they start.",
			show_hit_ratio(v->c, &v->d).s, show_count(lookups, v->c->sliced).s,
			show_plural(lookups, "lookup", "lookups"));
}

/* Why the hit ratio of a sliced run is absent; the stored reason. */
static void say_why_absent(FILE *out, const struct model *m)
{
	static const char *const counters[] = {"hit_ratio", "lookups"};

	for (size_t k = 0; k < sizeof(counters) / sizeof(counters[0]); k++)
		for (size_t i = 0; i < m->nr_unmeasured; i++) {
			const struct model_unmeasured *u = &m->unmeasured[i];

			if (!bytes_is(&u->counter, counters[k]))
				continue;
			fputs("is not known (", out);
			escape_inert(out, u->reason.data, u->reason.len);
			putc(')', out);
			return;
		}
	fputs("is not known, because reads were watched for only part of the time", out);
}

static void say_reads(FILE *out, const struct view *v)
{
	struct opt_i64 lookups = counts_get(v->c, C_lookups);
	struct opt_i64 misses = counts_get(v->c, C_misses);
	struct opt_i64 bytes = counts_get(v->c, C_read_bytes);
	bool least = v->c->bounds & BOUND_ROW;
	struct shown missed = show_least(show_count(misses, false), least);
	struct shown missed_size = show_least(pages_size(v, misses), least);

	if (v->d.hit_ratio.known) {
		fprintf(out, "%s of the page lookups of ", show_hit_ratio(v->c, &v->d).s);
		put_name(out, v->job);
		fputs(" hit the page cache: it ", out);
		if (bytes.known)
			fprintf(out, "read %s in %s and ",
				show_least(show_bytes(bytes, v->c->sliced), least).s,
				show_ns(v->m->run.duration_ns).s);
		fprintf(out, "missed %s %s (%s).", missed.s, show_plural(misses, "page", "pages"),
			missed_size.s);
		return;
	}
	if (lookups.known && lookups.value == 0) {
		fputs("Nothing was read through the page cache by ", out);
		put_name(out, v->job);
		fprintf(out, " in %s.", show_ns(v->m->run.duration_ns).s);
		return;
	}
	fputs("How often the page cache was hit by ", out);
	put_name(out, v->job);
	putc(' ', out);
	if (v->c->sliced)
		say_why_absent(out, v->m);
	else
		fputs("was not measured", out);
	fprintf(out, "; in %s it missed %s %s (%s).", show_ns(v->m->run.duration_ns).s, missed.s,
		show_plural(misses, "page", "pages"), missed_size.s);
}

/* The job read much that no figure here covers, so a ratio alone would mislead. */
static void say_outside(FILE *out, const struct view *v)
{
	struct opt_i64 outside = v->job->outside_read_bytes;

	if (!outside.known || outside.value < OUTSIDE_LEAST_BYTES ||
	    outside.value / OUTSIDE_SHARE_MIN < v->job->rchar_bytes.value / 100)
		return;
	fprintf(out,
		" At least %s more were read where no probe observes reads (pipes, sockets, tmpfs, "
		"FUSE with direct_io, O_DIRECT on devices or over a network). No figure here "
		"includes them.",
		show_bytes(outside, false).s);
}

static void say_prefetch(FILE *out, const struct view *v)
{
	struct opt_i64 pages = v->d.prefetched_pages;

	if (!pages.known) {
		fputs(" Prefetch was not measured.", out);
		return;
	}
	if (pages.value == 0) {
		fputs(" No page was prefetched.", out);
		return;
	}
	fprintf(out, " %s %s (%s) %s prefetched", show_count(pages, false).s,
		show_plural(pages, "page", "pages"), pages_size(v, pages).s,
		show_plural(pages, "was", "were"));
	if (v->d.accuracy.known) {
		struct opt_i64 unused = counts_get(v->c, C_resident_unused);

		fprintf(out, "; %s of those with a settled fate were used",
			show_range(v->d.accuracy, &v->d.accuracy_range).s);
		/* A share of few of them would mislead alone. A number from slices is an estimate.
		 */
		if (unused.known && unused.value > 0 && !v->d.accuracy_range.low.known)
			fprintf(out, ", %s not yet", show_count(unused, false).s);
	} else if (v->c->known[C_used] && counts_fates_unknown(v->c) && v->c->c[C_untracked] > 0) {
		fputs("; too many of them have an unknown fate", out);
	} else if (v->c->known[C_used]) {
		fputs("; none of them has been used or evicted yet", out);
	} else {
		fputs("; their use was not measured", out);
	}
	fputs(".", out);
}

static void say_cost(FILE *out, const struct view *v)
{
	const struct model_run *run = &v->m->run;

	struct opt_f64 share = run->cost_share.known ? run->cost_share : run->share_of_job_cpu;

	if (run->budget_kept.known && !run->budget_kept.value)
		return;
	if (share.known)
		fprintf(out, " Measuring cost %s of the job's CPU time.",
			show_ratio(share, false).s);
	else if (run->cpu_ns.known)
		fprintf(out, " Measuring cost %s of CPU time.", show_ns(run->cpu_ns).s);
	else
		fputs(" The overhead is not known.", out);
}

static const char NO_COUNTS[] = "Every level needs these probes.";

/* The largest cost, and how to lower it besides a larger budget, as a sentence; NULL: none. */
static const char *costs_most(const struct model_run *run, const char **ret_do)
{
	static const struct {
		const char *what, *todo;
	} of[MODEL_COST_PARTS] = {
		{"the reads", "--level cold costs less, but does not count hits."},
		{"pages that enter and leave the cache", NO_COUNTS},
		{"readahead windows", NO_COUNTS},
		{"page faults", NO_COUNTS},
		{"task switches", NO_COUNTS},
		{"io_uring requests, direct reads, and process starts and exits", NULL},
	};
	int64_t most = run->collector_cpu_ns.known ? run->collector_cpu_ns.value : 0;
	const char *what = "cachemon's own process";

	/* In a sliced run it wakes for the slices, whatever the interval is. */
	*ret_do = run->sliced.known && run->sliced.value
			  ? "A longer job lowers its share."
			  : "A longer --interval lowers it, and a longer job lowers its share.";
	for (int i = 0; i < MODEL_COST_PARTS; i++) {
		if (!run->cost_parts[i].known || run->cost_parts[i].value <= most)
			continue;
		most = run->cost_parts[i].value;
		what = of[i].what;
		*ret_do = of[i].todo;
	}
	return what;
}

/* That the overhead exceeded its budget, and if why, the cause and what to do. */
static void say_budget(FILE *out, const struct model_run *run, bool why)
{
	bool allowed = run->cost_share.known && run->cost_share.value <= 1;
	const char *todo, *what;

	if (!run->budget_kept.known || run->budget_kept.value)
		return;
	fprintf(out, " Measuring cost %s of the job's CPU time, over the budget of %s.",
		show_ratio(run->cost_share, false).s, show_ratio(run->cost_budget, false).s);
	if (!why)
		return;
	what = costs_most(run, &todo);
	fprintf(out, " The largest part is for %s.", what);
	if (todo)
		fprintf(out, " %s", todo);
	if (allowed)
		fputs(" To allow this overhead, raise --max-overhead.", out);
}

void prose_reads(FILE *out, const struct model *m, const struct model_job *job, bool why)
{
	struct view v = view_of(m, job);

	if (counts_mapped(v.c, job->processes))
		say_mapped(out, &v);
	else
		say_reads(out, &v);
	say_outside(out, &v);
	say_budget(out, &m->run, why);
}

void prose_verdict(FILE *out, const struct model *m, const struct model_job *job)
{
	struct view v = view_of(m, job);

	prose_reads(out, m, job, true);
	say_prefetch(out, &v);
	say_cost(out, &v);
}

/* Joins sentences with spaces, with lead before the first. */
struct sentences {
	FILE *out;
	const char *lead;
	bool any;
};

static FILE *next_sentence(struct sentences *s)
{
	fputs(s->any ? " " : s->lead, s->out);
	s->any = true;
	return s->out;
}

static void say_loss(struct sentences *s, struct opt_i64 n, const char *what)
{
	if (n.known && n.value > 0)
		fprintf(next_sentence(s), "%s%s.", show_count(n, false).s, what);
}

static void say_bounds(struct sentences *s, const struct model_run *run)
{
	struct bound bounds[BOUNDS_MAX];
	size_t nr = bounds_of(run, bounds);
	bool marked = false;

	for (size_t i = 0; i < nr; i++) {
		fputs(bounds[i].reason, next_sentence(s));
		marked |= bounds[i].marked;
	}
	if (marked)
		fputs("Lower bounds are marked >=.", next_sentence(s));
}

static void say_killed(struct sentences *s, const struct model_job *job)
{
	if (!job || !job->oom_kills.known || !job->oom_kills.value)
		return;
	fprintf(next_sentence(s),
		"The job's memory limit (%s) killed %s %s: the OOM killer ended %s when the limit "
		"was reached.",
		show_bytes(job->limit_bytes, false).s, show_count(job->oom_kills, false).s,
		show_plural(job->oom_kills, "process", "processes"),
		show_plural(job->oom_kills, "it", "them"));
}

bool prose_caveats(FILE *out, const char *lead, const struct model *m)
{
	struct sentences s = {.out = out, .lead = lead};

	if (bytes_is(&m->run.state, "open"))
		fputs("The run is still being written, or cachemon was killed. Figures are as of "
		      "the last stored interval.",
		      next_sentence(&s));
	else if (!bytes_is(&m->run.state, "complete"))
		fputs("The run was cut short: cachemon was killed (by kill -9 or the OOM killer, "
		      "possibly of its own memory cgroup), crashed, or the machine went down. "
		      "Figures are as of the last stored interval.",
		      next_sentence(&s));
	say_killed(&s, model_main_job(m));
	say_loss(&s, m->run.intervals_lost, " intervals could not be stored and are missing");
	say_loss(
		&s, m->run.law_error_pages,
		" pages violate the conservation law: the fates of prefetched pages are not exact");
	say_bounds(&s, &m->run);
	return s.any;
}
