/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: report account access */
#include "fixtures/report/fixture.h"

#include <errno.h>

#include "cachemon/base/errtext.h"
#include "cachemon/db/db_read.h"
#include "cachemon/model/model_load.h"

static int load(struct fixture *f, const struct model_query *q, struct model *ret,
		struct errtext *err)
{
	sqlite3 *db = NULL;
	int status = db_read_open(f->db, &db, err);

	assert_int_equal(status, 0);
	status = model_load(db, q, ret, err);
	sqlite3_close(db);
	return status;
}

static struct model loaded(struct fixture *f, size_t files)
{
	struct model_query q = {.run_id = MODEL_RUN_LAST, .files = files};
	struct model m = {0};
	struct errtext err = {""};

	if (load(f, &q, &m, &err) < 0)
		fail_msg("%s", err.text);
	return m;
}

/* 250 files with different counts, included in the job's totals together with 17 pages without a
 * file. */
static void many_files(struct fixture *f)
{
	fixture_sql(f,
		    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 250) "
		    "INSERT INTO file (job_id, dev_major, dev_minor, ino, gen, path, misses, "
		    "lookups, read_calls, read_bytes, used) SELECT 1, 8, 1, i, 0, "
		    "CAST('/d/' || i AS BLOB), i * 7 %% 101, i * 7 %% 101 + i * 13, "
		    "i, i * 4096 + 1, i FROM n;"
		    "UPDATE job SET (misses, lookups, read_calls, read_bytes, used) "
		    "= (SELECT sum(misses) + 17, sum(lookups) + 17, "
		    "sum(read_calls), sum(read_bytes), sum(used) FROM file) WHERE id = 1");
	fixture_zero(f, "job");
	fixture_zero(f, "file");
}

static void assert_adds_up(const struct model_job *job)
{
	for (int c = 0; c < C_NR; c++) {
		struct opt_i64 sum = counts_get(&job->rest, c);
		struct opt_i64 want = counts_get(&job->counts, c);

		for (size_t i = 0; i < job->nr_files; i++)
			sum = opt_add(sum, counts_get(&job->files[i].counts, c));
		if (job->counts.sliced && counts_estimated(&job->counts, c)) {
			assert_false(sum.known || want.known);
			continue;
		}
		assert_true(sum.known && want.known);
		if (sum.value != want.value)
			fail_msg("%s: %lld of files, %lld of the job", counter_name(c),
				 (long long)sum.value, (long long)want.value);
	}
}

static void files_add_up(void **state)
{
	static const size_t listed[] = {0, 1, 100, 250, 1000};
	struct fixture *f = *state;

	many_files(f);
	for (size_t i = 0; i < sizeof(listed) / sizeof(listed[0]); i++) {
		struct model m = loaded(f, listed[i]);

		assert_int_equal(m.jobs[0].nr_files, listed[i] < 250 ? listed[i] : 250);
		assert_adds_up(&m.jobs[0]);
		for (size_t j = 1; j < m.jobs[0].nr_files; j++)
			assert_true(m.jobs[0].files[j - 1].counts.c[C_misses] >=
				    m.jobs[0].files[j].counts.c[C_misses]);
		model_free(&m);
	}
}

static void files_add_up_in_slices(void **state)
{
	struct fixture *f = *state;

	many_files(f);
	fixture_sql(f, "UPDATE run SET sliced = 1, read_on_ns = 700000000, cost_budget = 0.01");
	for (size_t n = 0; n <= 250; n += 50) {
		struct model m = loaded(f, n);

		assert_adds_up(&m.jobs[0]);
		model_free(&m);
	}
}

/* Only the job has estimates. Values seen in slices are not counts. */
static void sliced_run(void **state)
{
	struct fixture *f = *state;
	struct range r;
	struct model m;

	fixture_sql(f,
		    "UPDATE run SET sliced = 1, cost_budget = 0.01;"
		    "UPDATE job SET lookups = 5, misses = 2, stall_ns = 8 WHERE id = 1;"
		    "INSERT INTO estimate VALUES (1, 'lookups', 70, 65, 76, NULL), "
		    "(1, 'hits', 68, 63, 74, NULL), (1, 'read_calls', NULL, NULL, NULL, 'wide')");
	m = loaded(f, 1);
	assert_int_equal(counts_get(&m.jobs[0].counts, C_lookups).value, 70);
	assert_true(counts_range(&m.jobs[0].counts, ESTIMATE_LOOKUPS, &r));
	assert_true(r.low.value == 65 && r.high.value == 76);
	assert_false(counts_get(&m.jobs[0].counts, C_read_calls).known);
	assert_int_equal(counts_get(&m.jobs[0].counts, C_misses).value, 2);
	assert_int_equal(counts_get(&m.jobs[0].counts, C_stall_ns).value, 8);
	for (size_t i = 0; i < m.jobs[0].nr_files; i++)
		assert_false(counts_get(&m.jobs[0].files[i].counts, C_lookups).known);
	model_free(&m);
	/* As in earlier versions: neither estimates nor waits. */
	fixture_sql(f, "UPDATE run SET cost_budget = NULL; DELETE FROM estimate");
	m = loaded(f, 1);
	assert_false(counts_get(&m.jobs[0].counts, C_lookups).known);
	assert_false(counts_get(&m.jobs[0].counts, C_stall_ns).known);
	assert_int_equal(counts_get(&m.jobs[0].counts, C_misses).value, 2);
	model_free(&m);
}

