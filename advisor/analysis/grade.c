/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/analysis/grade.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include "cachemon/base/human.h"

const char *const grade_names[GRADE_NR] = {"overall", "hits", "prefetch", "eviction", "stall"};
const char *const grade_titles[GRADE_NR] = {"overall", "reuse", "prefetch", "eviction", "stall"};

/* The lowest score of each grade. */
static const struct {
	double from;
	char letter;
} letters[] = {{0.90, 'A'}, {0.80, 'B'}, {0.65, 'C'}, {0.50, 'D'}, {0.30, 'E'}, {0, 'F'}};

static const double weights[GRADE_NR] = {
	[GRADE_HITS] = 0.2,
	[GRADE_PREFETCH] = 0.2,
	[GRADE_EVICTION] = 0.2,
	[GRADE_STALL] = 0.4,
};

/* The share of waiting that MLPerf Storage allows for 3D U-Net and ResNet-50. With less, misses,
 * waste and evictions cost little and count for less. */
static const double WAIT_FULL = 0.1;

/* If the lookups that are not first touches are a smaller share than this, there is nothing to
 * judge. */
static const double REUSE_MIN = 0.01;

char grade_letter(double score)
{
	for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++)
		if (score >= letters[i].from)
			return letters[i].letter;
	return 'F';
}

static double clamp_score(double v)
{
	return v < 0 ? 0 : v > 1 ? 1 : v;
}

static void __attribute__((format(printf, 3, 4)))
give_score(struct grade *g, double score, const char *fmt, ...)
{
	va_list args;

	g->score = (struct opt_f64){clamp_score(score), true};
	g->letter = grade_letter(g->score.value);
	va_start(args, fmt);
	vsnprintf(g->formula, sizeof(g->formula), fmt, args);
	va_end(args);
	human_group(g->formula, sizeof(g->formula));
}

static void refuse_score(struct grade *g, const char *reason)
{
	snprintf(g->formula, sizeof(g->formula), "%s", reason);
}

/*
 * Compares what was fetched with the minimum at this cache size. Readahead turns first touches into
 * hits; a page that it brought was not in the cache, so it counts as fetched here.
 */
static void grade_hits(const struct grade_input *in, struct grade *g)
{
	double fetched, first, kernel, least, floor;
	bool curve = in->floor.known && in->opt_miss.known;

	if (in->sliced) {
		refuse_score(g, "reads were watched in slices: lookups are estimates, and the fate "
				"of some prefetched pages is unknown");
		return;
	}
	if (in->mapped) {
		refuse_score(g, "the job reads through mappings, where hits are not observed");
		return;
	}
	if (!in->lookups.known || !in->misses.known || !in->all_used.known) {
		refuse_score(g, "lookups, misses or the use of prefetched pages were not measured");
		return;
	}
	if (!curve && !in->refaults.known) {
		refuse_score(g, "there is no miss-ratio curve, and refaults were not measured");
		return;
	}
	if (in->lookups.value < 1) {
		refuse_score(g, "no page was requested by read(2)");
		return;
	}
	fetched = fmin(in->misses.value + in->all_used.value, in->lookups.value);
	first = fetched - fmin(in->refaults.known ? in->refaults.value : 0, fetched);
	kernel = fetched / in->lookups.value;
	floor = curve ? in->floor.value : first / in->lookups.value;
	least = curve ? fmax(in->opt_miss.value, floor) : floor;
	if (1 - floor < REUSE_MIN) {
		refuse_score(g,
			     "nearly every page is read only once, so no cache can produce hits");
		return;
	}
	give_score(g, 1 - (kernel - least) / (1 - floor),
		   "1 - (fetched %.4f - %s %.4f) / (1 - first touches %.4f)%s", kernel,
		   curve ? "best possible" : "first touches", least, floor,
		   curve ? "" : "; a lower bound, because there is no miss-ratio curve");
}

