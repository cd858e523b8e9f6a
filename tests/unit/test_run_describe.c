/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: run plan job store account db access */
/* The rows that a run begins with, as another program reads them. */
#include "plan_invent.h"

#include "cachemon/run/run_describe.h"
#include "test_store_util.h"

struct world {
	struct scratch scratch;
	struct kernel_caps caps;
	struct probe_plan plan;
	struct selector selector;
	struct run_facts facts;
};

static int setup(void **state)
{
	static const struct plan_request all = {LEVEL_FULL, true, true, true,
						true,	    true, true, true};
	static char *argv[] = {"cp", "a", "b", NULL};
	struct world *w = calloc(1, sizeof(*w));

	if (!w || selector_command(argv, &w->selector))
		return -1;
	w->scratch = scratch_make();
	invent(probe_table_own(), &w->caps);
	strcpy(w->caps.release, "6.1.0-test");
	strcpy(w->caps.arch, "x86_64");
	w->caps.page_size = 4096;
	w->caps.ram_bytes = 1ULL << 34;
	make(&w->caps, &all, &w->plan);
	w->facts = (struct run_facts){
		.caps = &w->caps,
		.plan = &w->plan,
		.level = LEVEL_AUTO,
		.started_ns = 1700000000ULL * SECOND_NS,
		.interval_ns = SECOND_NS,
		.map_bytes = 1 << 20,
		.selector = &w->selector,
		.uid = 0,
	};
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	selector_free(&w->selector);
	scratch_remove(&w->scratch);
	free(w);
	return 0;
}

static void begin(const struct world *w)
{
	const struct store_config c = {.path = w->scratch.db};
	struct run_description *d = run_describe(&w->facts);
	struct store *st = NULL;
	struct errtext err;

	assert_non_null(d);
	if (store_open(&c, &st, &err) || store_begin(st, &d->run, &err))
		fail_msg("%s", err.text);
	store_close(st);
	free(d);
}

#define ASK(w, sql) assert_int_equal(ask((w)->scratch.db, "SELECT " sql), 1)

static void test_machine_and_probes(void **state)
{
	struct world *w = *state;
	char sql[256];

	begin(w);
	ASK(w,
	    "kernel = '6.1.0-test' AND arch = 'x86_64' AND level = 'auto' AND "
	    "advice_mode = 'effects' AND interval_ns = 1000000000 AND page_size_bytes = 4096 AND "
	    "memory_bytes = 17179869184 AND map_bytes = 1048576 AND "
	    "started_ns = 1700000000000000000 FROM run");
	snprintf(sql, sizeof(sql), "SELECT count(*) = %d FROM probe", ROLE_NR);
	assert_int_equal(ask(w->scratch.db, sql), 1);
	ASK(w, "hook = 'tp_btf:mm_filemap_get_pages' AND state = 'live' AND reason IS NULL "
	       "FROM probe WHERE role = 'read'");
	ASK(w, "count(*) = 0 FROM unmeasured");
}

static void test_names_of_the_job(void **state)
{
	struct world *w = *state;

	begin(w);
	ASK(w, "job.name = 'cp' AND selector = 'command: cp a b' AND kind = 'command' AND uid = 0 "
	       "AND user = 'root' FROM job JOIN run ON run.id = run_id WHERE slot = 1");
	ASK(w, "name = '(others)' AND kind IS NULL AND uid IS NULL FROM job WHERE slot = 0");
	ASK(w, "count(*) = 0 FROM job_cgroup");
	ASK(w, "count(*) = 1 FROM reference_absent");
}

static void test_a_cgroup_that_limits_memory(void **state)
{
	struct world *w = *state;

	w->selector.cgroup.path = strdup("/job.slice/a");
	assert_non_null(w->selector.cgroup.path);
	w->facts.job = "train";
	w->facts.uid = -1;
	w->facts.limits_memory = true;
	w->facts.no_references = "no hook";
	begin(w);
	ASK(w, "job.name = 'train' AND uid IS NULL AND user IS NULL FROM job JOIN run ON "
	       "run.id = run_id WHERE slot = 1");
	ASK(w, "CAST(path AS TEXT) = '/job.slice/a' FROM job_cgroup");
	ASK(w, "reason = 'no hook' FROM reference_absent JOIN job ON job.id = job_id "
	       "WHERE slot = 1");
}

/* A hook that failed to attach after the plan was made. */
static void test_a_failed_hook(void **state)
{
	struct world *w = *state;

	probe_plan_mark_failed(&w->plan, w->plan.choices[ROLE_READ].program, -EPERM);
	begin(w);
	ASK(w, "state = 'failed' AND reason IS NOT NULL FROM probe WHERE role = 'read'");
	ASK(w, "length(reason) > 0 FROM unmeasured WHERE counter = 'lookups'");
	ASK(w, "count(*) = 0 FROM unmeasured WHERE counter = 'misses'");
}

#define RUN_TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RUN_TEST(test_machine_and_probes),
		RUN_TEST(test_names_of_the_job),
		RUN_TEST(test_a_cgroup_that_limits_memory),
		RUN_TEST(test_a_failed_hook),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
