/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: report account access */
#include "fixtures/report/golden.h"

#include "cachemon/base/errtext.h"
#include "cachemon/report/runs/runs_report.h"

static const char *const contract_keys[] = {"schema",
					    "cachemon",
					    "run.id",
					    "run.host",
					    "run.kernel",
					    "run.arch",
					    "run.started",
					    "run.duration_s",
					    "run.level",
					    "run.page_size_bytes",
					    "run.memory_bytes",
					    "run.probes.0.role",
					    "run.probes.0.hook",
					    "run.probes.0.state",
					    "run.probes.0.reason",
					    "run.losses.untracked_pages",
					    "run.losses.ring_drops",
					    "run.losses.map_full",
					    "run.losses.intervals_lost",
					    "run.cost.probe_ns_per_lookup",
					    "run.cost.cpu_ns",
					    "run.cost.share_of_job_cpu",
					    "jobs.0.name",
					    "jobs.0.selector",
					    "jobs.0.processes",
					    "jobs.0.wall_ns",
					    "jobs.0.cpu_ns",
					    "jobs.0.files.0.path",
					    "jobs.0.files.0.dev",
					    "jobs.0.files.0.ino",
					    "jobs.0.files.0.fstype",
					    "jobs.0.files.0.size_bytes",
					    "jobs.0.files.0.pattern",
					    "jobs.0.files.4.path",
					    "jobs.0.files.4.dev",
					    "jobs.0.files.4.ino",
					    "jobs.0.directories.0.path",
					    "jobs.0.directories.0.files",
					    "jobs.0.directories.0.grades.overall",
					    "jobs.0.directories.0.grades.hits",
					    "jobs.0.directories.0.grades.prefetch",
					    "jobs.0.directories.0.grades.eviction",
					    "jobs.0.directories.0.grades.stall",
					    "jobs.0.advice.0.kind",
					    "jobs.0.advice.0.call",
					    "jobs.0.advice.0.path",
					    "jobs.0.advice.0.offset_bytes",
					    "jobs.0.advice.0.length_bytes",
					    "jobs.0.advice.0.calls",
					    "jobs.0.advice.0.pages_asked",
					    "jobs.0.advice.0.pages_brought",
					    "jobs.0.advice.0.pages_dropped",
					    "jobs.0.advice.0.verdict",
					    "jobs.0.grades.overall",
					    "jobs.0.grades.hits",
					    "jobs.0.grades.prefetch",
					    "jobs.0.grades.eviction",
					    "jobs.0.grades.stall",
					    "jobs.0.findings",
					    "jobs.1.other"};
static const char *const contract_totals[] = {"read_calls",
					      "read_bytes",
					      "lookups",
					      "hits",
					      "delayed_hits",
					      "misses",
					      "hit_ratio",
					      "demand_pages",
					      "prefetched_pages",
					      "written_pages",
					      "prefetch.origin.sync",
					      "prefetch.origin.async",
					      "prefetch.origin.willneed",
					      "prefetch.origin.readahead2",
					      "prefetch.origin.mmap_around",
					      "prefetch.fate.used",
					      "prefetch.fate.used_late",
					      "prefetch.fate.evicted_unused",
					      "prefetch.fate.resident_unused",
					      "prefetch.fate.untracked",
					      "prefetch.accuracy",
					      "prefetch.coverage",
					      "prefetch.timeliness",
					      "windows.sync",
					      "windows.async",
					      "windows.forced",
					      "windows.size_pages_log2",
					      "evicted_pages.reclaim_kswapd",
					      "evicted_pages.reclaim_direct",
					      "evicted_pages.reclaim_memcg",
					      "evicted_pages.dontneed",
					      "evicted_pages.drop_caches",
					      "evicted_pages.truncate",
					      "evicted_pages.direct_io",
					      "evicted_pages.other",
					      "refaults",
					      "refault_misses",
					      "faults.major",
					      "faults.minor",
					      "mapped_pages_upper_bound",
					      "direct_read_bytes",
					      "waste_bytes",
					      "stall_ns"};
static const char *const owners[] = {"jobs.0", "jobs.1", "jobs.0.files.0", "jobs.0.files.4",
				     "jobs.0.directories.2"};

/* Every key of the contract is present, whatever was measured. */
static void json_has_all_keys(void **state)
{
	cJSON *json = golden_json(*state);

	for (size_t i = 0; i < sizeof(contract_keys) / sizeof(contract_keys[0]); i++)
		if (!at(json, contract_keys[i]))
			fail_msg("no %s", contract_keys[i]);
	for (size_t i = 0; i < sizeof(owners) / sizeof(owners[0]); i++)
		for (size_t j = 0; j < sizeof(contract_totals) / sizeof(contract_totals[0]); j++) {
			char path[128];

			snprintf(path, sizeof(path), "%s.totals.%s", owners[i], contract_totals[j]);
			if (!at(json, path))
				fail_msg("no %s", path);
		}
	cJSON_Delete(json);
}

