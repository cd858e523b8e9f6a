/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: store account db access */
/* Which run is deleted or merged next, and its effect on a database that is written meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <cmocka.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cachemon/store/retention.h"
#include "test_store_util.h"

#define MINUTE_NS (60 * SECOND_NS)
#define HOUR_NS	  (3600 * SECOND_NS)
#define START_NS  (1700000000 * SECOND_NS)
#define NOW	  (START_NS + 100 * HOUR_NS)

static const struct retention_policy policy = {
	.age_ns = 10 * HOUR_NS,
	.size_bytes = 80 << 20,
	.minutes_ns = HOUR_NS,
	.quarters_ns = 5 * HOUR_NS,
};

static void test_choice(void **state)
{
	static const struct {
		struct retention_facts f;
		enum retention_act act;
		int64_t run;
	} rows[] = {
		{{.now_ns = NOW}, RETENTION_NOTHING, 0},
		/* at its age, and a moment before */
		{{.now_ns = NOW, .oldest = {7, NOW - 10 * HOUR_NS}}, RETENTION_DELETE, 7},
		{{.now_ns = NOW, .oldest = {7, NOW - 10 * HOUR_NS + 1}}, RETENTION_NOTHING, 0},
		/* seven eighths of the size */
		{{.now_ns = NOW, .used_bytes = (70 << 20) + 1, .oldest = {7, NOW}},
		 RETENTION_DELETE,
		 7},
		{{.now_ns = NOW, .used_bytes = 70 << 20, .oldest = {7, NOW}}, RETENTION_NOTHING, 0},
		/* too large, but no run has ended */
		{{.now_ns = NOW, .used_bytes = 1ULL << 40}, RETENTION_NOTHING, 0},
		/* a run that is partly deleted comes first */
		{{.now_ns = NOW, .deleting = 9, .oldest = {7, NOW - 99 * HOUR_NS}},
		 RETENTION_DELETE,
		 9},
		{{.now_ns = NOW, .minutes = {3, NOW - HOUR_NS}}, RETENTION_MINUTES, 3},
		{{.now_ns = NOW, .minutes = {3, NOW - HOUR_NS + 1}}, RETENTION_NOTHING, 0},
		{{.now_ns = NOW, .quarters = {3, NOW - 5 * HOUR_NS}}, RETENTION_QUARTERS, 3},
		{{.now_ns = NOW, .minutes = {4, NOW - HOUR_NS}, .quarters = {3, NOW - 4 * HOUR_NS}},
		 RETENTION_MINUTES,
		 4},
		/* deleting makes merging superfluous */
		{{.now_ns = NOW,
		  .oldest = {3, NOW - 11 * HOUR_NS},
		  .minutes = {3, NOW - 11 * HOUR_NS},
		  .quarters = {3, NOW - 11 * HOUR_NS}},
		 RETENTION_DELETE,
		 3},
		/* a user's commands, whatever their age */
		{{.now_ns = NOW, .oldest = {3, NOW}, .surplus = 5, .quarters = {3, START_NS}},
		 RETENTION_DELETE,
		 5},
		/* the clock was set back */
		{{.now_ns = NOW, .oldest = {7, NOW + HOUR_NS}, .minutes = {7, NOW + HOUR_NS}},
		 RETENTION_NOTHING,
		 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct retention_choice c = retention_choose(&policy, &rows[i].f);

		if (c.act != rows[i].act || c.run_id != rows[i].run)
			fail_msg("row %zu: %d of run %lld", i, c.act, (long long)c.run_id);
	}
}

static void test_clock(void **state)
{
	struct retention_clock c = {0};

	(void)state;
	assert_int_equal(retention_now(&c, NOW, 5), NOW);
	assert_int_equal(retention_now(&c, NOW + HOUR_NS, 5 + HOUR_NS), NOW + HOUR_NS);
	/* set forward by 1000 hours */
	assert_int_equal(retention_now(&c, NOW + 1002 * HOUR_NS, 5 + 2 * HOUR_NS),
			 NOW + 2 * HOUR_NS);
	/* and back again, by one hour more */
	assert_int_equal(retention_now(&c, NOW + 2 * HOUR_NS, 5 + 3 * HOUR_NS), NOW + 2 * HOUR_NS);
	assert_int_equal(retention_now(&c, NOW + 3 * HOUR_NS, 5 + 4 * HOUR_NS), NOW + 3 * HOUR_NS);
}

