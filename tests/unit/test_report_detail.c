/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: report account access */
/* timeline, interference and coverage of a job in the formats for programs. */
#include "fixtures/report/golden.h"

#include "cachemon/figures/trace_code.h"

static int begin(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	fixture_begin(f);
	fixture_run(f);
	fixture_zero(f, "job");
	*state = f;
	return 0;
}

static int64_t number(const cJSON *json, const char *path)
{
	const cJSON *item = at(json, path);

	if (!cJSON_IsNumber(item))
		fail_msg("%s is no number", path);
	return (int64_t)item->valuedouble;
}

static void assert_text(const cJSON *json, const char *path, const char *want)
{
	const cJSON *item = at(json, path);

	if (!want && !cJSON_IsNull(item))
		fail_msg("%s is not null", path);
	if (want && (!cJSON_IsString(item) || strcmp(item->valuestring, want) != 0))
		fail_msg("%s is %s, not %s", path,
			 cJSON_IsString(item) ? item->valuestring : "no text", want);
}

/* Interference was not recorded: absent if pages left or if that is not known, else an empty
 * list. */
static void why_nobody_pushed_out(void **state)
{
	struct fixture *f = *state;
	cJSON *json = golden_json(f);

	assert_text(json, "jobs.0.interference.absent", NULL);
	assert_int_equal(cJSON_GetArraySize(at(json, "jobs.0.interference.evictions")), 0);
	assert_true(cJSON_IsNull(at(json, "jobs.1.interference")));
	cJSON_Delete(json);
	fixture_sql(f, "UPDATE job SET evicted_other = 1 WHERE id = 1");
	json = golden_json(f);
	assert_text(json, "jobs.0.interference.absent",
		    "the run did not record what evicted pages");
	assert_true(cJSON_IsNull(at(json, "jobs.0.interference.evictions")));
	cJSON_Delete(json);
	fixture_sql(f, "UPDATE job SET evicted_other = NULL WHERE id = 1");
	json = golden_json(f);
	assert_text(json, "jobs.0.interference.absent", "evictions were not measured");
	cJSON_Delete(json);
	fixture_sql(f, "INSERT INTO unmeasured VALUES (1, 'interference', 'the kernel is old')");
	json = golden_json(f);
	assert_text(json, "jobs.0.interference.absent", "the kernel is old");
	cJSON_Delete(json);
	fixture_older(f, 5);
	json = golden_json(f);
	assert_text(json, "jobs.0.interference.absent",
		    "an older cachemon recorded the run, without evictors");
	cJSON_Delete(json);
}

/* A run without marks from an older cachemon, also after the database was migrated. */
static void why_there_are_no_epochs(void **state)
{
	static const char older[] = "an older cachemon recorded the run";
	struct fixture *f = *state;
	cJSON *json = golden_json(f);

	assert_text(json, "jobs.0.epochs.absent", older);
	cJSON_Delete(json);
	fixture_sql(f, "UPDATE run SET marks_dropped = 0");
	fixture_sql(f, "UPDATE job SET read_bytes = 4096");
	json = golden_json(f);
	assert_text(json, "jobs.0.epochs.absent",
		    "the job read its files only once, or more than twice per interval, or later "
		    "passes were not observed");
	cJSON_Delete(json);
	/* A file that stayed in the cache was not fetched in every pass. */
	fixture_sql(f, "UPDATE run SET sliced = 1");
	json = golden_json(f);
	assert_text(
		json, "jobs.0.epochs.absent",
		"not every read was counted, and a file that stays in the page cache is not "
		"fetched again, so no record shows every pass; mark the epochs with cachemon mark");
	cJSON_Delete(json);
	fixture_older(f, 15);
	json = golden_json(f);
	assert_text(json, "jobs.0.epochs.absent", older);
	cJSON_Delete(json);
}