static void grade_prefetch(const struct grade_input *in, struct grade *g)
{
	if (!in->accuracy.known || !in->coverage.known) {
		refuse_score(g, in->fates_open ? "the fate of too many prefetched pages is unknown"
					       : "no prefetched page was used or evicted");
		return;
	}
	/* No page was used, so no page came in time. */
	double in_time = in->timeliness.known ? in->timeliness.value : 0;

	give_score(g, in->accuracy.value * (0.6 + 0.4 * in_time) * (0.8 + 0.2 * in->coverage.value),
		   "accuracy %.4f x (0.6 + 0.4 x timeliness %.4f) x (0.8 + 0.2 x coverage %.4f)",
		   in->accuracy.value, in_time, in->coverage.value);
}

static void grade_eviction(const struct grade_input *in, struct grade *g)
{
	double base;

	if (!in->refaults.known || !in->added_pages.known) {
		refuse_score(g, "refaults or added pages were not measured");
		return;
	}
	/* A few pages of a job that mostly hits do no harm. */
	base = fmax(in->added_pages.value, in->lookups.known ? in->lookups.value / 100 : 0);
	if (base < 1) {
		refuse_score(g, "no page was added");
		return;
	}
	if (in->lookups.known) {
		give_score(g, 1 - in->refaults.value / base,
			   "1 - refaults %.0f / the larger of pages added %.0f and 1 %% of lookups "
			   "%.0f",
			   in->refaults.value, in->added_pages.value, in->lookups.value);
		return;
	}
	/* More lookups would only raise the score, so this holds for any number of lookups. */
	if (in->sliced && grade_letter(1 - in->refaults.value / base) != 'A') {
		refuse_score(g, "reads were watched in slices: the share of refaults in lookups is "
				"not known well enough");
		return;
	}
	give_score(g, 1 - in->refaults.value / base,
		   "1 - refaults %.0f / pages added %.0f; a lower bound, because lookups were not "
		   "measured",
		   in->refaults.value, in->added_pages.value);
}

struct opt_f64 grade_stall_share(struct opt_f64 stall_ns, struct opt_f64 job_stall_ns,
				 struct opt_f64 wall_ns, struct opt_f64 cpu_ns)
{
	struct opt_f64 ret = {0};
	double time;

	if (!stall_ns.known || !job_stall_ns.known || !wall_ns.known)
		return ret;
	time = fmax(wall_ns.value, cpu_ns.known ? job_stall_ns.value + cpu_ns.value : 0);
	if (time <= 0)
		return ret;
	ret.value = clamp_score(stall_ns.value / time);
	ret.known = true;
	return ret;
}

static void grade_stall(const struct grade_input *in, struct grade *g)
{
	struct opt_f64 share =
		grade_stall_share(in->stall_ns, in->job_stall_ns, in->wall_ns, in->cpu_ns);

	if (!share.known) {
		refuse_score(g, "stalls or the job's time were not measured");
		return;
	}
	if (in->touches.known && in->touches.value < 1) {
		refuse_score(g, "no page-cache accesses, so nothing could stall");
		return;
	}
	if (!in->cpu_ns.known)
		give_score(g, 1 - share.value,
			   "1 - stall %.3f s / wall time %.3f s; CPU time is not known",
			   in->stall_ns.value / 1e9, in->wall_ns.value / 1e9);
	else
		give_score(g, 1 - share.value,
			   "1 - stall %.3f s / the larger of wall time %.3f s and stall + CPU time "
			   "%.3f s",
			   in->stall_ns.value / 1e9, in->wall_ns.value / 1e9,
			   (in->job_stall_ns.value + in->cpu_ns.value) / 1e9);
}

double grade_touches_min(struct opt_f64 processes)
{
	return GRADE_START_TOUCHES * fmax(processes.known ? processes.value : 1, 1);
}