static void assert_number(const cJSON *json, const char *path, double want)
{
	const cJSON *item = at(json, path);

	if (!cJSON_IsNumber(item) || item->valuedouble != want)
		fail_msg("%s is %f, not %f", path, item ? item->valuedouble : -1, want);
}

static void assert_null_at(const cJSON *json, const char *path)
{
	if (!cJSON_IsNull(at(json, path)))
		fail_msg("%s is not null", path);
}

/* Bytes the tasks read minus the bytes counted; absent if either is, at least 0. */
static void json_outside_reads(void **state)
{
	struct fixture *f = *state;
	cJSON *json = golden_json(f);

	assert_number(json, "jobs.0.outside_read_bytes", 4194304 - 4096000);
	assert_true(cJSON_IsTrue(at(json, "jobs.0.outside_read_bytes_lower_bound")));
	assert_null_at(json, "jobs.1.outside_read_bytes");
	assert_null(at(json, "jobs.1.outside_read_bytes_lower_bound"));
	cJSON_Delete(json);
	fixture_sql(f, "UPDATE job SET direct_read_bytes = 90000 WHERE id = 1");
	json = golden_json(f);
	assert_number(json, "jobs.0.outside_read_bytes", 4194304 - 4096000 - 90000);
	cJSON_Delete(json);
	fixture_sql(f, "UPDATE job SET direct_read_bytes = 9000000 WHERE id = 1");
	json = golden_json(f);
	assert_number(json, "jobs.0.outside_read_bytes", 0);
	cJSON_Delete(json);
	fixture_sql(f, "UPDATE job SET read_bytes = NULL WHERE id = 1");
	json = golden_json(f);
	assert_null_at(json, "jobs.0.outside_read_bytes");
	cJSON_Delete(json);
	/* Tasks that were not counted read too: then it is not known. */
	fixture_sql(f, "UPDATE job SET read_bytes = 1, direct_read_bytes = 0 WHERE id = 1; "
		       "UPDATE run SET loss_state_drops = 1");
	json = golden_json(f);
	assert_null_at(json, "jobs.0.outside_read_bytes");
	cJSON_Delete(json);
}

static void json_filesystems(void **state)
{
	cJSON *json = golden_json(*state);

	assert_int_equal(cJSON_GetArraySize(at(json, "jobs.0.filesystems")), 3);
	assert_string_equal(at(json, "jobs.0.filesystems.0.type")->valuestring, "ext4");
	assert_string_equal(at(json, "jobs.0.filesystems.0.mount")->valuestring, "/data");
	assert_string_equal(at(json, "jobs.0.filesystems.0.dev")->valuestring, "259:2");
	assert_string_equal(at(json, "jobs.0.filesystems.0.seen")->valuestring, "exact");
	assert_number(json, "jobs.0.filesystems.0.totals.misses", 220);
	assert_null_at(json, "jobs.0.filesystems.1.mount");
	assert_null_at(json, "jobs.0.filesystems.2.dev");
	assert_int_equal(cJSON_GetArraySize(at(json, "jobs.1.filesystems")), 0);
	cJSON_Delete(json);
}

static void json_values(void **state)
{
	cJSON *json = golden_json(*state);
	const cJSON *sizes = at(json, "jobs.0.totals.windows.size_pages_log2");

	assert_number(json, "schema", 1);
	assert_string_equal(at(json, "run.started")->valuestring, "2026-09-21T14:13:20.123456789Z");
	assert_number(json, "run.duration_s", 4.200000001);
	assert_number(json, "run.losses.untracked_pages", 7);
	assert_number(json, "jobs.0.totals.hits", 750);
	assert_number(json, "jobs.0.totals.hit_ratio", 0.75);
	assert_number(json, "jobs.0.totals.prefetched_pages", 973);
	assert_number(json, "jobs.0.totals.waste_bytes", 23 * 4096);
	assert_number(json, "jobs.0.totals.prefetch.accuracy", 733.0 / 756);
	assert_number(json, "jobs.0.totals.prefetch.coverage", 733.0 / 983);
	assert_number(json, "jobs.0.totals.prefetch.timeliness", 702.0 / 733);
	assert_number(json, "jobs.0.law_error_pages", 0);
	assert_int_equal(cJSON_GetArraySize(sizes), 6);
	assert_number(sizes, "2", 1);
	assert_number(sizes, "5", 28);
	assert_null_at(json, "jobs.0.totals.faults.minor");
	assert_null_at(json, "jobs.0.files.0.totals.windows.size_pages_log2");
	assert_null(at(json, "jobs.0.totals.hits_estimated"));
	assert_null_at(json, "jobs.1.totals.hits");
	assert_null_at(json, "jobs.1.totals.prefetch.fate.used");
	assert_null_at(json, "jobs.1.totals.waste_bytes");
	assert_number(json, "jobs.1.totals.misses", 21);
	assert_int_equal(cJSON_GetArraySize(at(json, "jobs.1.files")), 0);
	assert_true(cJSON_IsTrue(at(json, "jobs.1.other")));
	assert_null(at(json, "jobs.0.other"));
	cJSON_Delete(json);
}

