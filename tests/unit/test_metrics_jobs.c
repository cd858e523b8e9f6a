/* SPDX-License-Identifier: BSD-2-Clause */
/* Which jobs have series of their own: the cap, jobs that end, come back or give way, and "_other".
 * The texts are compared as a scraper sees them: every increment is in one series.
 * LINK: metrics plan */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/text_builder.h"
#include "cachemon/metrics/metrics_jobs.h"
#include "cachemon/plan/probe_plan.h"

#define SECOND UINT64_C(1000000000)

/* A series and its last value, as a scraper keeps them. */
struct kept {
	char series[100];
	double value;
};

struct world {
	struct metrics_jobs *jobs;
	uint64_t now_ns;
	char *text;
	struct kept kept[4000];
	size_t nr_kept;
	double scraped; /* the increases of all series */
};

static void know(struct counts *c, int64_t lookups)
{
	*c = (struct counts){};
	for (int i = 0; i < C_NR; i++)
		c->known[i] = true;
	c->c[C_lookups] = lookups;
}

static void take(struct world *w, const char *jobid, uint64_t run, int64_t lookups, bool last)
{
	struct metrics_job job = {.manager = "slurm",
				  .jobid = jobid,
				  .user = "alice",
				  .name = "train",
				  .facts[METRICS_CPU_NS] = {lookups * 10, true},
				  .processes = {1, true}};

	know(&job.counts, lookups);
	assert_int_equal(metrics_jobs_take(w->jobs, &job, run, last, w->now_ns), 0);
}

static const char *line_of(const char *text, const char *begin)
{
	const char *at = strncmp(text, begin, strlen(begin)) == 0 ? text : NULL;
	char line[200];

	snprintf(line, sizeof(line), "\n%s", begin);
	return at ? at : strstr(text, line) ? strstr(text, line) + 1 : NULL;
}

/* -1: there is no such series. */
static double value(const char *text, const char *series)
{
	const char *line = text ? line_of(text, series) : NULL;

	return line ? strtod(line + strlen(series), NULL) : -1;
}

#define LOOKUPS	     "cachemon_job_lookups_total{manager=\"slurm\",jobid=\"%s\",mount=\"\"} "
#define OTHER_LABELS "manager=\"_other\",jobid=\"_other\""
#define OTHER	     "cachemon_job_lookups_total{" OTHER_LABELS ",mount=\"\"} "

static double lookups(const struct world *w, const char *jobid)
{
	char series[200];

	snprintf(series, sizeof(series), LOOKUPS, jobid);
	return value(w->text, series);
}

static struct kept *kept_of(struct world *w, const char *series)
{
	struct kept *k;

	for (size_t i = 0; i < w->nr_kept; i++)
		if (!strcmp(w->kept[i].series, series))
			return &w->kept[i];
	assert_true(w->nr_kept < 4000);
	k = &w->kept[w->nr_kept++];
	snprintf(k->series, sizeof(k->series), "%s", series);
	return k;
}

/* What increase() adds up: no series falls, also not after a gap. */
static void add_increases(struct world *w)
{
	static const char family[] = "\ncachemon_job_lookups_total{";

	for (const char *at = w->text; (at = strstr(at, family)); at++) {
		const char *end = strstr(at, "} ") + 2;
		double now = strtod(end, NULL);
		char series[100];
		struct kept *k;

		snprintf(series, sizeof(series), "%.*s", (int)(end - at - 1), at + 1);
		k = kept_of(w, series);
		assert_true(k->value <= now);
		w->scraped += now - k->value;
		k->value = now;
	}
}

static void scrape(struct world *w, uint64_t seconds)
{
	struct metrics *own = metrics_new();
	struct metrics_node node = {.version = "1", .past = own};
	struct text_builder b;

	w->now_ns += seconds * SECOND;
	metrics_jobs_view(w->jobs, w->now_ns, &node.jobs, &node.nr_jobs);
	assert_non_null(text_begin(&b));
	assert_int_equal(metrics_write(&node, METRICS_TEXT, b.out), 0);
	free(w->text);
	w->text = text_end(&b);
	assert_non_null(w->text);
	add_increases(w);
	metrics_free(own);
}