static void test_no_limits(void **state)
{
	const struct retention_policy none = {.minutes_ns = HOUR_NS, .quarters_ns = HOUR_NS};
	const struct retention_facts f = {
		.now_ns = NOW, .used_bytes = UINT64_MAX, .oldest = {1, START_NS}};

	assert_int_equal(retention_choose(&none, &f).act, RETENTION_NOTHING);
}

struct job {
	struct store *st;
	struct ledger *l;
	uint64_t n, length, started; /* in intervals */
};

enum { JOBS = 4, RUNS_MAX = 1000 };

struct node {
	struct scratch scratch;
	struct store *file;
	struct retention *retention;
	struct job jobs[JOBS];
	uint64_t step_ns;	  /* length of intervals */
	uint64_t now;		  /* in intervals */
	uint64_t ended[RUNS_MAX]; /* by id of the run; 0: not yet */
	struct errtext err;
};

static uint64_t now_ns(const struct node *n)
{
	return START_NS + n->now * n->step_ns;
}

static void ok(struct node *n, int ret)
{
	if (ret)
		fail_msg("%s", n->err.text);
}

static void open_node(struct node *n, const struct retention_policy *p)
{
	const struct store_config c = {.path = n->scratch.db};

	ok(n, store_open(&c, &n->file, &n->err));
	n->retention = retention_new(p);
	assert_non_null(n->retention);
}

static int setup(void **state)
{
	struct node *n = calloc(1, sizeof(*n));

	if (!n)
		return -1;
	srandom(5);
	n->scratch = scratch_make();
	n->step_ns = 10 * SECOND_NS;
	*state = n;
	return 0;
}

static void close_job(struct job *j)
{
	store_close(j->st);
	ledger_free(j->l);
	*j = (struct job){0};
}

static void end_job(struct node *n, struct job *j)
{
	int64_t id = store_run_id(j->st);

	assert_in_range(id, 1, RUNS_MAX - 1);
	n->ended[id] = now_ns(n);
	ok(n, store_end(j->st, j->l, &(struct store_end){0}, &n->err));
	close_job(j);
}

static int teardown(void **state)
{
	struct node *n = *state;

	for (int i = 0; i < JOBS; i++)
		close_job(&n->jobs[i]);
	store_close(n->file);
	retention_free(n->retention);
	scratch_remove(&n->scratch);
	free(n);
	return 0;
}

static void begin_job(struct node *n, struct job *j, uint64_t length)
{
	struct store_run run = test_run();

	run.started_ns = now_ns(n);
	run.interval_ns = n->step_ns;
	j->length = length;
	j->started = n->now;
	assert_int_equal(ledger_new(NULL, &j->l), 0);
	ok(n, store_open_beside(n->file, &j->st, &n->err));
	ok(n, store_begin(j->st, &run, &n->err));
}

static void end_at_once(struct node *n, const struct store_identity *identity)
{
	struct store_run run = test_run();
	struct job j = {.length = 1};

	run.started_ns = now_ns(n);
	run.jobs[JOB_WATCHED].identity = identity;
	assert_int_equal(ledger_new(NULL, &j.l), 0);
	ok(n, store_open_beside(n->file, &j.st, &n->err));
	ok(n, store_begin(j.st, &run, &n->err));
	end_job(n, &j);
	n->now++;
}

/* The newest commands of each user stay, and all other runs: root's commands too. */
static void test_commands(void **state)
{
	static const struct store_identity kinds[] = {
		{.kind = "command", .external_id = "7", .uid = 1000},
		{.kind = "command", .external_id = "7", .uid = 1001},
		{.kind = "command", .uid = 1000},
		{.kind = "slurm", .external_id = "7", .uid = 1000},
		{.kind = "command", .external_id = "7", .uid = 0},
	};
	static const int64_t kept[] = {RETENTION_COMMANDS, 3, 20, 20, 20};
	struct node *n = *state;
	char sql[256];

	open_node(n, &(struct retention_policy){.minutes_ns = HOUR_NS, .quarters_ns = HOUR_NS});
	for (int i = 0; i < 20; i++)
		for (int k = 0; k < 5; k++)
			if (k != 1 || i < 3)
				end_at_once(n, &kinds[k]);
	ok(n, retention_work(n->retention, n->file, now_ns(n), UINT64_MAX, &n->err));
	for (int k = 0; k < 5; k++) {
		snprintf(sql, sizeof(sql),
			 "SELECT count(*) FROM job WHERE slot = 1 AND kind = '%s' AND uid = %d AND "
			 "external_id IS %s",
			 kinds[k].kind, (int)kinds[k].uid, kinds[k].external_id ? "'7'" : "NULL");
		assert_int_equal(ask(n->scratch.db, sql), kept[k]);
	}
	assert_int_equal(ask(n->scratch.db,
			     "SELECT min(run_id) FROM job WHERE external_id = '7' AND "
			     "kind = 'command' AND uid = 1000"),
			 ask(n->scratch.db, "SELECT run_id FROM job WHERE external_id = '7' AND "
					    "kind = 'command' AND uid = 1000 ORDER BY run_id DESC "
					    "LIMIT 1 OFFSET 15"));
}