static void who_pushed_out_whose_pages(void **state)
{
	struct fixture *f = *state;
	cJSON *json;

	fixture_sql(f, "INSERT INTO interference (job_id, cause, evictor_kind, evictor, "
		       "evictor_cgroup, evictor_path, evictor_writes, owner_path, pages, "
		       "exact) VALUES "
		       "(1, 'reclaim_memcg', 'others', 'backup', CAST('/b' AS BLOB), NULL, 0, "
		       "CAST('/data' AS BLOB), 700, 1), "
		       "(1, 'reclaim_kswapd', 'own', 'train', NULL, CAST('/ck' AS BLOB), 1, NULL, "
		       "900, 0), "
		       "(1, 'truncate', NULL, NULL, NULL, NULL, NULL, NULL, 1, 1), "
		       "(2, 'truncate', NULL, NULL, NULL, NULL, NULL, NULL, 1, 1)");
	json = golden_json(f);
	assert_int_equal(cJSON_GetArraySize(at(json, "jobs.0.interference.evictions")), 3);
	assert_text(json, "jobs.0.interference.absent", NULL);
	assert_text(json, "jobs.0.interference.evictions.0.evictor.directory", "/ck");
	assert_text(json, "jobs.0.interference.evictions.0.evictor.kind", "own");
	assert_true(cJSON_IsTrue(at(json, "jobs.0.interference.evictions.0.evictor.writes")));
	assert_true(cJSON_IsFalse(at(json, "jobs.0.interference.evictions.0.exact")));
	assert_int_equal(number(json, "jobs.0.interference.evictions.1.pages"), 700);
	assert_text(json, "jobs.0.interference.evictions.1.cause", "reclaim_memcg");
	assert_text(json, "jobs.0.interference.evictions.1.evictor.command", "backup");
	assert_text(json, "jobs.0.interference.evictions.1.evictor.cgroup", "/b");
	assert_text(json, "jobs.0.interference.evictions.1.evictor.directory", NULL);
	assert_true(cJSON_IsFalse(at(json, "jobs.0.interference.evictions.1.evictor.writes")));
	assert_text(json, "jobs.0.interference.evictions.1.owner_directory", "/data");
	assert_true(cJSON_IsNull(at(json, "jobs.0.interference.evictions.2.evictor.writes")));
	cJSON_Delete(json);
}

/* A job of another run: a cgroup, watched from that many seconds after the run's own start. The
 * report is of the run with the highest id. */
static void put_job(struct fixture *f, int number, const char *boot, int after_s,
		    const char *cgroup)
{
	fixture_sql(
		f,
		"INSERT INTO run (id, uuid, cachemon, host, kernel, arch, started_ns, "
		"duration_ns, writer_boot, writer_pidns, writer_pid, writer_start_ticks, "
		"level, advice_mode, interval_ns, page_size_bytes, memory_bytes, map_bytes) "
		"SELECT -%d, 'u%d', cachemon, host, kernel, arch, started_ns + %d * 1000000000, "
		"1000000000, '%s', 0, 1, 0, level, advice_mode, interval_ns, page_size_bytes, "
		"memory_bytes, map_bytes FROM run WHERE id = 1",
		number, number, after_s, boot);
	fixture_sql(f,
		    "INSERT INTO job (id, run_id, slot, name, selector) VALUES "
		    "(%d, -%d, 1, 'job %d', 'cgroup: %s')",
		    number, number, number, cgroup);
	fixture_sql(f, "INSERT INTO job_cgroup VALUES (%d, CAST('%s' AS BLOB))", number, cgroup);
}

/* The job of the run (2 s) is below /slurm, which is watched too. */
static const struct {
	const char *cgroup, *job;
} evictors[] = {
	{"/slurm/2", "job 12"},
	{"/slurm/2/shell", "job 12"},
	{"/slurm/2/step/x", "job 13"},
	{"/slurm/23", "job 11"},
	{"/slurm", "job 11"},
	{"/slurmd", NULL},
	{"/other-boot", NULL},
	{"/before", NULL},
	{"/after", NULL},
	{"/own", NULL},
	{"/", NULL},
};

enum { NR_EVICTORS_HERE = sizeof(evictors) / sizeof(evictors[0]) };