static size_t count_jobs(const struct world *w)
{
	size_t nr = 0;

	for (const char *at = w->text; (at = strstr(at, "\ncachemon_job_info{")); at++)
		nr++;
	return nr;
}

static int begin(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	*state = w;
	if (w)
		w->jobs = metrics_jobs_new(METRICS_PLACES);
	return w && w->jobs ? 0 : -1;
}

static int end(void **state)
{
	struct world *w = *state;

	metrics_jobs_free(w->jobs);
	free(w->text);
	free(w);
	return 0;
}

static void test_ended(void **state)
{
	struct world *w = *state;

	take(w, "1", 1, 5, false);
	scrape(w, 10);
	assert_true(lookups(w, "1") == 5);
	take(w, "1", 1, 8, true);
	scrape(w, 10);
	/* The last interval is there, for five minutes. */
	assert_true(lookups(w, "1") == 8);
	assert_non_null(strstr(w->text, "cachemon_job_running{manager=\"slurm\",jobid=\"1\"} 0\n"));
	scrape(w, 289);
	assert_true(lookups(w, "1") == 8);
	scrape(w, 1);
	assert_true(lookups(w, "1") < 0);
	assert_int_equal(count_jobs(w), 0);
	assert_null(strstr(w->text, "_other"));
}

/* It began and ended between two scrapes. */
static void test_short(void **state)
{
	struct world *w = *state;

	take(w, "1", 1, 7, true);
	scrape(w, 10);
	assert_true(lookups(w, "1") == 7);
	scrape(w, 301);
	assert_int_equal(count_jobs(w), 0);
}

static void test_comes_back(void **state)
{
	struct world *w = *state;

	take(w, "1", 1, 5, true);
	scrape(w, 10);
	take(w, "1", 2, 2, false);
	scrape(w, 10);
	assert_true(lookups(w, "1") == 7);
	scrape(w, 400);
	assert_true(lookups(w, "1") == 7);
	/* Two of one name at once are one. */
	take(w, "1", 3, 10, false);
	take(w, "1", 2, 3, false);
	scrape(w, 10);
	assert_true(lookups(w, "1") == 18);
	assert_non_null(
		strstr(w->text, "cachemon_job_processes{manager=\"slurm\",jobid=\"1\"} 2\n"));
	assert_int_equal(count_jobs(w), 1);
}

static void test_cap(void **state)
{
	struct world *w = *state;
	const int others = 100 - METRICS_PLACES;
	char name[64];

	for (int i = 1; i <= 100; i++) {
		snprintf(name, sizeof(name), "%d", i);
		take(w, name, (uint64_t)i, i, false);
	}
	scrape(w, 10);
	assert_int_equal(count_jobs(w), METRICS_PLACES);
	/* The busiest ones. */
	for (int i = 1; i <= 100; i++) {
		snprintf(name, sizeof(name), "%d", i);
		if (i > others)
			assert_true(lookups(w, name) == i);
		else
			assert_true(lookups(w, name) < 0);
	}
	assert_true(value(w->text, OTHER) == others * (others + 1) / 2);
	snprintf(name, sizeof(name), "cachemon_job_processes{" OTHER_LABELS "} %d\n", others);
	assert_non_null(strstr(w->text, name));
	assert_true(w->scraped == 100 * 101 / 2);
}

