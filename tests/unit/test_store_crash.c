/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: store account db access */
/* Writers that are killed, and writers that share a database. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <cmocka.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "test_store_util.h"

static struct store_limits quick_rollup(void)
{
	struct store_limits limits = store_limits_default();

	limits.full_ns = 20 * SECOND_NS;
	limits.minute_ns = 5 * SECOND_NS;
	limits.keep_ns = 60 * SECOND_NS;
	limits.quarter_ns = 20 * SECOND_NS;
	return limits;
}

static struct store *open_run(const char *db, struct ledger **ret_ledger)
{
	const struct store_limits limits = quick_rollup();
	const struct store_config c = {.path = db, .limits = &limits};
	struct store_run run = test_run();
	struct utsname uts;
	struct store *st = NULL;
	struct errtext err;

	uname(&uts);
	run.host = uts.nodename;
	if (ledger_new(NULL, ret_ledger) || store_open(&c, &st, &err) ||
	    store_begin(st, &run, &err)) {
		fprintf(stderr, "%s\n", err.text);
		_exit(3);
	}
	return st;
}

/* Writes intervals, and confirms each with one byte after it was written. */
static void write_intervals(const char *db, uint64_t nr, int said)
{
	struct errtext err;
	struct test_sample t;
	struct ledger *l;
	struct store *st = open_run(db, &l);

	for (uint64_t n = 0; n < nr; n++) {
		test_sample(&t, n, 100);
		ledger_apply(l, &t.s);
		if (store_write(st, l, &t.s, &err)) {
			fprintf(stderr, "%s\n", err.text);
			_exit(4);
		}
		if (said >= 0 && write(said, "x", 1) != 1)
			_exit(5);
	}
	if (store_end(st, l, &(struct store_end){0}, &err)) {
		fprintf(stderr, "%s\n", err.text);
		_exit(6);
	}
	store_close(st);
	ledger_free(l);
}

/* Waits for that many intervals, then for a random moment in the next ones. */
static uint64_t wait_for(int said, uint64_t nr, unsigned int microseconds)
{
	const struct timespec moment = {.tv_nsec = microseconds * 1000L};
	uint64_t seen = 0;
	char byte;

	while (seen < nr && read(said, &byte, 1) == 1)
		seen++;
	nanosleep(&moment, NULL);
	return seen;
}