static void other_jobs_are_known_by_their_cgroups(void **state)
{
	struct fixture *f = *state;
	char at_job[80], at_kind[80];
	cJSON *json;

	put_job(f, 11, "b", -1, "/slurm");
	fixture_sql(f, "UPDATE run SET duration_ns = 1000000001 WHERE id = -11");
	put_job(f, 12, "b", 1, "/slurm/2");
	put_job(f, 13, "b", 0, "/slurm/2/step");
	put_job(f, 14, "another", 1, "/other-boot");
	put_job(f, 15, "b", -1, "/before");
	put_job(f, 16, "b", 2, "/after");
	fixture_sql(f, "INSERT INTO job_cgroup VALUES (1, CAST('/own' AS BLOB))");
	for (int i = 0; i < NR_EVICTORS_HERE; i++)
		fixture_sql(f,
			    "INSERT INTO interference (job_id, cause, evictor_kind, evictor, "
			    "evictor_cgroup, pages, exact) VALUES (1, 'reclaim_memcg', 'others', "
			    "'cat', CAST('%s' AS BLOB), %d, 1)",
			    evictors[i].cgroup, 1000 - i);
	fixture_sql(f, "INSERT INTO interference (job_id, cause, evictor_kind, pages, exact) "
		       "VALUES (1, 'reclaim_memcg', 'others', 1, 1)");
	json = golden_json(f);
	for (int i = 0; i <= NR_EVICTORS_HERE; i++) {
		const char *job = i < NR_EVICTORS_HERE ? evictors[i].job : NULL;

		snprintf(at_job, sizeof(at_job), "jobs.0.interference.evictions.%d.evictor.job", i);
		snprintf(at_kind, sizeof(at_kind), "jobs.0.interference.evictions.%d.evictor.kind",
			 i);
		assert_text(json, at_job, job);
		assert_text(json, at_kind, job ? "job" : "others");
	}
	assert_text(json, "jobs.0.interference.evictions.0.evictor.command", "cat");
	cJSON_Delete(json);
	/* As left by an older cachemon. */
	fixture_older(f, 7);
	json = golden_json(f);
	assert_text(json, "jobs.0.interference.evictions.0.evictor.kind", "others");
	assert_text(json, "jobs.0.interference.evictions.0.evictor.job", NULL);
	cJSON_Delete(json);
}

/* The list is bounded, but the sums by cause are complete. */
static void what_is_left_of_each_cause(void **state)
{
	static const char *const causes[] = {"reclaim_kswapd", "reclaim_memcg", "truncate"};
	struct fixture *f = *state;
	int64_t want[3] = {0}, have[3] = {0}, rows = 0;
	const cJSON *e;
	cJSON *json;

	for (int i = 0; i < 1000; i++) {
		fixture_sql(
			f,
			"INSERT INTO interference (job_id, cause, evictor_kind, evictor, pages, "
			"exact) VALUES (1, '%s', 'others', 'p%d', %d, %d)",
			causes[i % 3], i, i * 37 % 1000, i % 3 != 0);
		want[i % 3] += i * 37 % 1000;
	}
	json = golden_json(f);
	assert_int_equal(cJSON_GetArraySize(at(json, "jobs.0.interference.evictions")), 103);
	cJSON_ArrayForEach(e, at(json, "jobs.0.interference.evictions"))
	{
		for (int c = 0; c < 3; c++)
			if (strcmp(at(e, "cause")->valuestring, causes[c]) == 0) {
				have[c] += number(e, "pages");
				assert_int_equal(cJSON_IsTrue(at(e, "exact")), c != 0);
			}
		if (!at(e, "rest"))
			continue;
		rows += number(e, "rows");
		assert_true(cJSON_IsNull(at(e, "evictor")));
	}
	assert_memory_equal(have, want, sizeof(want));
	assert_int_equal(rows, 900);
	cJSON_Delete(json);
}

