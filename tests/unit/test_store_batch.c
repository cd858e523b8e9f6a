/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: store account db access */
/* Several runs in one database, in one transaction per interval. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <cmocka.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "test_store_util.h"

enum { RUNS = 4 };

struct job {
	struct store *st;
	struct ledger *l;
	struct test_sample sample;
	uint64_t written; /* intervals given to the store */
};

struct node {
	struct scratch scratch;
	struct store *file; /* no run */
	struct job jobs[RUNS];
	struct errtext err;
};

static void open_node(struct node *n)
{
	struct store_limits limits = store_limits_default();
	struct store_config c = {.path = n->scratch.db, .limits = &limits};

	limits.busy_ms = 20;
	if (store_open(&c, &n->file, &n->err))
		fail_msg("%s", n->err.text);
}

static int begin_job(struct node *n, int i)
{
	struct job *j = &n->jobs[i];
	struct store_run run = test_run();
	struct utsname uts;
	char name[16];

	uname(&uts);
	run.host = uts.nodename;
	snprintf(name, sizeof(name), "job%d", i);
	run.jobs[JOB_WATCHED].name = name;
	if (!j->st && store_open_beside(n->file, &j->st, &n->err))
		fail_msg("%s", n->err.text);
	if (!j->l)
		assert_int_equal(ledger_new(NULL, &j->l), 0);
	return store_begin(j->st, &run, &n->err);
}

static void begin_ok(struct node *n, int i)
{
	if (begin_job(n, i))
		fail_msg("%s", n->err.text);
}

static int write_job(struct node *n, int i)
{
	struct job *j = &n->jobs[i];

	test_sample(&j->sample, j->written++, 20 + (uint64_t)i);
	ledger_apply(j->l, &j->sample.s);
	return store_write(j->st, j->l, &j->sample.s, &n->err);
}

static void write_all(struct node *n, int nr)
{
	store_batch_begin(n->file);
	for (int i = 0; i < nr; i++)
		assert_int_equal(write_job(n, i), 0);
}

static void end_batch(struct node *n)
{
	if (store_batch_end(n->file, &n->err))
		fail_msg("%s", n->err.text);
}

static int end_job(struct node *n, int i)
{
	return store_end(n->jobs[i].st, n->jobs[i].l, &(struct store_end){0}, &n->err);
}

static void close_job(struct node *n, int i)
{
	store_close(n->jobs[i].st);
	ledger_free(n->jobs[i].l);
	n->jobs[i] = (struct job){0};
}

static int setup(void **state)
{
	struct node *n = calloc(1, sizeof(*n));

	if (!n)
		return -1;
	n->scratch = scratch_make();
	open_node(n);
	*state = n;
	return 0;
}

static int teardown(void **state)
{
	struct node *n = *state;

	for (int i = 0; i < RUNS; i++)
		close_job(n, i);
	store_close(n->file);
	assert_true(is_sound(n->scratch.db));
	assert_true(adds_up(n->scratch.db));
	scratch_remove(&n->scratch);
	free(n);
	return 0;
}

static int64_t ask_job(const struct node *n, int i, const char *what)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "SELECT %s FROM job JOIN run ON run.id = run_id WHERE slot = 1 AND name = 'job%d'",
		 what, i);
	return ask(n->scratch.db, sql);
}

#define TIMELINE  "(SELECT sum(i.misses) FROM job_interval AS i WHERE job_id = job.id)"
#define INTERVALS "(SELECT count(*) FROM interval WHERE interval.run_id = run.id)"

static void check_job(const struct node *n, int i, uint64_t intervals, uint64_t rows)
{
	assert_int_equal(ask_job(n, i, "misses"), test_misses(intervals));
	assert_int_equal(ask_job(n, i, INTERVALS), rows);
}

static void test_one_transaction(void **state)
{
	struct node *n = *state;

	store_batch_begin(n->file);
	for (int i = 0; i < RUNS; i++)
		begin_ok(n, i);
	assert_int_equal(ask(n->scratch.db, "SELECT count(*) FROM run"), 0);
	end_batch(n);
	assert_int_equal(ask(n->scratch.db, "SELECT count(*) FROM run WHERE state = 'open'"), RUNS);
	for (int k = 0; k < 10; k++) {
		write_all(n, RUNS);
		/* Another connection sees nothing of an interval before all of it. */
		assert_int_equal(ask(n->scratch.db, "SELECT count(*) FROM interval"), k * RUNS);
		end_batch(n);
		assert_int_equal(ask(n->scratch.db, "SELECT count(*) FROM interval"),
				 (k + 1) * RUNS);
	}
	store_batch_begin(n->file);
	for (int i = 0; i < RUNS; i++)
		assert_int_equal(end_job(n, i), 0);
	end_batch(n);
	assert_int_equal(ask(n->scratch.db, "SELECT count(*) FROM run WHERE state = 'complete'"),
			 RUNS);
	for (int i = 0; i < RUNS; i++) {
		check_job(n, i, 10, 10);
		assert_int_equal(ask_job(n, i, TIMELINE), test_misses(10));
	}
}

