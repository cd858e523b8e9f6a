/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: store account db access */
/* A run written by the store and read back through another connection. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "test_store_fixture.h"

static void test_round_trip(void **state)
{
	struct fixture *f = *state;
	const char *db = f->scratch.db;
	const struct store_run run = test_run();
	const int status = 130;

	begin(f, &run, NULL);
	for (uint64_t n = 0; n < 10; n++) {
		write_ok(f, n, 12);
		/* The kernel did not report it in interval 4. */
		assert_int_equal(ask(db, "SELECT ifnull(loss_recursion_misses, -1) FROM run"),
				 n == 4 ? -1 : (int64_t)n);
	}
	assert_int_equal(ask(db, "SELECT count(*) FROM run WHERE state = 'open' AND "
				 "exit_status IS NULL"),
			 1);
	end_ok(f, &(struct store_end){.exit_status = &status});
	assert_true(is_sound(db));
	assert_true(adds_up(db));
	assert_int_equal(ask(db, "SELECT misses FROM job WHERE slot = 1"), test_misses(10));
	assert_int_equal(ask(db, "SELECT sum(i.misses) FROM job_interval AS i JOIN job ON "
				 "job.id = job_id WHERE slot = 1"),
			 test_misses(10));
	assert_int_equal(ask(db, "SELECT misses FROM job WHERE slot = 0"), 40);
	assert_int_equal(ask(db, "SELECT count(*) FROM file"), 12);
	assert_int_equal(ask(db, "SELECT sum(misses) FROM file"), test_misses(10) - 20);
	assert_int_equal(ask(db, "SELECT sum(misses) FROM file_interval"), test_misses(10) - 20);
	assert_int_equal(ask(db, "SELECT files FROM directory WHERE path = x'2f646174612f6431'"),
			 4);
	assert_int_equal(ask(db, "SELECT count(*) FROM file JOIN directory AS d ON "
				 "d.id = directory_id WHERE substr(file.path, 1, length(d.path)) "
				 "= d.path AND dev_major = 259 AND dev_minor = 3 AND gen = 9 AND "
				 "fstype = 'xfs' AND size_bytes = 1048576"),
			 12);
	assert_int_equal(ask(db, "SELECT count(*) FROM interval WHERE duration_ns = 1000000000 "
				 "AND rolled = 1 AND start_ns % 1000000000 = 0"),
			 10);
	assert_int_equal(ask(db, "SELECT sum(cpu_ns) FROM job_interval"), 10000);
	assert_int_equal(ask(db, "SELECT count(*) FROM run WHERE state = 'complete' AND "
				 "exit_status = 130 AND duration_ns = 10000000000 AND "
				 "read_on_ns = 10000000000 AND sliced = 0 AND loss_ring_drops = 9 "
				 "AND cost_cpu_ns = 9 AND cost_probe_ns_per_lookup = 20.5 AND "
				 "cost_share_of_job_cpu IS NULL AND law_error_pages = 0 AND "
				 "loss_intervals = 0 AND loss_recursion_misses = 9 AND "
				 "length(uuid) = 36"),
			 1);
	assert_int_equal(ask(db, "SELECT count(*) FROM probe WHERE hook IS NULL OR "
				 "(state = 'live' AND reason IS NULL)"),
			 2);
	/* All of the files are on one device; files without a row belong to no device. */
	assert_int_equal(ask(db, "SELECT misses FROM filesystem WHERE dev_major = 259 AND "
				 "dev_minor = 3 AND type = 'xfs' AND mount = x'2f64617461' AND "
				 "cover = 'exact' AND why = 'seen' AND files = 12 AND NOT "
				 "files_estimated"),
			 test_misses(10) - 20);
	assert_int_equal(ask(db, "SELECT misses FROM filesystem WHERE dev_major IS NULL AND "
				 "dev_minor IS NULL AND type IS NULL"),
			 20);
	assert_int_equal(ask(db, "SELECT count(*) FROM filesystem"), 2);
	/* One file is left, in a journal mode other than WAL. */
	assert_int_equal(scratch_files(&f->scratch, false), 1);
	assert_int_equal(ask(db, "SELECT journal_mode = 'delete' FROM pragma_journal_mode"), 1);
}