static void trace(struct fixture *f, const struct trace_event *events, int nr)
{
	struct trace_coder coder = {0};
	uint8_t data[1024];
	int size = 0;
	sqlite3_stmt *s = NULL;

	for (int i = 0; i < nr; i++) {
		int n = trace_encode(&coder, &events[i], sizeof(data) - (size_t)size, data + size);

		assert_true(n > 0);
		size += n;
	}
	fixture_sql(f,
		    "INSERT INTO traced_file (id, job_id, dev_major, dev_minor, ino, gen, "
		    "size_bytes, state, began) VALUES (1, 1, 8, 1, 7, 0, %d, 'whole', 'cold')",
		    128 * 4096);
	assert_int_equal(sqlite3_prepare_v2(f->sql, "INSERT INTO trace_chunk VALUES (1, 0, ?1, ?2)",
					    -1, &s, NULL),
			 SQLITE_OK);
	sqlite3_bind_int(s, 1, nr);
	sqlite3_bind_blob(s, 2, data, size, SQLITE_STATIC);
	assert_int_equal(sqlite3_step(s), SQLITE_DONE);
	sqlite3_finalize(s);
}

static void add_files(struct fixture *f)
{
	fixture_sql(f, "INSERT INTO file (job_id, dev_major, dev_minor, ino, gen, size_bytes, "
		       "misses) VALUES (1, 8, 1, 7, 0, 524288, 9), (1, 8, 1, 8, 0, 524288, 8), "
		       "(1, 8, 1, 9, 0, NULL, 7)");
	fixture_sql(f, "INSERT INTO interval VALUES (1, 1, 0, 1000000000, 1000000000, 1), "
		       "(2, 1, 1000000000, 1000000000, 1000000000, 1);"
		       "INSERT INTO job_interval (interval_id, job_id) VALUES (1, 1), (2, 1)");
	fixture_zero(f, "job_interval");
}

static void parts_of_a_traced_file(void **state)
{
	static const struct trace_event events[] = {
		{.kind = TRACE_OPEN, .pos = 524288},
		{.kind = TRACE_READ, .pos = 4096, .len = 8192},
		{.kind = TRACE_ADD, .pos = 1, .len = 4},
		{.kind = TRACE_ADVICE, .time_ns = 1500000000, .detail = 2, .call = 1},
		{.kind = TRACE_REMOVE, .time_ns = 1500000001, .pos = 1, .len = 3}};
	struct fixture *f = *state;
	cJSON *json;

	add_files(f);
	trace(f, events, 5);
	json = golden_json(f);
	assert_text(json, "jobs.0.files.0.coverage.source", "trace");
	assert_true(cJSON_IsTrue(at(json, "jobs.0.files.0.coverage.whole")));
	assert_int_equal(number(json, "jobs.0.files.0.coverage.part_pages"), 2);
	assert_int_equal(cJSON_GetArraySize(at(json, "jobs.0.files.0.coverage.read_pages")), 64);
	assert_int_equal(number(json, "jobs.0.files.0.coverage.read_pages.0"), 1);
	assert_int_equal(number(json, "jobs.0.files.0.coverage.read_pages.1"), 1);
	assert_int_equal(number(json, "jobs.0.files.0.coverage.evicted_pages.1"), 2);
	assert_int_equal(number(json, "jobs.0.files.0.coverage.evicted_unused_pages.1"), 1);
	assert_int_equal(number(json, "jobs.0.files.0.coverage.resident_unused_pages.2"), 1);
	assert_text(json, "jobs.0.files.1.coverage.absent", "it was not traced");
	assert_int_equal(number(json, "jobs.0.timeline.advice_calls.traced_files"), 1);
	assert_int_equal(number(json, "jobs.0.timeline.advice_calls.incomplete_files"), 0);
	assert_null(at(json, "jobs.0.timeline.advice_calls.lower_bound"));
	assert_int_equal(number(json, "jobs.0.timeline.advice_calls.dontneed.0"), 0);
	assert_int_equal(number(json, "jobs.0.timeline.advice_calls.dontneed.1"), 1);
	assert_true(cJSON_IsNull(at(json, "jobs.0.files.3.coverage")));
	cJSON_Delete(json);
	fixture_sql(f, "UPDATE trace_chunk SET data = x'ffffffff'");
	json = golden_json(f);
	assert_text(
		json, "jobs.0.files.0.coverage.absent",
		"the trace of file 1 cannot be used: chunk 0: the data is not a list of events");
	assert_int_equal(number(json, "jobs.0.timeline.advice_calls.incomplete_files"), 1);
	assert_true(cJSON_IsTrue(at(json, "jobs.0.timeline.advice_calls.lower_bound")));
	assert_int_equal(number(json, "jobs.0.read_sizes.incomplete_files"), 1);
	assert_true(cJSON_IsTrue(at(json, "jobs.0.read_sizes.calls_log2_lower_bound")));
	cJSON_Delete(json);
	fixture_sql(f, "DELETE FROM trace_chunk; DELETE FROM traced_file;"
		       "INSERT INTO trace_absent VALUES (1, 'the kernel is old')");
	json = golden_json(f);
	assert_text(json, "jobs.0.files.0.coverage.absent", "the kernel is old");
	assert_text(json, "jobs.0.timeline.advice_calls.absent", "the kernel is old");
	cJSON_Delete(json);
}