/* Between batches a run may also be written by itself. */
static void test_runs_come_and_go(void **state)
{
	struct node *n = *state;

	for (int i = 0; i < 3; i++)
		begin_ok(n, i);
	for (int k = 0; k < 3; k++) {
		write_all(n, 3);
		end_batch(n);
	}
	store_batch_begin(n->file);
	assert_int_equal(end_job(n, 1), 0);
	assert_int_equal(write_job(n, 0), 0);
	begin_ok(n, 3);
	assert_int_equal(write_job(n, 2), 0);
	end_batch(n);
	assert_int_equal(ask_job(n, 1, "state = 'complete'"), 1);
	check_job(n, 1, 3, 3);
	close_job(n, 1);
	assert_int_equal(write_job(n, 2), 0);
	store_batch_begin(n->file);
	assert_int_equal(write_job(n, 0), 0);
	assert_int_equal(write_job(n, 3), 0);
	end_batch(n);
	check_job(n, 0, 5, 5);
	check_job(n, 2, 5, 5);
	check_job(n, 3, 1, 1);
	assert_int_equal(ask(n->scratch.db, "SELECT count(*) FROM run WHERE state = 'open'"), 3);
}

static void test_a_run_that_is_closed_within(void **state)
{
	struct node *n = *state;

	begin_ok(n, 0);
	begin_ok(n, 1);
	write_all(n, 2);
	store_close(n->jobs[1].st);
	n->jobs[1].st = NULL;
	end_batch(n);
	check_job(n, 0, 1, 1);
	check_job(n, 1, 1, 1);
}

static void change(const struct node *n, const char *sql)
{
	sqlite3 *other = NULL;

	assert_int_equal(sqlite3_open_v2(n->scratch.db, &other, SQLITE_OPEN_READWRITE, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(other);
}

/* The database rejects further rows of one job: a real failure, of that run alone. */
static void refuse_job(const struct node *n, int i)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "CREATE UNIQUE INDEX refuse ON job_interval (job_id) WHERE job_id = %lld",
		 (long long)ask_job(n, i, "job.id"));
	change(n, sql);
}

static void test_one_run_fails(void **state)
{
	struct node *n = *state;

	for (int i = 0; i < 3; i++)
		begin_ok(n, i);
	write_all(n, 3);
	end_batch(n);
	refuse_job(n, 1);
	for (int k = 0; k < 2; k++) {
		store_batch_begin(n->file);
		assert_int_equal(write_job(n, 0), 0);
		assert_int_equal(write_job(n, 1), -EINVAL);
		assert_non_null(strstr(n->err.text, "UNIQUE constraint failed"));
		assert_int_equal(write_job(n, 2), 0);
		end_batch(n);
	}
	check_job(n, 0, 3, 3);
	check_job(n, 1, 1, 1);
	check_job(n, 2, 3, 3);
	change(n, "DROP INDEX refuse");
	write_all(n, 3);
	end_batch(n);
	/* The timeline lacks two intervals, and the sums nothing. */
	check_job(n, 1, 4, 2);
	assert_int_equal(ask_job(n, 1, "loss_intervals"), 2);
	assert_int_equal(ask_job(n, 0, "loss_intervals"), 0);
}