static void write_job(struct node *n, struct job *j, struct test_sample *t)
{
	test_sample(t, j->n, 20);
	t->s.start_ns = j->n++ * n->step_ns;
	t->s.duration_ns = t->s.read_on_ns = n->step_ns;
	ledger_apply(j->l, &t->s);
	ok(n, store_write(j->st, j->l, &t->s, &n->err));
}

/* An interval of all jobs, then those that have their length end. */
static void interval(struct node *n)
{
	struct test_sample t;

	store_batch_begin(n->file);
	for (int i = 0; i < JOBS; i++)
		if (n->jobs[i].st)
			write_job(n, &n->jobs[i], &t);
	ok(n, store_batch_end(n->file, &n->err));
	n->now++;
	for (int i = 0; i < JOBS; i++) {
		struct job *j = &n->jobs[i];

		if (!j->st || j->n < j->length)
			continue;
		end_job(n, j);
	}
}

/* One run of that many intervals. */
static void make_run(struct node *n, uint64_t length)
{
	begin_job(n, &n->jobs[0], length);
	while (n->jobs[0].st)
		interval(n);
}

static void work(struct node *n, uint64_t until_ns)
{
	ok(n, retention_work(n->retention, n->file, now_ns(n), until_ns, &n->err));
}

#define ALL  UINT64_MAX
#define ONCE 0 /* one piece */

/* Every run is whole: its sums, and a timeline that adds up to them. */
static void check_runs(const struct node *n)
{
	const char *db = n->scratch.db;

	assert_true(is_sound(db));
	assert_true(adds_up(db));
	assert_int_equal(ask(db,
			     "SELECT count(*) FROM job WHERE slot = 1 AND misses IS NOT (SELECT "
			     "sum(i.misses) FROM job_interval AS i WHERE job_id = job.id)"),
			 0);
	assert_int_equal(ask(db, "SELECT count(*) FROM run WHERE duration_ns IS NOT (SELECT "
				 "sum(i.duration_ns) FROM interval AS i WHERE run_id = run.id)"),
			 0);
}

static void test_merging_an_ended_run(void **state)
{
	struct node *n = *state;

	open_node(n, &policy);
	make_run(n, 360); /* an hour */
	work(n, ALL);
	/* The run itself merged its rows up to the last quarter of an hour. */
	assert_int_equal(ask(n->scratch.db, "SELECT count(*) FROM interval"), 45 + 90);
	n->now += 360;
	work(n, ALL);
	assert_int_equal(ask(n->scratch.db, "SELECT count(*) FROM interval"), 60);
	assert_int_equal(ask(n->scratch.db, "SELECT min(rolled) FROM interval"), 6);
	check_runs(n);
	n->now += 4 * 360;
	work(n, ALL);
	assert_int_equal(ask(n->scratch.db, "SELECT count(*) FROM interval"), 4);
	assert_int_equal(ask(n->scratch.db, "SELECT sum(rolled) FROM interval"), 360);
	check_runs(n);
	assert_int_equal(ask(n->scratch.db, "SELECT misses FROM job WHERE slot = 1"),
			 test_misses(360));
}

/* A program that begins again merges what is left, and nothing twice. */
static void test_merging_goes_on_after_a_restart(void **state)
{
	struct node *n = *state;

	open_node(n, &policy);
	make_run(n, 90);
	n->now += 360;
	work(n, ONCE);
	assert_in_range(ask(n->scratch.db, "SELECT count(*) FROM interval"), 16, 89);
	retention_free(n->retention);
	store_close(n->file);
	open_node(n, &policy);
	work(n, ALL);
	assert_int_equal(ask(n->scratch.db, "SELECT count(*) FROM interval"), 15);
	check_runs(n);
}

