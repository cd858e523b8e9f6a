/* SPDX-License-Identifier: BSD-2-Clause */
/* The text for a monitoring system: labels, absent series, sums of mounts, counters that never
 * fall.
 * LINK: metrics */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/file.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/metrics/metrics.h"

static char *written(struct metrics *m, struct metrics_job *jobs, size_t nr)
{
	const struct metrics_node node = {.version = "1", .past = m, .jobs = jobs, .nr_jobs = nr};
	struct text_builder b;
	char *text;

	for (size_t i = 0; i < nr; i++)
		jobs[i].past = m;
	assert_non_null(text_begin(&b));
	assert_int_equal(metrics_write(&node, METRICS_TEXT, b.out), 0);
	text = text_end(&b);
	assert_non_null(text);
	return text;
}

static void know_all(struct counts *c)
{
	for (int i = 0; i < C_NR; i++)
		c->known[i] = true;
}

/* Lines that begin with that text. */
static size_t count_lines(const char *text, const char *begin)
{
	size_t nr = 0;

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		nr += strncmp(line, begin, strlen(begin)) == 0;
		if (!*line)
			break;
	}
	return nr;
}

static void assert_line(const char *text, const char *line)
{
	if (count_lines(text, line) != 1)
		fail_msg("not once: %s\n%s", line, text);
}

static void test_labels(void **state)
{
	struct metrics *m = metrics_new();
	char longest[200];
	struct metrics_job job = {.manager = "slurm", .jobid = "1\"\\\n\xff", .name = longest};
	char *text;

	(void)state;
	/* 127 bytes, then a character of two that does not fit. */
	memset(longest, 'x', sizeof(longest));
	strcpy(longest + 127, "\xc3\xa9");
	text = written(m, &job, 1);
	longest[127] = 0;
	assert_non_null(strstr(text, "{manager=\"slurm\",jobid=\"1\\\"\\\\\\n?\",name=\""));
	assert_non_null(strstr(text, longest));
	assert_null(strstr(text, "\xc3"));
	/* No user is known: there is no such label. */
	assert_null(strstr(text, "user="));
	free(text);
	metrics_free(m);
}

static void test_absent(void **state)
{
	struct metrics *m = metrics_new();
	struct metrics_job job = {.manager = "unit", .jobid = "a"};
	char *text;

	(void)state;
	job.counts.known[C_misses] = true;
	job.counts.c[C_misses] = 3;
	text = written(m, &job, 1);
	assert_line(text, "cachemon_job_misses_total{manager=\"unit\",jobid=\"a\",mount=\"\"} 3\n");
	assert_null(strstr(text, "lookups"));
	assert_null(strstr(text, "stall"));
	assert_null(strstr(text, "cachemon_job_cpu_seconds_total"));
	free(text);
	metrics_free(m);
}

static void test_mounts_add_up(void **state)
{
	struct metrics *m = metrics_new();
	struct metrics_mount mounts[] = {
		{.mount = "/data"}, {.mount = NULL}, {.mount = "/"}, {.mount = "/data"}};
	struct metrics_job job = {
		.manager = "unit", .jobid = "a", .mounts = mounts, .nr_mounts = 4};
	char *text;

	(void)state;
	know_all(&job.counts);
	job.counts.c[C_misses] = 1 + 2 + 4 + 8 + 16;
	for (int i = 0; i < 4; i++) {
		know_all(&mounts[i].counts);
		mounts[i].counts.c[C_misses] = 1 << i;
	}
	text = written(m, &job, 1);
	assert_int_equal(count_lines(text, "cachemon_job_misses_total{"), 3);
	assert_non_null(strstr(text, "jobid=\"a\",mount=\"/data\"} 9\n"));
	assert_non_null(strstr(text, "jobid=\"a\",mount=\"/\"} 4\n"));
	/* The mount without a name, and what no mount has. */
	assert_non_null(strstr(text, "jobid=\"a\",mount=\"\"} 18\n"));
	free(text);
	metrics_free(m);
}