static void test_the_file_fails(void **state)
{
	struct node *n = *state;
	sqlite3 *other = NULL;

	begin_ok(n, 0);
	begin_ok(n, 1);
	write_all(n, 2);
	end_batch(n);
	assert_int_equal(sqlite3_open_v2(n->scratch.db, &other, SQLITE_OPEN_READWRITE, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	write_all(n, 2);
	begin_ok(n, 2);
	assert_int_equal(store_batch_end(n->file, &n->err), -EBUSY);
	assert_non_null(strstr(n->err.text, "cannot write the interval of all runs to "));
	assert_non_null(strstr(n->err.text, "another program has locked it. End that program's "
					    "transaction. The sums are kept"));
	assert_int_equal(store_run_id(n->jobs[2].st), 0);
	sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL);
	sqlite3_close(other);
	store_batch_begin(n->file);
	begin_ok(n, 2);
	assert_int_equal(write_job(n, 0), 0);
	assert_int_equal(write_job(n, 1), 0);
	end_batch(n);
	for (int i = 0; i < 2; i++) {
		check_job(n, i, 3, 2);
		assert_int_equal(ask_job(n, i, "loss_intervals"), 1);
	}
	assert_int_equal(ask(n->scratch.db, "SELECT count(*) FROM run"), 3);
	assert_int_equal(store_run_id(n->jobs[2].st), ask_job(n, 2, "run.id"));
}

/* The ledger could not know what of it was rolled back. */
static void test_a_run_only_once(void **state)
{
	struct node *n = *state;

	begin_ok(n, 0);
	begin_ok(n, 1);
	write_all(n, 2);
	assert_int_equal(write_job(n, 0), 0);
	assert_int_equal(store_batch_end(n->file, &n->err), -EINVAL);
	assert_non_null(strstr(n->err.text, "twice"));
	write_all(n, 2);
	end_batch(n);
	check_job(n, 0, 3, 1);
	check_job(n, 1, 2, 1);
}

static void write_batches(const char *db, int said)
{
	struct node n = {0};

	snprintf(n.scratch.db, sizeof(n.scratch.db), "%s", db);
	open_node(&n);
	for (int i = 0; i < RUNS; i++)
		if (begin_job(&n, i))
			_exit(3);
	for (;;) {
		store_batch_begin(n.file);
		for (int i = 0; i < RUNS; i++)
			if (write_job(&n, i))
				_exit(4);
		if (store_batch_end(n.file, &n.err))
			_exit(5);
		if (write(said, "x", 1) != 1)
			_exit(6);
	}
}

/* Every run has the same intervals: those that were confirmed, and at most one more. */
static void check_killed(const char *db, uint64_t seen)
{
	int64_t wrote = ask(db, "SELECT count(*) FROM interval WHERE run_id = "
				"(SELECT max(id) FROM run)");

	assert_in_range(wrote, seen, seen + 1);
	assert_int_equal(ask(db, "SELECT count(DISTINCT nr) FROM (SELECT count(*) AS nr FROM "
				 "interval JOIN run ON run.id = run_id WHERE state = 'open' "
				 "GROUP BY run_id)"),
			 1);
	assert_int_equal(ask(db, "SELECT count(*) FROM run JOIN job ON run_id = run.id WHERE "
				 "state = 'open' AND slot = 1 AND misses = " TIMELINE),
			 RUNS);
	assert_int_equal(ask(db, "SELECT misses FROM job WHERE slot = 1 ORDER BY id DESC"),
			 test_misses((uint64_t)wrote));
	assert_true(is_sound(db));
	assert_true(adds_up(db));
}

static void kill_once(const char *db, unsigned int round)
{
	const struct timespec moment = {.tv_nsec = random() % 5000 * 1000};
	uint64_t seen = 0;
	int said[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(said, O_CLOEXEC), 0);
	pid = fork();
	if (!pid)
		write_batches(db, said[1]);
	close(said[1]);
	while (seen < 1 + round && read(said[0], &byte, 1) == 1)
		seen++;
	nanosleep(&moment, NULL); /* a random moment of the next batch */
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	while (read(said[0], &byte, 1) == 1)
		seen++;
	close(said[0]);
	check_killed(db, seen);
}

static void test_killed(void **state)
{
	const char *times = getenv("KILLS");
	unsigned int kills = times ? (unsigned int)strtoul(times, NULL, 10) : 20;
	struct scratch scratch = scratch_make();

	srandom(11);
	for (unsigned int i = 0; i < kills; i++)
		kill_once(scratch.db, i);
	/* The writer after the first one marks its predecessor's runs. */
	assert_int_equal(ask(scratch.db, "SELECT count(*) FROM run WHERE state = 'cut'"),
			 (kills - 1) * RUNS);
	scratch_remove(&scratch);
}

#define BATCH_TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BATCH_TEST(test_one_transaction),
		BATCH_TEST(test_runs_come_and_go),
		BATCH_TEST(test_a_run_that_is_closed_within),
		BATCH_TEST(test_one_run_fails),
		BATCH_TEST(test_the_file_fails),
		BATCH_TEST(test_a_run_only_once),
		cmocka_unit_test(test_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