/* A job that is a cgroup can be found among the evictors of other jobs' pages. */
static void test_cgroup_of_the_job(void **state)
{
	struct fixture *f = *state;
	const char *db = f->scratch.db;
	struct store_run run = test_run();

	begin(f, &run, NULL);
	end_ok(f, &(struct store_end){0});
	assert_int_equal(ask(db, "SELECT count(*) FROM job_cgroup"), 0);
	ledger_free(f->l);
	run.memory_cgroup = "/slurm/7";
	begin(f, &run, NULL);
	end_ok(f, &(struct store_end){0});
	assert_int_equal(ask(db,
			     "SELECT count(*) FROM job_cgroup JOIN job ON job.id = job_id WHERE "
			     "slot = 1 AND path = CAST('/slurm/7' AS BLOB)"),
			 1);
	assert_int_equal(ask(db, "SELECT count(*) FROM job_cgroup"), 1);
}

static void test_identity_of_the_job(void **state)
{
	const struct store_identity slurm = {.kind = "slurm",
					     .external_id = "4711",
					     .step = "0",
					     .job_name = "a b",
					     .partition = "gpu",
					     .uid = 0};
	struct fixture *f = *state;
	const char *db = f->scratch.db;
	struct store_run run = test_run();

	run.jobs[JOB_WATCHED].identity = &slurm;
	begin(f, &run, NULL);
	end_ok(f, &(struct store_end){0});
	assert_int_equal(ask(db, "SELECT count(*) FROM job WHERE slot = 1 AND kind = 'slurm' AND "
				 "external_id = '4711' AND step = '0' AND job_name = 'a b' AND "
				 "partition = 'gpu' AND uid = 0"),
			 1);
	assert_int_equal(ask(db, "SELECT count(*) FROM job WHERE slot = 0 AND coalesce(kind, "
				 "external_id, step, job_name, partition, uid) IS NULL"),
			 1);
}

static void test_not_measured_is_null_everywhere(void **state)
{
	struct fixture *f = *state;
	const char *db = f->scratch.db;
	struct store_run run = test_run();

	run.measured.counter[JOB_OTHERS][C_misses] = false;
	begin(f, &run, NULL);
	write_ok(f, 0, 12);
	write_ok(f, 1, 12);
	end_ok(f, &(struct store_end){0});
	/* The samples contain delayed hits, but they were not measured. */
	assert_int_equal(ask(db, "SELECT (SELECT count(delayed_hits) FROM job) + "
				 "(SELECT count(delayed_hits) FROM directory) + "
				 "(SELECT count(delayed_hits) FROM file) + "
				 "(SELECT count(delayed_hits) FROM filesystem) + "
				 "(SELECT count(delayed_hits) FROM job_interval) + "
				 "(SELECT count(delayed_hits) FROM file_interval)"),
			 0);
	assert_int_equal(ask(db, "SELECT count(*) FROM unmeasured WHERE counter = 'delayed_hits' "
				 "AND reason = 'no hook sees it'"),
			 1);
	assert_int_equal(ask(db, "SELECT count(misses) + count(cpu_ns) + count(processes) + "
				 "count(rchar_bytes) + count(alive) FROM job WHERE slot = 0"),
			 0);
	assert_int_equal(ask(db, "SELECT count(i.cpu_ns) + count(i.misses) FROM "
				 "job_interval AS i JOIN job ON job.id = job_id WHERE slot = 0"),
			 0);
	assert_int_equal(ask(db, "SELECT processes FROM job WHERE slot = 1"), 3);
	/* Measured zeros stay zeros. */
	assert_int_equal(ask(db, "SELECT refaults FROM job WHERE slot = 1"), 0);
	assert_int_equal(ask(db, "SELECT count(*) FROM directory JOIN job ON job.id = job_id "
				 "WHERE slot = 0 AND files IS NULL"),
			 1);
	assert_int_equal(ask(db, "SELECT count(*) FROM run WHERE exit_status IS NULL"), 1);
}