static void test_the_oldest_are_deleted(void **state)
{
	struct node *n = *state;

	open_node(n, &policy);
	for (int i = 0; i < 3; i++)
		make_run(n, 90);
	n->now += 10 * 360 - 90; /* the second one ended 10 hours ago */
	work(n, ALL);
	assert_int_equal(ask(n->scratch.db, "SELECT count(*) FROM run"), 1);
	assert_int_equal(ask(n->scratch.db, "SELECT id FROM run"), 3);
	check_runs(n);
	/* No table keeps a row of them. */
	assert_int_equal(ask(n->scratch.db, "SELECT count(*) FROM job"), 2);
	assert_int_equal(ask(n->scratch.db, "SELECT count(*) FROM file_interval WHERE file_id NOT "
					    "IN (SELECT id FROM file)"),
			 0);
}

/* Piece by piece, with a job that is written between two pieces. */
static void test_deleting_in_pieces(void **state)
{
	struct node *n = *state;
	int pieces = 0;

	open_node(n, &policy);
	make_run(n, 180);
	begin_job(n, &n->jobs[1], 1000000);
	n->now += 10 * 360;
	while (ask(n->scratch.db, "SELECT count(*) FROM run WHERE id = 1")) {
		int64_t rows = ask(n->scratch.db, "SELECT count(*) FROM interval WHERE run_id = 1");

		interval(n);
		work(n, ONCE);
		assert_in_range(
			ask(n->scratch.db, "SELECT count(*) FROM interval WHERE run_id = 1"),
			rows > 32 ? rows - 32 : 0, rows);
		assert_true(is_sound(n->scratch.db));
		pieces++;
	}
	assert_in_range(pieces, 3, 6);
	assert_int_equal(ask(n->scratch.db, "SELECT misses FROM job WHERE slot = 1"),
			 test_misses((uint64_t)pieces));
	check_runs(n);
}