/* Without a trace, the sample of references shows which pages were read, and no more. */
static void parts_of_a_sampled_file(void **state)
{
	struct fixture *f = *state;
	cJSON *json;

	add_files(f);
	fixture_sql(f, "INSERT INTO reference_sample VALUES (1, 'broken', 'the ring was full', "
		       "2147483648, 3, 3, 6, 6, 0.1);"
		       "INSERT INTO reference_page VALUES (1, 0, 8, 1, 8, 0, 0, 5), "
		       "(1, 1, 8, 1, 8, 0, 127, 5), (1, 2, 8, 1, 9, 0, 3, 6);"
		       "INSERT INTO reference_chunk VALUES (1, 0, 0, 6, 3, x'000204')");
	json = golden_json(f);
	assert_text(json, "jobs.0.files.1.coverage.source", "references");
	assert_true(cJSON_IsTrue(at(json, "jobs.0.files.1.coverage.read_pages_estimated")));
	assert_true(cJSON_IsFalse(at(json, "jobs.0.files.1.coverage.whole")));
	assert_text(json, "jobs.0.files.1.coverage.broken_reason", "the ring was full");
	assert_int_equal(number(json, "jobs.0.files.1.coverage.read_pages.0"), 2);
	assert_int_equal(number(json, "jobs.0.files.1.coverage.read_pages.1"), 0);
	assert_int_equal(number(json, "jobs.0.files.1.coverage.read_pages.63"), 2);
	assert_true(cJSON_IsNull(at(json, "jobs.0.files.1.coverage.evicted_pages")));
	/* The size of the file is not known, so it has no parts. */
	assert_text(json, "jobs.0.files.2.coverage.absent", "no file of the job was traced");
	cJSON_Delete(json);
}

/* Only the formats for programs compute it. */
static void other_formats_do_without(void **state)
{
	struct fixture *f = *state;
	char *text;

	fixture_sql(f, "INSERT INTO interference (job_id, cause, evictor, pages, exact) VALUES "
		       "(1, 'other', 'nobody-else-has-this-name', 1, 1)");
	text = golden_report(f, REPORT_TEXT, 100);
	assert_null(strstr(text, "nobody-else-has-this-name"));
	free(text);
}

#define DETAIL_TEST(t) cmocka_unit_test_setup_teardown(t, begin, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		DETAIL_TEST(why_nobody_pushed_out),
		DETAIL_TEST(why_there_are_no_epochs),
		DETAIL_TEST(who_pushed_out_whose_pages),
		DETAIL_TEST(other_jobs_are_known_by_their_cgroups),
		DETAIL_TEST(what_is_left_of_each_cause),
		DETAIL_TEST(parts_of_a_traced_file),
		DETAIL_TEST(parts_of_a_sampled_file),
		DETAIL_TEST(other_formats_do_without),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