/* An idle job gives its place to a busy one: both series hold what they counted. */
static void test_gives_way(void **state)
{
	struct world *w = *state;
	int64_t total = 0, busy = 0;
	char name[16];

	for (int i = 1; i <= METRICS_PLACES; i++) {
		snprintf(name, sizeof(name), "%d", i);
		take(w, name, (uint64_t)i, 100 * i, false);
		total += 100 * i;
	}
	scrape(w, 10);
	for (int t = 0; t < 40; t++) {
		busy += 1000;
		take(w, "busy", 99, busy, false);
		for (int i = 2; i <= METRICS_PLACES; i++) {
			snprintf(name, sizeof(name), "%d", i);
			take(w, name, (uint64_t)i, 100 * i + 1000 * (t + 1), false);
		}
		/* Also while it gives way. */
		take(w, "1", 1, 100 + t, false);
		scrape(w, 10);
		if (t < 29)
			assert_true(lookups(w, "busy") < 0);
		assert_true(count_jobs(w) <= METRICS_PLACES);
	}
	assert_true(lookups(w, "busy") > 0);
	assert_true(lookups(w, "1") < 0);
	total += busy + 39 + 40 * 1000 * (METRICS_PLACES - 1);
	assert_true(w->scraped == (double)total);
	/* When it does more than another, it goes on where it was. */
	for (int t = 0; t < 60; t++) {
		take(w, "1", 1, 139 + 10000 * (t + 1), false);
		scrape(w, 10);
	}
	assert_true(lookups(w, "1") > 130);
	assert_true(w->scraped == (double)total + 60 * 10000);
}

struct life {
	unsigned int id;
	uint64_t run;
	int64_t counted;
	bool runs;
};

/* A job's next life: the same job again if it has its series still, or another one. */
static void live_again(struct world *w, struct life *j, unsigned int *jobs, uint64_t *runs,
		       bool again)
{
	char name[16];

	snprintf(name, sizeof(name), "%u", j->id);
	if (!again || lookups(w, name) < 0)
		j->id = ++*jobs;
	j->run = ++*runs;
	j->counted = 0;
	j->runs = true;
}

/* Jobs come and go in any order: nothing falls, and nothing is lost or counted twice. */
static void test_churn(void **state)
{
	struct world *w = *state;
	struct life lives[60] = {};
	unsigned int seed = 1, jobs = 0;
	uint64_t runs = 0;
	int64_t total = 0;

	take(w, "0", 0, 0, true);
	scrape(w, 1);
	for (int t = 0; t < 1000; t++) {
		for (int i = 0; i < 60; i++) {
			int64_t more = rand_r(&seed) % 3 ? 0 : rand_r(&seed) % (i * i + 1);
			bool last = rand_r(&seed) % 50 == 0;
			char name[16];

			if (!lives[i].runs && rand_r(&seed) % 20)
				continue;
			if (!lives[i].runs)
				live_again(w, &lives[i], &jobs, &runs, rand_r(&seed) % 2);
			lives[i].counted += more;
			total += more;
			snprintf(name, sizeof(name), "%u", lives[i].id);
			take(w, name, lives[i].run, lives[i].counted, last);
			lives[i].runs = !last;
		}
		scrape(w, (uint64_t)(rand_r(&seed) % 30));
		assert_true(count_jobs(w) <= METRICS_PLACES);
	}
	assert_true(jobs > 500 && runs > jobs + 100);
	assert_true(w->scraped == (double)total);
}

static void test_present(void **state)
{
	struct world *w = *state;
	char name[16], last[96];

	/* A gauge of pages that come and go, in a job that gets a place later. */
	for (int i = 0; i < METRICS_PLACES + 1; i++) {
		struct metrics_job job = {.manager = "slurm", .jobid = name};

		snprintf(name, sizeof(name), "%d", i);
		know(&job.counts, i < METRICS_PLACES ? 10 : 1);
		job.counts.c[C_resident_unused] = 50;
		metrics_jobs_take(w->jobs, &job, (uint64_t)i, i < METRICS_PLACES, w->now_ns);
	}
	scrape(w, 10);
#define UNUSED "cachemon_job_prefetch_resident_unused_pages{"
	assert_true(value(w->text, UNUSED OTHER_LABELS "} ") == 50);
	scrape(w, 300);
	snprintf(last, sizeof(last), UNUSED "manager=\"slurm\",jobid=\"%d\"} ", METRICS_PLACES);
	assert_true(value(w->text, last) == 50);
	assert_true(value(w->text, UNUSED OTHER_LABELS "} ") == 0);
}