/* A mount point has one series, whatever is mounted there. */
static void test_devices(void **state)
{
	struct metrics *m = metrics_new();
	struct metrics_mount mounts[] = {{.mount = "/", .device = "/dev/sda1"},
					 {.mount = "/a", .device = "/dev/sdb"},
					 {.mount = "/a", .device = "/dev/sdb"},
					 {.mount = "/b", .device = "/dev/sdb"},
					 {.mount = "/b", .device = "/dev/sdc"},
					 {.mount = "/c", .device = "/dev/sdd"},
					 {.mount = "/c"},
					 {.mount = "/net"},
					 {.device = "/dev/sde"}};
	enum { NR = sizeof(mounts) / sizeof(mounts[0]) };
	struct metrics_job job = {
		.manager = "unit", .jobid = "a", .mounts = mounts, .nr_mounts = NR};
	char *text;

	(void)state;
	know_all(&job.counts);
	job.counts.c[C_misses] = NR;
	job.facts[METRICS_VFS_CALLS + VFS_OPEN] = (struct opt_i64){NR, true};
	for (int i = 0; i < NR; i++) {
		know_all(&mounts[i].counts);
		mounts[i].counts.c[C_misses] = 1;
		mounts[i].facts[METRICS_VFS_CALLS + VFS_OPEN] = (struct opt_i64){1, true};
	}
	text = written(m, &job, 1);
	assert_int_equal(count_lines(text, "cachemon_job_misses_total{"), 6);
	assert_non_null(strstr(text, "mount=\"/\",device=\"/dev/sda1\"} 1\n"));
	assert_non_null(strstr(text, "mount=\"/a\",device=\"/dev/sdb\"} 2\n"));
	assert_non_null(strstr(text, "mount=\"/b\"} 2\n"));
	assert_non_null(strstr(text, "mount=\"/c\"} 2\n"));
	assert_non_null(strstr(text, "mount=\"/net\"} 1\n"));
	assert_non_null(strstr(text, "mount=\"\"} 1\n"));
	assert_non_null(strstr(text, "mount=\"/a\",device=\"/dev/sdb\",call=\"open\"} 2\n"));
	free(text);
	metrics_free(m);
}

static void test_calls_of_mounts(void **state)
{
	struct metrics *m = metrics_new();
	struct metrics_mount mounts[] = {
		{.mount = "/data"}, {.mount = NULL}, {.mount = "/"}, {.mount = "/data"}};
	struct metrics_job job = {
		.manager = "unit", .jobid = "a", .mounts = mounts, .nr_mounts = 4};
	char *text;

	(void)state;
	job.facts[METRICS_VFS_CALLS + VFS_OPEN] = (struct opt_i64){1 + 2 + 4 + 8 + 16, true};
	job.facts[METRICS_VFS_CALLS + VFS_MKDIR] = (struct opt_i64){7, true};
	for (int i = 0; i < 4; i++)
		mounts[i].facts[METRICS_VFS_CALLS + VFS_OPEN] = (struct opt_i64){1 << i, true};
	text = written(m, &job, 1);
	assert_int_equal(count_lines(text, "cachemon_job_vfs_calls_total{"), 4);
	assert_non_null(strstr(text, "jobid=\"a\",mount=\"/data\",call=\"open\"} 9\n"));
	assert_non_null(strstr(text, "jobid=\"a\",mount=\"/\",call=\"open\"} 4\n"));
	assert_non_null(strstr(text, "jobid=\"a\",mount=\"\",call=\"open\"} 18\n"));
	/* No mount of a directory is known. */
	assert_non_null(strstr(text, "jobid=\"a\",mount=\"\",call=\"mkdir\"} 7\n"));
	free(text);
	metrics_free(m);
}