static void json_rows(void **state)
{
	struct fixture *f = *state;
	cJSON *json = NULL;

	/* A range that was never seen: an unsigned begin after its end. */
	fixture_sql(f, "UPDATE advice SET offset_bytes = -1, length_bytes = 1 WHERE kind = "
		       "'sequential'");
	json = golden_json(f);

	assert_int_equal(cJSON_GetArraySize(at(json, "jobs.0.files")), 5);
	assert_null(at(json, "jobs.0.files.0.deleted"));
	assert_true(cJSON_IsTrue(at(json, "jobs.0.files.1.deleted")));
	assert_string_equal(at(json, "jobs.0.files.1.path")->valuestring, "/data/train/old.idx");
	assert_string_equal(at(json, "jobs.0.files.0.dev")->valuestring, "259:2");
	assert_null_at(json, "jobs.0.files.2.path");
	assert_string_equal(at(json, "jobs.0.files.2.dev")->valuestring, "0:45");
	assert_null_at(json, "jobs.0.files.4.path");
	assert_null_at(json, "jobs.0.files.4.dev");
	assert_null_at(json, "jobs.0.files.4.ino");
	assert_null(at(json, "jobs.0.files.4.deleted"));
	assert_number(json, "jobs.0.files.4.totals.misses", 250 - 120 - 80 - 20);
	assert_true(cJSON_IsTrue(at(json, "jobs.0.directories.1.files_estimated")));
	assert_null(at(json, "jobs.0.directories.0.files_estimated"));
	assert_number(json, "jobs.0.advice.0.length_bytes", 0); /* to the end of the file */
	assert_true(cJSON_IsTrue(at(json, "jobs.0.advice.0.calls_lower_bound")));
	assert_number(json, "jobs.0.advice.1.length_bytes", 1048576);
	assert_null_at(json, "jobs.0.advice.2.offset_bytes");
	assert_null_at(json, "jobs.0.advice.2.length_bytes");
	assert_null_at(json, "jobs.0.advice.2.calls");
	cJSON_Delete(json);
}