static void grade_overall(const struct grade_input *in, struct grade g[GRADE_NR])
{
	struct grade *all = &g[GRADE_OVERALL];
	double sum = 0;
	double weight = 0;
	/* The job's waiting is the most that the others can cost, so without it they do not count.
	 */
	struct opt_f64 waits =
		grade_stall_share(in->job_stall_ns, in->job_stall_ns, in->wall_ns, in->cpu_ns);
	double rest =
		g[GRADE_STALL].score.known && waits.known ? fmin(1, waits.value / WAIT_FULL) : 1;
	int n = snprintf(all->formula, sizeof(all->formula), "mean of");

	for (int i = GRADE_HITS; i < GRADE_NR; i++) {
		double part = weights[i] * (i == GRADE_STALL ? 1 : rest);

		if (!g[i].score.known)
			continue;
		sum += part * g[i].score.value;
		weight += part;
		n += snprintf(all->formula + n, sizeof(all->formula) - (size_t)n,
			      "%s %s %.4f (weight %.2g)", n > 7 ? "," : "", grade_titles[i],
			      g[i].score.value, part);
	}
	/* Two of the four grades are missing, so the mean of the rest is not comparable. */
	if (in->sliced) {
		refuse_score(all, "reads were watched in slices, so reuse and prefetch cannot be "
				  "graded; --level full grades all");
		return;
	}
	if (!in->lookups.known && !g[GRADE_PREFETCH].score.known && weight > 0) {
		refuse_score(all, "reuse and prefetch were not measured, and the other grades are "
				  "not enough to grade the job; --level full grades all");
		return;
	}
	if (weight <= 0) {
		refuse_score(all, "no grade is known");
		return;
	}
	if (in->touches.known && in->touches.value < in->touches_min && in->added_pages.known &&
	    in->added_pages.value < GRADE_START_TOUCHES) {
		refuse_score(all, "too few pages were used to grade the job: starting its programs "
				  "alone uses more");
		return;
	}
	all->score = (struct opt_f64){sum / weight, true};
	all->letter = grade_letter(all->score.value);
}

void grade_all(const struct grade_input *in, struct grade ret[GRADE_NR])
{
	for (int i = 0; i < GRADE_NR; i++)
		ret[i] = (struct grade){0};
	grade_hits(in, &ret[GRADE_HITS]);
	grade_prefetch(in, &ret[GRADE_PREFETCH]);
	grade_eviction(in, &ret[GRADE_EVICTION]);
	grade_stall(in, &ret[GRADE_STALL]);
	grade_overall(in, ret);
}

/* A job that read its data fewer times than this has no second epoch to judge. */
static const double EPOCHS_MIN = 1.5;

static struct opt_f64 rest_of(struct opt_f64 share)
{
	return (struct opt_f64){1 - share.value, share.known};
}

/* The ceiling for the time after the whole data set was read once. */
static struct opt_f64 after_first(const struct ceiling_input *in)
{
	struct opt_f64 stall = {0}, wall = {0}, cpu = {.known = true};
	double read = 0;

	for (size_t i = 0; i < in->nr_points; i++) {
		const struct ceiling_point *p = &in->points[i];

		if (!p->stall_ns.known || !p->read_bytes.known)
			return (struct opt_f64){0};
		if (read >= in->dataset_bytes.value) {
			stall = (struct opt_f64){stall.value + (double)p->stall_ns.value, true};
			wall = (struct opt_f64){wall.value + (double)p->duration_ns, true};
			cpu.value += (double)p->cpu_ns.value;
			cpu.known = cpu.known && p->cpu_ns.known;
		}
		read += (double)p->read_bytes.value;
	}
	return rest_of(grade_stall_share(stall, stall, wall, cpu));
}

static const char *ceiling_line(double ceiling)
{
	if (ceiling >= CEILING_LINE_HIGH)
		return ">= 90 %";
	return ceiling >= CEILING_LINE_LOW ? ">= 70 %" : "< 70 %";
}

struct ceiling ceiling_of(const struct ceiling_input *in)
{
	struct ceiling c = {.overall = rest_of(grade_stall_share(in->stall_ns, in->stall_ns,
								 in->wall_ns, in->cpu_ns))};

	if (in->read_bytes.known && in->dataset_bytes.known && in->dataset_bytes.value > 0)
		c.epochs = (struct opt_f64){in->read_bytes.value / in->dataset_bytes.value, true};
	if (!c.overall.known)
		c.reason = "stalls or the job's time were not measured";
	else if (!c.epochs.known)
		c.reason = "the number of distinct bytes read is not known";
	else if (c.epochs.value < EPOCHS_MIN)
		c.reason = "the job read less than 1.5 times its data set";
	else
		c.after_first_epoch = after_first(in);
	if (!c.reason && !c.after_first_epoch.known)
		c.reason = "the timeline does not show the end of the first epoch";
	if (c.overall.known)
		c.line = ceiling_line(c.after_first_epoch.known ? c.after_first_epoch.value
								: c.overall.value);
	return c;
}