/* Calls of files that are given up have no series, and their counts continue. */
static void test_budget(void **state)
{
	static const struct metrics_detail details[] = {{"vfs_calls", true}, {"file_rows", false}};
	struct metrics *m = metrics_new();
	struct metrics_job job = {.manager = "unit", .jobid = "a", .past = m};
	struct metrics_node node = {.version = "1",
				    .past = m,
				    .jobs = &job,
				    .nr_jobs = 1,
				    .budget_ppm = {10000, true},
				    .cost_ppm = {1234567, true},
				    .details = details,
				    .nr_details = 2};

	(void)state;
	job.facts[METRICS_VFS_CALLS + VFS_OPEN] = (struct opt_i64){7, true};
	job.facts[METRICS_CPU_NS] = (struct opt_i64){1, true};
	for (int i = 0; i < 3; i++) {
		struct text_builder b;
		char *text;

		node.no_vfs = i == 1;
		assert_non_null(text_begin(&b));
		assert_int_equal(metrics_write(&node, METRICS_TEXT, b.out), 0);
		text = text_end(&b);
		assert_non_null(strstr(text, "# TYPE cachemon_budget_ratio gauge\n"
					     "cachemon_budget_ratio 0.010000\n"));
		assert_non_null(strstr(text, "\ncachemon_cost_ratio 1.234567\n"));
		assert_non_null(
			strstr(text, "\ncachemon_detail_given_up{detail=\"vfs_calls\"} 1\n"));
		assert_non_null(
			strstr(text, "\ncachemon_detail_given_up{detail=\"file_rows\"} 0\n"));
		assert_int_equal(count_lines(text, "cachemon_job_vfs_"), i != 1);
		assert_int_equal(count_lines(text, "cachemon_job_cpu_seconds_total"), 1);
		free(text);
	}
	metrics_free(m);
}

static void test_never_falls(void **state)
{
	static const struct {
		int64_t count;
		const char *counter, *gauge;
	} steps[] = {{5, "5", "5"}, {3, "5", "3"}, {5, "5", "5"}, {7, "7", "7"}};
	struct metrics *m = metrics_new();
	struct metrics_job job = {.manager = "unit", .jobid = "a"};
	char line[160];

	(void)state;
	know_all(&job.counts);
	for (size_t i = 0; i < 4; i++) {
		char *text;

		job.counts.c[C_written_pages] = job.counts.c[C_resident_unused] = steps[i].count;
		text = written(m, &job, 1);
		snprintf(line, sizeof(line),
			 "cachemon_job_written_pages_total{manager=\"unit\",jobid=\"a\"} %s\n",
			 steps[i].counter);
		assert_line(text, line);
		snprintf(line, sizeof(line),
			 "cachemon_job_prefetch_resident_unused_pages{manager=\"unit\","
			 "jobid=\"a\"} %s\n",
			 steps[i].gauge);
		assert_line(text, line);
		free(text);
	}
	metrics_free(m);
}

static void test_seconds(void **state)
{
	struct metrics *m = metrics_new();
	struct metrics_job job = {
		.manager = "unit", .jobid = "a", .facts[METRICS_CPU_NS] = {12000000034, true}};
	char *text = written(m, &job, 1);

	(void)state;
	assert_line(text, "cachemon_job_cpu_seconds_total{manager=\"unit\",jobid=\"a\"} "
			  "12.000000034\n");
	free(text);
	metrics_free(m);
}

/* Each family has one head, its lines follow each other, and no series appears twice. */
static void test_families(void **state)
{
	struct metrics *m = metrics_new();
	struct metrics_mount mounts[] = {{.mount = "/a"}, {.mount = "/b"}};
	struct metrics_job jobs[] = {
		{.manager = "slurm", .jobid = "1", .mounts = mounts, .nr_mounts = 2},
		{.manager = "slurm", .jobid = "2"},
	};
	char *text, family[80] = "", *series[400], *at;
	size_t nr = 0;

	(void)state;
	know_all(&jobs[0].counts);
	know_all(&jobs[1].counts);
	know_all(&mounts[0].counts);
	know_all(&mounts[1].counts);
	text = written(m, jobs, 2);
	for (char *line = strtok_r(text, "\n", &at); line; line = strtok_r(NULL, "\n", &at)) {
		if (sscanf(line, "# TYPE %79s", family) == 1 || line[0] == '#')
			continue;
		assert_memory_equal(line, family, strlen(family));
		assert_true(line[strlen(family)] == '{' || line[strlen(family)] == ' ');
		*strrchr(line, ' ') = 0;
		for (size_t i = 0; i < nr; i++)
			assert_string_not_equal(series[i], line);
		assert_true(nr < 400);
		series[nr++] = line;
	}
	assert_true(nr > 2 * 40);
	free(text);
	metrics_free(m);
}