/* Another program's lock: nothing waits, nothing is lost, and the next call succeeds. */
static void test_locked(void **state)
{
	struct node *n = *state;
	sqlite3 *other = NULL;

	open_node(n, &policy);
	make_run(n, 20);
	n->now += 10 * 360;
	assert_int_equal(sqlite3_open_v2(n->scratch.db, &other, SQLITE_OPEN_READWRITE, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(retention_work(n->retention, n->file, now_ns(n), ALL, &n->err), -EBUSY);
	assert_non_null(strstr(n->err.text, "cannot delete an old run from "));
	assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(other);
	check_runs(n);
	work(n, ALL);
	assert_int_equal(ask(n->scratch.db, "SELECT count(*) FROM run"), 0);
	/* The rows of a run that follows are still checked by the database. */
	make_run(n, 20);
	check_runs(n);
}

/* A reader that stays in a transaction sees the run that is deleted meanwhile. */
static void test_a_reader(void **state)
{
	struct node *n = *state;
	sqlite3 *reader = NULL;
	sqlite3_stmt *stmt = NULL;

	open_node(n, &policy);
	make_run(n, 60);
	n->now += 10 * 360;
	assert_int_equal(sqlite3_open_v2(n->scratch.db, &reader, SQLITE_OPEN_READWRITE, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM run", NULL, NULL, NULL),
			 SQLITE_OK);
	work(n, ALL);
	assert_int_equal(ask(n->scratch.db, "SELECT count(*) FROM run"), 0);
	assert_int_equal(
		sqlite3_prepare_v2(reader, "SELECT count(*) FROM interval", -1, &stmt, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int64(stmt, 0), 60);
	sqlite3_finalize(stmt);
	sqlite3_close(reader);
}

static int64_t file_bytes(const struct node *n)
{
	struct stat sb;

	assert_int_equal(stat(n->scratch.db, &sb), 0);
	return sb.st_size;
}

/* A day of jobs of 1 to 30 minutes, JOBS at once, with two pieces of work per interval. Returns the
 * size of the file in the middle. */
static int64_t churn(struct node *n, uint64_t intervals)
{
	const uint64_t minute = MINUTE_NS / n->step_ns;
	int64_t half = 0;

	for (uint64_t k = 0; k < intervals; k++) {
		for (int i = 0; i < JOBS; i++)
			if (!n->jobs[i].st)
				begin_job(n, &n->jobs[i],
					  minute + (uint64_t)random() % (29 * minute));
		interval(n);
		work(n, ONCE);
		work(n, ONCE);
		if (k == intervals / 2)
			half = file_bytes(n);
	}
	return half;
}

static void end_all(struct node *n)
{
	for (int i = 0; i < JOBS; i++)
		end_job(n, &n->jobs[i]);
}

/* No run was deleted that ended after one that is kept. */
static void check_order(const struct node *n)
{
	uint64_t oldest = UINT64_MAX;
	char sql[64];

	for (int pass = 0; pass < 2; pass++)
		for (int id = 1; id < RUNS_MAX && n->ended[id]; id++) {
			snprintf(sql, sizeof(sql), "SELECT count(*) FROM run WHERE id = %d", id);
			if (!ask(n->scratch.db, sql))
				assert_true(n->ended[id] <= oldest);
			else if (n->ended[id] < oldest)
				oldest = n->ended[id];
		}
}

enum { DAY = 1440 }; /* intervals of a minute */

static void test_a_day_by_age(void **state)
{
	const struct retention_policy hours = {
		.age_ns = 2 * HOUR_NS, .minutes_ns = 15 * MINUTE_NS, .quarters_ns = HOUR_NS};
	struct node *n = *state;
	char sql[256];
	int64_t half;

	n->step_ns = MINUTE_NS;
	open_node(n, &hours);
	half = churn(n, DAY);
	end_all(n);
	/* The last pieces of work may still be due. */
	snprintf(sql, sizeof(sql),
		 "SELECT count(*) FROM run WHERE started_ns + duration_ns < %lld - %lld",
		 (long long)now_ns(n), (long long)(2 * HOUR_NS + 5 * MINUTE_NS));
	assert_int_equal(ask(n->scratch.db, sql), 0);
	assert_true(ask(n->scratch.db, "SELECT max(id) FROM run") > 250);
	assert_in_range(ask(n->scratch.db, "SELECT count(*) FROM run"), 20, 80);
	check_runs(n);
	print_message("%lld runs in a day; the file: %lld bytes after 12 hours, %lld after 24\n",
		      (long long)ask(n->scratch.db, "SELECT max(id) FROM run"), (long long)half,
		      (long long)file_bytes(n));
	assert_true(file_bytes(n) <= half + half / 20);
}

static void test_a_day_by_size(void **state)
{
	const struct retention_policy small = {
		.size_bytes = 2 << 20, .minutes_ns = 15 * MINUTE_NS, .quarters_ns = 100 * HOUR_NS};
	struct node *n = *state;

	n->step_ns = MINUTE_NS;
	open_node(n, &small);
	churn(n, DAY);
	end_all(n);
	assert_true(file_bytes(n) <= 2 << 20);
	assert_true(file_bytes(n) > 1 << 20);
	check_order(n);
	check_runs(n);
	print_message("%lld of %lld runs are kept in %lld bytes\n",
		      (long long)ask(n->scratch.db, "SELECT count(*) FROM run"),
		      (long long)ask(n->scratch.db, "SELECT max(id) FROM run"),
		      (long long)file_bytes(n));
}

/* Killed at a random moment of deleting and merging. */
static void test_killed(void **state)
{
	const struct retention_policy hours = {
		.age_ns = HOUR_NS, .minutes_ns = 10 * MINUTE_NS, .quarters_ns = 30 * MINUTE_NS};
	struct node *n = *state;

	for (int round = 0; round < 5; round++) {
		int said[2];
		char byte;
		pid_t pid;

		assert_int_equal(pipe2(said, O_CLOEXEC), 0);
		pid = fork();
		if (!pid) {
			n->now = (uint64_t)round * 1000;
			open_node(n, &hours);
			churn(n, 200);
			if (write(said[1], "x", 1) != 1)
				_exit(1);
			churn(n, 100000);
			_exit(0);
		}
		close(said[1]);
		assert_int_equal(read(said[0], &byte, 1), 1);
		usleep((useconds_t)random() % 20000); /* a random moment */
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		close(said[0]);
		assert_true(is_sound(n->scratch.db));
		assert_true(adds_up(n->scratch.db));
	}
}

#define NODE_TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_choice),
		cmocka_unit_test(test_no_limits),
		cmocka_unit_test_setup_teardown(test_commands, setup, teardown),
		cmocka_unit_test(test_clock),
		NODE_TEST(test_merging_an_ended_run),
		NODE_TEST(test_merging_goes_on_after_a_restart),
		NODE_TEST(test_the_oldest_are_deleted),
		NODE_TEST(test_deleting_in_pieces),
		NODE_TEST(test_locked),
		NODE_TEST(test_a_reader),
		NODE_TEST(test_a_day_by_age),
		NODE_TEST(test_a_day_by_size),
		NODE_TEST(test_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