/* A probe fails during the run: its figures are removed from everything already written. */
static void test_withdrawn_at_the_end(void **state)
{
	static const struct store_unmeasured now[] = {
		{"misses", "the probe missed events"},
		{"delayed_hits", "no hook sees it"},
	};
	struct fixture *f = *state;
	const char *db = f->scratch.db;
	const struct sample_mark mark = {.number = 1, .len = 1, .text = "m", .cpu_ns = 7};
	const struct sample_process process = {
		.pid = 5, .row = {.stall_ns = 9, .stalls = 1, .comm = "reader"}};
	const struct store_run run = test_run();
	struct store_measured measured = run.measured;
	struct test_sample t;

	measured.counter[JOB_WATCHED][C_misses] = false;
	measured.counter[JOB_WATCHED][C_stall_ns] = false;
	measured.facts[JOB_WATCHED] = false;
	begin(f, &run, NULL);
	for (uint64_t n = 0; n < 6; n++)
		write_ok(f, n, 12);
	test_sample(&t, 6, 12);
	t.s.marks = &mark;
	t.s.nr_marks = 1;
	t.s.processes = &process;
	t.s.nr_processes = 1;
	ledger_apply(f->l, &t.s);
	assert_int_equal(store_write(f->st, f->l, &t.s, &f->err), 0);
	assert_int_equal(ask(db, "SELECT cpu_ns FROM mark"), 7);
	assert_int_equal(ask(db, "SELECT stall_ns FROM process_interval"), 9);
	end_ok(f,
	       &(struct store_end){.measured = &measured, .unmeasured = now, .nr_unmeasured = 2});
	assert_int_equal(ask(db, "SELECT (SELECT count(misses) FROM job WHERE slot = 1) + "
				 "(SELECT count(misses) FROM file) + "
				 "(SELECT count(misses) FROM filesystem) + "
				 "(SELECT count(d.misses) FROM directory AS d JOIN job ON job.id = "
				 "job_id WHERE slot = 1) + "
				 "(SELECT count(misses) FROM file_interval) + "
				 "(SELECT count(misses) FROM directory_interval) + "
				 "(SELECT count(misses) + count(cpu_ns) FROM mark) + "
				 "(SELECT count(i.misses) + count(i.cpu_ns) + count(i.rchar_bytes) "
				 "FROM job_interval AS i JOIN job ON job.id = job_id "
				 "WHERE slot = 1)"),
			 0);
	assert_int_equal(ask(db, "SELECT count(*) FROM process_interval"), 0);
	/* Not from the other job, and not from other counters. */
	assert_int_equal(ask(db, "SELECT sum(i.misses) FROM job_interval AS i JOIN job ON "
				 "job.id = job_id WHERE slot = 0"),
			 28);
	assert_int_equal(ask(db, "SELECT sum(lookups) FROM file"), 10 * (test_misses(7) - 14));
	assert_int_equal(ask(db, "SELECT count(*) FROM unmeasured"), 2);
}

/* Waits, or reads, turn out to be unmeasured: what else is known of processes stays. */
static void test_withdrawn_of_processes(void **state)
{
	static const struct {
		bool waits, reads;
		int known; /* of both rows: columns of waits, and of reads */
	} cases[] = {{false, true, 04}, {true, false, 040}, {true, true, 044}};
	struct fixture *f = *state;
	const char *db = f->scratch.db;
	const struct sample_process process = {
		.pid = 5, .row = {.stall_ns = 9, .stalls = 1, .rchar_bytes = 11, .syscr_calls = 2}};
	const struct store_run run = test_run();
	struct test_sample t;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct store_measured measured = run.measured;

		measured.counter[JOB_WATCHED][C_stall_ns] = cases[i].waits;
		measured.facts[JOB_WATCHED] = cases[i].reads;
		begin(f, &run, NULL);
		for (uint64_t n = 0; n < 2; n++) {
			test_sample(&t, n, 12);
			t.s.processes = &process;
			t.s.nr_processes = 1;
			ledger_apply(f->l, &t.s);
			assert_int_equal(store_write(f->st, f->l, &t.s, &f->err), 0);
		}
		end_ok(f, &(struct store_end){.measured = &measured});
		assert_int_equal(
			ask(db,
			    "SELECT (count(stall_ns) + count(stalls)) * 8 + count(rchar_bytes) + "
			    "count(syscr_calls) FROM process_interval JOIN interval ON id = "
			    "interval_id WHERE run_id = (SELECT max(id) FROM run)"),
			cases[i].known);
		ledger_free(f->l);
		f->l = NULL;
	}
}