/* vfs: with figures that few nodes measure. */
static void check_series(struct world *w, bool vfs)
{
	static const char *const mounts[] = {"/", "/data", "/scratch", "/home", NULL};
	struct metrics_mount of[5] = {};
	static const struct metrics_detail details[] = {{"a", 1}, {"b", 1}, {"c", 0}, {"d", 0}};
	struct metrics_probe probes[ROLE_NR];
	struct metrics_loss losses[8];
	struct metrics *own = metrics_new();
	struct metrics_node node = {.version = "1",
				    .past = own,
				    .probes = probes,
				    .nr_probes = ROLE_NR,
				    .losses = losses,
				    .nr_losses = 8,
				    .probe_cpu_ns = {1, true},
				    .collector_cpu_ns = {1, true},
				    .resident_bytes = {1, true},
				    .nr_watched = {1, true},
				    .budget_ppm = {10000, true},
				    .cost_ppm = {1, true},
				    .details = details,
				    .nr_details = 4};
	char roles[ROLE_NR][8], kinds[8][8], name[16], *text;
	struct text_builder b;
	size_t series = 0;

	for (int i = 0; i < ROLE_NR; i++) {
		snprintf(roles[i], sizeof(roles[i]), "r%d", i);
		probes[i] = (struct metrics_probe){roles[i], true};
	}
	for (int i = 0; i < 8; i++) {
		snprintf(kinds[i], sizeof(kinds[i]), "k%d", i);
		losses[i] = (struct metrics_loss){kinds[i], 0};
	}
	for (int i = 0; i < 5; i++) {
		of[i].mount = mounts[i];
		know(&of[i].counts, 10);
		memset(of[i].facts, 0, sizeof(of[i].facts));
		for (int k = METRICS_VFS_CALLS; k <= METRICS_VFS_CALLS + VFS_OPEN; k++)
			of[i].facts[k] = (struct opt_i64){1, vfs};
		for (int k = METRICS_VFS_READ_BYTES; k <= METRICS_VFS_CREATED; k++)
			of[i].facts[k] = (struct opt_i64){1, vfs};
	}
	for (int i = 0; i < 255; i++) {
		struct metrics_job job = {.manager = "slurm",
					  .jobid = name,
					  .mounts = of,
					  .nr_mounts = 5,
					  .processes = {1, true},
					  .limit_bytes = {1, true},
					  .usage_bytes = {1, true},
					  .cache_bytes = {1, true}};

		for (int k = 0; k < METRICS_FACTS; k++)
			job.facts[k] = (struct opt_i64){1, k < METRICS_VFS_CALLS || vfs};
		snprintf(name, sizeof(name), "%d", i);
		know(&job.counts, 100);
		metrics_jobs_take(w->jobs, &job, (uint64_t)i, false, 0);
	}
	metrics_jobs_view(w->jobs, 0, &node.jobs, &node.nr_jobs);
	assert_non_null(text_begin(&b));
	assert_int_equal(metrics_write(&node, METRICS_TEXT, b.out), 0);
	text = text_end(&b);
	for (const char *at = text; (at = strstr(at, "\ncachemon_")); at++)
		series++;
	assert_in_range(series, 1900, 2000);
	free(text);
	metrics_free(own);
}

static void test_series_at_most(void **state)
{
	check_series(*state, false);
}

static void test_series_with_vfs(void **state)
{
	struct world *w = *state;

	metrics_jobs_free(w->jobs);
	w->jobs = metrics_jobs_new(METRICS_PLACES_VFS);
	assert_non_null(w->jobs);
	check_series(w, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_ended, begin, end),
		cmocka_unit_test_setup_teardown(test_short, begin, end),
		cmocka_unit_test_setup_teardown(test_comes_back, begin, end),
		cmocka_unit_test_setup_teardown(test_cap, begin, end),
		cmocka_unit_test_setup_teardown(test_gives_way, begin, end),
		cmocka_unit_test_setup_teardown(test_churn, begin, end),
		cmocka_unit_test_setup_teardown(test_present, begin, end),
		cmocka_unit_test_setup_teardown(test_series_at_most, begin, end),
		cmocka_unit_test_setup_teardown(test_series_with_vfs, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