/* To the last digit, in each format for programs. */
static void integers_are_exact(void **state)
{
	static const struct {
		enum report_format format;
		const char *calls, *inode, *inode2;
	} table[] = {
		{REPORT_JSON, "\"read_calls\": 9007199254740993,", "\"ino\": 18446744073709551615,",
		 "\"ino\": 9007199254740993,"},
		{REPORT_YAML, "read_calls: 9007199254740993\n", "ino: 18446744073709551615\n",
		 "ino: 9007199254740993\n"},
		{REPORT_CSV, ",9007199254740993,4096000,1000,", ",259:2,18446744073709551615,",
		 ",259:2,9007199254740993,"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char *text = golden_report(*state, table[i].format, 100);

		assert_non_null(strstr(text, table[i].calls));
		assert_non_null(strstr(text, table[i].inode));
		assert_non_null(strstr(text, table[i].inode2));
		free(text);
	}
}

static void estimates_are_marked(void **state)
{
	struct fixture *f = *state;
	cJSON *json = NULL;
	char *text = NULL;

	fixture_sql(f, "UPDATE run SET sliced = 1, read_on_ns = 2100000000, cost_budget = 0.01;"
		       "INSERT INTO estimate VALUES (1, 'lookups', 2050, 2000, 2100, NULL), "
		       "(1, 'hits', 1800, 1750, 1850, NULL), "
		       "(1, 'hit_ratio', 0.878, 0.875, 0.881, NULL), "
		       "(1, 'read_calls', 22, 21, 23, NULL), "
		       "(1, 'read_bytes', 8192000, 8000000, 8400000, NULL), "
		       "(1, 'delayed_hits', NULL, NULL, NULL, 'too wide')");
	json = golden_json(f);
	assert_number(json, "jobs.0.totals.hits", 1800);
	assert_number(json, "jobs.0.totals.lookups", 2050);
	assert_number(json, "jobs.0.totals.lookups_low", 2000);
	assert_number(json, "jobs.0.totals.lookups_high", 2100);
	assert_number(json, "jobs.0.totals.read_calls", 22);
	assert_number(json, "jobs.0.totals.read_bytes", 8192000);
	assert_number(json, "jobs.0.totals.hit_ratio", 0.878);
	assert_number(json, "jobs.0.totals.hit_ratio_low", 0.875);
	for (size_t i = 0; i < 5; i++) {
		static const char *const names[] = {"hits", "lookups", "read_calls", "read_bytes",
						    "hit_ratio"};
		char path[64];

		snprintf(path, sizeof(path), "jobs.0.totals.%s_estimated", names[i]);
		assert_true(cJSON_IsTrue(at(json, path)));
	}
	assert_null(at(json, "jobs.0.totals.misses_estimated"));
	assert_null(at(json, "jobs.0.totals.prefetched_pages_estimated"));
	assert_null(at(json, "jobs.0.totals.prefetch.fate.used_estimated"));
	/* Unknown is not estimated. */
	assert_null_at(json, "jobs.0.totals.delayed_hits");
	assert_null(at(json, "jobs.0.totals.delayed_hits_estimated"));
	assert_null_at(json, "jobs.0.files.0.totals.hits");
	assert_null(at(json, "jobs.0.files.0.totals.hits_estimated"));
	assert_true(cJSON_IsTrue(at(json, "run.sliced")));
	cJSON_Delete(json);
	for (int i = REPORT_TEXT; i <= REPORT_HTML; i++) {
		text = golden_report(f, i, 100);
		assert_non_null(strstr(text, i == REPORT_MARKDOWN ? "\\~2,050 (2,000 to 2,100)"
								  : "~2,050 (2,000 to 2,100)"));
		assert_non_null(strstr(text, "marks an estimate"));
		/* Waits are counted whether the hook is on or off. */
		assert_non_null(strstr(text, "164 ms"));
		assert_null(strstr(text, "~164 ms"));
		free(text);
	}
}

static void job_choice_leaves_out_the_rest(void **state)
{
	struct fixture *f = *state;
	struct report_options o = {
		.db = f->db, .run_id = 3, .job = "(others)", .format = REPORT_JSON, .files = 100};
	struct errtext err = {""};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	cJSON *json = NULL;

	assert_int_equal(report_show(&o, out, &err), 0);
	fclose(out);
	json = cJSON_Parse(text);
	assert_int_equal(cJSON_GetArraySize(at(json, "jobs")), 1);
	assert_string_equal(at(json, "jobs.0.name")->valuestring, "(others)");
	cJSON_Delete(json);
	free(text);
}

static void list_of_runs(void **state)
{
	struct fixture *f = *state;
	struct errtext err = {""};
	char *text = NULL;
	size_t size = 0;
	FILE *out = NULL;
	cJSON *json = NULL;

	setenv("TZ", "UTC", 1);
	fixture_sql(f, "UPDATE job SET name = 'tr\x1b[1m' WHERE id = 1");
	out = open_memstream(&text, &size);
	assert_int_equal(runs_show(&(struct runs_options){.db = f->db}, out, &err), 0);
	fclose(out);
	assert_non_null(strstr(text, ": 1 run, "));
	assert_non_null(strstr(text,
			       "\ntr\\x1b[1m on node-17: python3 train.py\n"
			       "    3  2026-09-21 14:13  4.20 s    2.2 %  75.0 %  -      -\n"));
	free(text);
	out = open_memstream(&text, &size);
	assert_int_equal(
		runs_show(&(struct runs_options){.db = f->db, .format = REPORT_JSON}, out, &err),
		0);
	fclose(out);
	json = cJSON_Parse(text);
	assert_number(json, "runs.0.id", 3);
	assert_number(json, "runs.0.jobs.0.hit_ratio", 0.75);
	assert_string_equal(at(json, "runs.0.state")->valuestring, "complete");
	assert_string_equal(at(json, "runs.0.jobs.0.name")->valuestring, "tr\x1b[1m");
	cJSON_Delete(json);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(json_has_all_keys, golden_begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(json_values, golden_begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(json_outside_reads, golden_begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(json_filesystems, golden_begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(json_rows, golden_begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(integers_are_exact, golden_begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(estimates_are_marked, golden_begin,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(job_choice_leaves_out_the_rest, golden_begin,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(list_of_runs, golden_begin, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