static void test_full_width_values(void **state)
{
	static const struct sample_advice advice[] = {
		{.file = {.ino = UINT64_MAX, .dev = UINT32_MAX, .gen = UINT32_MAX},
		 .job = JOB_WATCHED,
		 .kind = ADVICE_DONTNEED,
		 .call = CALL_MADVISE,
		 .row = {.calls = 3, .begin_bytes = 4096, .end_bytes = ~0ULL, .pages_dropped = 7}},
		{.file = {.ino = UINT64_MAX, .dev = UINT32_MAX, .gen = UINT32_MAX},
		 .job = JOB_WATCHED,
		 .kind = ADVICE_WILLNEED,
		 .call = CALL_FADVISE,
		 .row = {.calls = 1, .begin_bytes = 4096, .end_bytes = 12288, .pages_asked = 2}},
		/* Known only from the state of the file: no call, no range. */
		{.file = {.ino = UINT64_MAX, .dev = UINT32_MAX, .gen = UINT32_MAX},
		 .job = JOB_WATCHED,
		 .kind = ADVICE_RANDOM,
		 .call = CALL_FADVISE,
		 .row = {.begin_bytes = ~0ULL}},
	};
	struct fixture *f = *state;
	const char *db = f->scratch.db;
	const struct store_run run = test_run();
	struct test_sample t;

	begin(f, &run, NULL);
	test_sample(&t, 0, 12);
	t.files[0].size_bytes = SAMPLE_SIZE_UNKNOWN;
	t.files[0].key = advice[0].file;
	t.files[0].path = "/a\n\xff\xfe/'\"\x01";
	t.files[0].deleted = true;
	t.files[0].c[C_read_bytes] = INT64_MAX;
	t.s.advice = advice;
	t.s.nr_advice = 3;
	ledger_apply(f->l, &t.s);
	if (store_write(f->st, f->l, &t.s, &f->err))
		fail_msg("%s", f->err.text);
	end_ok(f, &(struct store_end){0});
	assert_int_equal(ask(db,
			     "SELECT count(*) FROM file WHERE ino = -1 AND dev_major = 4095 "
			     "AND dev_minor = 1048575 AND gen = 4294967295 AND deleted = 1 AND "
			     "size_bytes IS NULL AND "
			     "path = x'2f610afffe2f272201' AND read_bytes = 9223372036854775807"),
			 1);
	assert_int_equal(ask(db, "SELECT count(*) FROM advice WHERE kind = 'dontneed' AND "
				 "call = 'madvise' AND calls = 3 AND offset_bytes = 4096 AND "
				 "length_bytes IS NULL AND pages_dropped = 7 AND "
				 "path = x'2f610afffe2f272201' AND ino = -1"),
			 1);
	assert_int_equal(ask(db, "SELECT length_bytes FROM advice WHERE kind = 'willneed'"), 8192);
	assert_int_equal(ask(db,
			     "SELECT count(*) FROM advice WHERE kind = 'random' AND calls IS NULL "
			     "AND offset_bytes IS NULL AND length_bytes IS NULL AND "
			     "pages_asked IS NULL"),
			 1);
}

/* Estimated figures are NULL in all sums and have their own rows; detail that was given up has
 * rows too. */
static void test_sliced(void **state)
{
	static const struct sample_shed shed[] = {{"traces", "dear", 5, 9},
						  {"per_read_hook", "dearer", 7, 0}};
	static const bool gone[C_NR] = {[C_lookups] = true, [C_delayed_hits] = true};
	static const double before[SLICE_FIGURES] = {[SLICE_LOOKUPS] = 100};
	static struct slices slices;
	struct fixture *f = *state;
	struct store_run run = test_run();
	const char *db = f->scratch.db;
	struct test_sample t;

	run.level = "auto";
	begin(f, &run, NULL);
	write_ok(f, 0, 12);
	assert_int_equal(ask(db, "SELECT sliced FROM run"), 0);
	assert_int_equal(ask(db, "SELECT count(*) FROM estimate"), 0);
	slices = (struct slices){0};
	slices_exact(&slices, before);
	store_measure_no_more(f->st, f->l, gone, "in slices");
	test_sample(&t, 1, 12);
	t.s.read_on_ns = SECOND_NS / 4;
	t.s.unsettled_error_pages = -2;
	t.s.slices = &slices;
	t.s.shed = shed;
	t.s.nr_shed = 2;
	t.s.cost.budget = 0.01;
	t.s.cost.share = 0.03;
	ledger_apply(f->l, &t.s);
	assert_int_equal(store_write(f->st, f->l, &t.s, &f->err), 0);
	assert_int_equal(ask(db, "SELECT sliced FROM run"), 1);
	assert_int_equal(ask(db, "SELECT read_on_ns FROM run"), 1250000000LL);
	assert_int_equal(ask(db, "SELECT law_error_pages FROM run"), 2);
	assert_int_equal(ask(db, "SELECT count(lookups) + count(delayed_hits) FROM job"), 0);
	assert_int_equal(ask(db, "SELECT count(lookups) + count(delayed_hits) FROM file"), 0);
	assert_int_equal(ask(db, "SELECT count(misses) > 0 FROM file"), 1);
	assert_int_equal(ask(db, "SELECT count(*) FROM unmeasured WHERE counter = 'lookups' AND "
				 "reason = 'in slices'"),
			 1);
	assert_int_equal(ask(db, "SELECT value = 100 AND low = 100 AND high = 100 FROM estimate "
				 "WHERE name = 'lookups'"),
			 1);
	assert_int_equal(ask(db, "SELECT count(*) FROM shed WHERE (detail = 'traces' AND "
				 "from_ns = 5 AND to_ns = 9) OR (detail = 'per_read_hook' AND "
				 "from_ns = 7 AND to_ns IS NULL)"),
			 2);
	assert_int_equal(ask(db, "SELECT cost_budget = 0.01 AND cost_budget_kept = 0 AND "
				 "abs(cost_over_budget_by - 0.02) < 1e-9 FROM run"),
			 1);
}