static void others_have_no_fates(void **state)
{
	struct fixture *f = *state;
	struct model m;

	fixture_zero(f, "job");
	m = loaded(f, 1);
	assert_int_equal(m.nr_jobs, 2);
	assert_false(model_others(&m.jobs[0]));
	assert_true(model_others(&m.jobs[1]));
	for (enum counter c = C_used; c <= C_untracked; c++) {
		assert_true(counts_get(&m.jobs[0].counts, c).known);
		assert_false(counts_get(&m.jobs[1].counts, c).known);
	}
	assert_true(counts_get(&m.jobs[1].counts, C_misses).known);
	model_free(&m);
}

static void absent_stays_absent(void **state)
{
	struct fixture *f = *state;
	struct model m;

	fixture_sql(f, "INSERT INTO file (job_id, dev_major, dev_minor, ino, gen, misses) VALUES "
		       "(1, 8, 1, 1, 0, 3); UPDATE job SET misses = 3");
	m = loaded(f, 10);
	for (int c = 0; c < C_NR; c++) {
		assert_int_equal(counts_get(&m.jobs[0].counts, c).known, c == C_misses);
		assert_int_equal(counts_get(&m.jobs[0].files[0].counts, c).known, c == C_misses);
		assert_int_equal(counts_get(&m.jobs[0].rest, c).known, c == C_misses);
	}
	assert_null(m.jobs[0].files[0].path.data);
	assert_false(m.jobs[0].processes.known);
	assert_false(m.run.probe_ns_per_lookup.known);
	assert_false(m.run.exit_status.known);
	assert_false(m.run.untracked_pages.known);
	model_free(&m);
}

static void choice_of_run_and_job(void **state)
{
	struct fixture *f = *state;
	struct model_query q = {.run_id = 7};
	struct model m = {0};
	struct errtext err = {""};

	assert_int_equal(load(f, &q, &m, &err), -ENOENT);
	assert_string_equal(err.text,
			    "no run 7. The database holds 1 run, 1 to 1: see 'cachemon runs'.");
	q = (struct model_query){.run_id = 1, .job = "no\x1b[1m"};
	assert_int_equal(load(f, &q, &m, &err), -ENOENT);
	assert_string_equal(err.text, "no job 'no\\x1b[1m' in run 1; it has 'train', '(others)'.");
	q = (struct model_query){.run_id = 1, .job = "train"};
	assert_int_equal(load(f, &q, &m, &err), 0);
	assert_int_equal(m.nr_jobs, 1);
	assert_true(bytes_is(&m.jobs[0].name, "train"));
	model_free(&m);
	q = (struct model_query){.run_id = MODEL_RUN_LAST - 1};
	assert_int_equal(load(f, &q, &m, &err), -ENOENT);
	assert_non_null(strstr(err.text, "no run last-1. "));
	fixture_sql(
		f, "CREATE TEMP TABLE one AS SELECT * FROM run; UPDATE one SET id = 5, uuid = 'z'; "
		   "INSERT INTO run SELECT * FROM one");
	for (int back = 0; back < 2; back++) {
		q = (struct model_query){.run_id = MODEL_RUN_LAST - back};
		assert_int_equal(load(f, &q, &m, &err), 0);
		assert_int_equal(m.run.id, back ? 1 : 5);
		model_free(&m);
	}
	fixture_sql(f, "DELETE FROM run");
	q = (struct model_query){.run_id = MODEL_RUN_LAST};
	assert_int_equal(load(f, &q, &m, &err), -ENOENT);
	assert_string_equal(err.text,
			    "the database holds no run yet; record one with 'cachemon watch'.");
}

static void untracked_by_full_map(void **state)
{
	struct fixture *f = *state;
	struct model m;

	fixture_sql(f, "UPDATE job SET untracked = 90, untracked_map_full = 12 + slot");
	m = loaded(f, 1);
	assert_int_equal(m.run.untracked_pages.value, 13); /* that of the watched job */
	model_free(&m);
}

static void directories(void **state)
{
	struct fixture *f = *state;
	struct model m;

	fixture_sql(f, "INSERT INTO directory (job_id, path, files, files_estimated, "
		       "subdirectories, misses) VALUES (1, x'2f61', 3, 0, 0, 1), "
		       "(1, x'2f62', NULL, 0, 1, 9), (1, NULL, 4, 1, 0, 5)");
	m = loaded(f, 1);
	assert_int_equal(m.jobs[0].nr_directories, 3);
	assert_true(bytes_is(&m.jobs[0].directories[0].path, "/b"));
	assert_true(m.jobs[0].directories[0].subdirectories);
	assert_false(m.jobs[0].directories[0].files.known);
	assert_null(m.jobs[0].directories[1].path.data);
	assert_true(m.jobs[0].directories[1].files_estimated);
	assert_false(m.jobs[0].rest_files.known);
	model_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(files_add_up, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(files_add_up_in_slices, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(sliced_run, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(others_have_no_fates, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(absent_stays_absent, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(choice_of_run_and_job, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(untracked_by_full_map, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(directories, fixture_setup, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