/* A job of which everything is known. */
static void know_job(struct metrics_job *job, struct metrics *m)
{
	struct opt_i64 *const figures[] = {&job->running, &job->processes, &job->limit_bytes,
					   &job->usage_bytes, &job->cache_bytes};

	*job = (struct metrics_job){.manager = "unit", .jobid = "a", .past = m};
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		*figures[i] = (struct opt_i64){1, true};
	for (int i = 0; i < METRICS_FACTS; i++)
		job->facts[i] = (struct opt_i64){1, true};
	know_all(&job->counts);
}

static char *all_written(enum metrics_format format)
{
	static const struct metrics_probe probe = {"read", true};
	struct metrics *m = metrics_new();
	struct metrics_loss losses[METRICS_LOSSES];
	struct metrics_job job;
	struct metrics_node node = {.version = "1",
				    .past = m,
				    .probes = &probe,
				    .nr_probes = 1,
				    .losses = losses,
				    .collector_cpu_ns = {1, true},
				    .resident_bytes = {1, true},
				    .nr_watched = {1, true},
				    .jobs = &job,
				    .nr_jobs = 1};
	struct text_builder b;
	char *text;

	know_job(&job, m);
	node.nr_losses = metrics_losses(&(struct loss_counts){}, true, losses);
	assert_non_null(text_begin(&b));
	assert_int_equal(metrics_write(&node, format, b.out), 0);
	text = text_end(&b);
	assert_non_null(text);
	metrics_free(m);
	return text;
}

/* As the specification says: names of families without suffix, units, and the end. */
static void test_openmetrics(void **state)
{
	static const char eof[] = "\n# EOF\n";
	char *text = all_written(METRICS_OPEN);
	size_t len = strlen(text);

	(void)state;
	assert_string_equal(text + len - strlen(eof), eof);
	assert_line(text, "# TYPE cachemon_job info\n");
	assert_line(text, "# TYPE cachemon_job_read_bytes counter\n");
	assert_line(text, "# UNIT cachemon_job_read_bytes bytes\n");
	assert_line(text, "# UNIT cachemon_job_pressure_seconds seconds\n");
	assert_line(text, "# UNIT cachemon_job_evicted_pages pages\n");
	assert_line(text, "# TYPE cachemon_jobs gauge\n");
	assert_line(text,
		    "cachemon_job_read_bytes_total{manager=\"unit\",jobid=\"a\",mount=\"\"} 0\n");
	assert_null(strstr(text, "_total counter\n"));
	assert_null(strstr(text, "# UNIT cachemon_jobs "));
	free(text);
}

/* The document has each series, with its whole name or as "_rest" after another one. */
static void test_document(void **state)
{
	char *text = all_written(METRICS_TEXT), *document, *at, name[80], part[100];
	size_t len, nr = 0;

	(void)state;
	assert_int_equal(
		file_read(AT_FDCWD, SOURCE_DIR "/docs/metrics.md", 1 << 20, &document, &len), 0);
	for (char *line = strtok_r(text, "\n", &at); line; line = strtok_r(NULL, "\n", &at)) {
		if (sscanf(line, "# TYPE %79s", name) != 1)
			continue;
		nr++;
		snprintf(part, sizeof(part), "`%s", name);
		if (strstr(document, part))
			continue;
		assert_memory_equal(name, "cachemon_job_", 13);
		snprintf(part, sizeof(part), "`%s`", name + 12);
		if (!strstr(document, part))
			fail_msg("docs/metrics.md has no %s", name);
	}
	assert_true(nr > 30);
	free(document);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_labels),	      cmocka_unit_test(test_absent),
		cmocka_unit_test(test_mounts_add_up), cmocka_unit_test(test_calls_of_mounts),
		cmocka_unit_test(test_devices),	      cmocka_unit_test(test_budget),
		cmocka_unit_test(test_never_falls),   cmocka_unit_test(test_seconds),
		cmocka_unit_test(test_families),      cmocka_unit_test(test_openmetrics),
		cmocka_unit_test(test_document),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