static void write_sample(struct fixture *f, struct test_sample *t)
{
	ledger_apply(f->l, &t->s);
	assert_int_equal(store_write(f->st, f->l, &t->s, &f->err), 0);
}

/* File rows of an interval may be left out; the sums of files and the rows of the job may not. */
static void test_no_file_rows(void **state)
{
	struct fixture *f = *state;
	const char *db = f->scratch.db;
	struct store_run run = test_run();
	struct test_sample t;

	begin(f, &run, NULL);
	for (unsigned int i = 0; i < 3; i++) {
		test_sample(&t, i, 12);
		t.s.no_file_rows = i == 1;
		write_sample(f, &t);
	}
	assert_int_equal(ask(db, "SELECT count(DISTINCT interval_id) FROM file_interval"), 2);
	/* Sums of directories exist for every interval, and include files without a row. */
	assert_int_equal(ask(db, "SELECT count(DISTINCT interval_id) FROM directory_interval"), 3);
	assert_int_equal(ask(db, "SELECT sum(misses) FROM directory_interval"), test_misses(3));
	assert_int_equal(ask(db, "SELECT count(*) FROM directory JOIN job ON job.id = job_id WHERE "
				 "slot = 1 AND directory.misses IS NOT (SELECT sum(misses) FROM "
				 "directory_interval WHERE directory_id = directory.id)"),
			 0);
	assert_int_equal(ask(db, "SELECT sum(i.misses) FROM job_interval AS i JOIN job ON "
				 "job.id = job_id WHERE slot = 1"),
			 test_misses(3));
	/* Two misses per interval are in files without a row. */
	assert_int_equal(ask(db, "SELECT sum(misses) FROM file"), test_misses(3) - 6);
	assert_int_equal(ask(db, "SELECT sum(misses) FROM file_interval"),
			 test_misses(1) + test_misses(3) - test_misses(2) - 4);
}

/* Sums of files may be late too: all of them are written with the next full interval. */
static void test_file_sums_wait(void **state)
{
	struct fixture *f = *state;
	const char *db = f->scratch.db;
	struct store_run run = test_run();
	struct test_sample t;

	begin(f, &run, NULL);
	for (unsigned int i = 0; i < 5; i++) {
		bool waits = i == 1 || i == 2 || i == 4;
		unsigned int seen = i == 4 ? 4 : waits ? 1 : i + 1;

		test_sample(&t, i, 12);
		t.s.no_file_rows = t.s.file_sums_wait = waits;
		write_sample(f, &t);
		assert_int_equal(ask(db, "SELECT misses FROM job WHERE slot = 1"),
				 test_misses(i + 1));
		assert_int_equal(ask(db, "SELECT sum(misses) FROM file"),
				 test_misses(seen) - 2 * (int64_t)seen);
	}
	end_ok(f, &(struct store_end){0});
	assert_true(adds_up(db));
	assert_int_equal(ask(db, "SELECT sum(misses) FROM file"), test_misses(5) - 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(test_round_trip),
		STORE_TEST(test_cgroup_of_the_job),
		STORE_TEST(test_not_measured_is_null_everywhere),
		STORE_TEST(test_identity_of_the_job),
		STORE_TEST(test_withdrawn_at_the_end),
		STORE_TEST(test_withdrawn_of_processes),
		STORE_TEST(test_full_width_values),
		STORE_TEST(test_sliced),
		STORE_TEST(test_no_file_rows),
		STORE_TEST(test_file_sums_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