static void kill_once(const struct scratch *scratch, unsigned int round)
{
	const char *db = scratch->db;
	char sql[256];
	uint64_t seen;
	int64_t wrote;
	int64_t run;
	int said[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(said, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		write_intervals(db, 1000000, said[1]);
		_exit(0);
	}
	close(said[1]);
	seen = wait_for(said[0], 1 + round % 60, (unsigned int)random() % 3000);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	while (read(said[0], &byte, 1) == 1)
		seen++;
	close(said[0]);
	assert_true(is_sound(db));
	assert_true(adds_up(db));
	run = ask(db, "SELECT max(id) FROM run");
	snprintf(sql, sizeof(sql), "SELECT sum(rolled) FROM interval WHERE run_id = %lld",
		 (long long)run);
	wrote = ask(db, sql);
	/* All confirmed intervals exist, and at most one more that was not yet confirmed. */
	assert_in_range(wrote, seen, seen + 1);
	snprintf(sql, sizeof(sql), "SELECT misses FROM job WHERE slot = 1 AND run_id = %lld",
		 (long long)run);
	assert_int_equal(ask(db, sql), test_misses((uint64_t)wrote));
	snprintf(sql, sizeof(sql),
		 "SELECT sum(i.misses) FROM job_interval AS i JOIN job ON job.id = job_id "
		 "WHERE slot = 1 AND run_id = %lld",
		 (long long)run);
	assert_int_equal(ask(db, sql), test_misses((uint64_t)wrote));
}

/* Each writer except the first opens the database that its predecessor left. */
static void test_killed_writers(void **state)
{
	const char *times = getenv("KILLS");
	unsigned int kills = times ? (unsigned int)strtoul(times, NULL, 10) : 60;
	struct scratch scratch;

	scratch = scratch_make();
	srandom(7);
	for (unsigned int i = 0; i < kills; i++)
		kill_once(&scratch, i);
	assert_int_equal(ask(scratch.db, "SELECT count(*) FROM run WHERE state = 'open'"), 1);
	assert_int_equal(ask(scratch.db, "SELECT count(*) FROM run WHERE state = 'cut'"),
			 kills - 1);
	print_message("%u writers killed\n", kills);
	scratch_remove(&scratch);
}

/* The number of runs that opening the store marked as cut. */
static int64_t cut_by_opening(const char *db)
{
	struct store_config c = {.path = db};
	struct errtext err;
	struct store *st;

	assert_int_equal(store_open(&c, &st, &err), 0);
	store_close(st);
	return ask(db, "SELECT count(*) FROM run WHERE state = 'cut'");
}

static void test_cut_runs_are_known(void **state)
{
	struct scratch scratch;
	struct ledger *l;
	struct store *alive;
	pid_t pid;

	scratch = scratch_make();
	alive = open_run(scratch.db, &l);
	pid = fork();
	if (!pid) {
		struct ledger *mine;

		open_run(scratch.db, &mine);
		raise(SIGKILL);
	}
	waitpid(pid, NULL, 0);
	assert_int_equal(cut_by_opening(scratch.db), 1);
	/* The run of a live writer is unchanged, and a cut run is reported once. */
	assert_int_equal(
		ask(scratch.db, "SELECT count(*) FROM run WHERE state = 'open' AND id = 1"), 1);
	assert_int_equal(cut_by_opening(scratch.db), 1);
	/* The writer's pid exists, but as another process. */
	assert_int_equal(ask(scratch.db, "UPDATE run SET writer_start_ticks = writer_start_ticks - "
					 "1 WHERE id = 1 RETURNING id"),
			 1);
	assert_int_equal(cut_by_opening(scratch.db), 2);
	/* From another boot of this machine: gone. From another machine: unknown. */
	assert_int_equal(ask(scratch.db,
			     "UPDATE run SET state = 'open', writer_boot = 'x' || writer_boot, "
			     "host = iif(id = 2, 'far', host) RETURNING id"),
			 1);
	assert_int_equal(cut_by_opening(scratch.db), 1);
	assert_int_equal(ask(scratch.db, "SELECT id FROM run WHERE state = 'open'"), 2);
	/* The writer's pid is from another namespace. */
	assert_int_equal(ask(scratch.db, "UPDATE run SET state = 'open', writer_pidns = 1, "
					 "writer_boot = substr(writer_boot, 2) "
					 "WHERE id = 1 RETURNING id"),
			 1);
	assert_int_equal(cut_by_opening(scratch.db), 0);
	store_close(alive);
	ledger_free(l);
	scratch_remove(&scratch);
}

static void test_two_writers(void **state)
{
	enum { WRITERS = 3, INTERVALS = 150 };
	struct scratch scratch;
	pid_t pids[WRITERS];

	scratch = scratch_make();
	for (int i = 0; i < WRITERS; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			write_intervals(scratch.db, INTERVALS, -1);
			_exit(0);
		}
	}
	for (int i = 0; i < WRITERS; i++) {
		int status;

		waitpid(pids[i], &status, 0);
		assert_int_equal(status, 0);
	}
	assert_true(is_sound(scratch.db));
	assert_true(adds_up(scratch.db));
	assert_int_equal(ask(scratch.db, "SELECT count(*) FROM run JOIN job ON run_id = run.id "
					 "WHERE state = 'complete' AND loss_intervals = 0 AND "
					 "slot = 1 AND misses = (SELECT sum(i.misses) FROM "
					 "job_interval AS i WHERE job_id = job.id)"),
			 WRITERS);
	assert_int_equal(ask(scratch.db, "SELECT count(*) FROM (SELECT sum(rolled) AS n FROM "
					 "interval GROUP BY run_id) WHERE n = 150"),
			 WRITERS);
	assert_int_equal(ask(scratch.db, "SELECT misses FROM job WHERE slot = 1"),
			 test_misses(INTERVALS));
	scratch_remove(&scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_killed_writers),
		cmocka_unit_test(test_cut_runs_are_known),
		cmocka_unit_test(test_two_writers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
