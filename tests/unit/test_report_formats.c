/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: report account access */
#include "fixtures/golden_files.h"
#include "fixtures/report/golden.h"

static void golden(void **state)
{
	for (int i = 0; i < REPORT_FORMAT_NR; i++) {
		char *text = golden_report(*state, i, 2);

		golden_compare("report", i, text);
		free(text);
	}
}

static void text_fits_a_terminal(void **state)
{
	struct fixture *f = *state;
	char *text = NULL;

	fixture_sql(f, "UPDATE file SET path = CAST('/data/' || hex(zeroblob(300)) AS BLOB) "
		       "WHERE id = 1; UPDATE job SET name = hex(zeroblob(100)), misses = "
		       "9223372036854775807, lookups = 9223372036854775807; UPDATE file SET misses "
		       "= 4611686018427387904 WHERE id = 2; UPDATE probe SET reason = "
		       "hex(zeroblob(200))");
	text = golden_report(f, REPORT_TEXT, 100);
	for (const char *line = text; *line;) {
		size_t chars = 0;

		for (; *line && *line != '\n'; line++)
			chars += (*line & 0xc0) != 0x80;
		assert_in_range(chars, 0, 80);
		line += *line == '\n';
	}
	assert_non_null(strstr(text, "9,223,372,036,854,775,807"));
	free(text);
}

static void idle_files_are_counted(void **state)
{
	char *text = golden_report(*state, REPORT_TEXT, 100);

	assert_null(strstr(text, "/data/train/idle"));
	assert_non_null(strstr(text, "Not listed: 1 file of which no page"));
	free(text);
}

static void full_device_is_an_error(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < REPORT_FORMAT_NR; i++) {
		struct report_options o = {.db = f->db, .run_id = 3, .format = i, .files = 100};
		struct errtext err = {""};
		FILE *out = fopen("/dev/full", "w");

		assert_non_null(out);
		assert_true(report_show(&o, out, &err) < 0);
		assert_non_null(strstr(err.text, "cannot write"));
		fclose(out);
	}
}

static void what_no_interval_measured_has_no_peak(void **state)
{
	struct fixture *f = *state;
	char *text = NULL;

	fixture_sql(f, "UPDATE interval SET read_on_ns = 0; UPDATE run SET sliced = 1");
	text = golden_report(f, REPORT_TEXT, 2);
	assert_non_null(strstr(text, "?  not measured\n"));
	free(text);
	text = golden_report(f, REPORT_HTML, 2);
	assert_non_null(strstr(text, "hits <i>not measured</i>"));
	free(text);
}

static void lines_break_between_words(void **state)
{
	struct fixture *f = *state;
	char *text = NULL;

	fixture_sql(f, "UPDATE job SET selector = 'command: sh -c ' || "
		       "'cat /data/first/of/all /data/second/of/all >/dev/null' WHERE id = 1");
	text = golden_report(f, REPORT_TEXT, 2);
	assert_non_null(strstr(text, "Selected by command: sh -c cat /data/first/of/all "
				     "/data/second/of/all\n>/dev/null. 5 processes"));
	free(text);
}

static void one_is_singular(void **state)
{
	struct fixture *f = *state;
	char *text = NULL;

	fixture_sql(f, "UPDATE job SET processes = 1, read_calls = 1, misses = 1, stalls = 1, "
		       "stall_ns = 0");
	text = golden_screen(f, 3);
	assert_non_null(strstr(text, ", 1 process ("));
	assert_non_null(strstr(text, "missed 1 page ("));
	free(text);
}

static void expect(struct fixture *f, enum report_format format, const char *there)
{
	char *text = golden_report(f, format, 2);

	assert_non_null(strstr(text, there));
	free(text);
}

/* Each format has the names of a Slurm job as in the database. The name comes from its user. */
static void a_slurm_job_has_its_names(void **state)
{
	struct fixture *f = *state;

	expect(f, REPORT_JSON, "\"kind\": null");
	fixture_sql(f, "UPDATE job SET kind = 'slurm', external_id = '4711', uid = 1000, "
		       "step = 'batch', job_name = 'a' || char(27) || '<b>', partition = 'gpu', "
		       "selector = 'slurm: 4711.batch, cgroup: /x, uid: 1000' WHERE id = 1");
	expect(f, REPORT_TEXT,
	       "\njob      a\\x1b<b> (Slurm job 4711, step batch, partition gpu)\n");
	expect(f, REPORT_MARKDOWN, "(Slurm job 4711, step batch, partition gpu)");
	expect(f, REPORT_HTML, "a\\x1b&lt;b&gt; (Slurm job 4711, step batch, partition gpu)");
	expect(f, REPORT_JSON, "\"kind\": \"slurm\"");
	expect(f, REPORT_JSON, "\"external_id\": \"4711\"");
	expect(f, REPORT_JSON, "\"uid\": 1000");
	expect(f, REPORT_JSON, "\"step\": \"batch\"");
	expect(f, REPORT_JSON, "\"job_name\": \"a\\u001b<b>\"");
	expect(f, REPORT_YAML, "partition: \"gpu\"");
	/* Known only where the environment was readable. */
	fixture_sql(f, "UPDATE job SET job_name = NULL, partition = NULL, step = NULL");
	expect(f, REPORT_TEXT, "\njob      Slurm job 4711\n");
	expect(f, REPORT_JSON, "\"partition\": null");
}

/* In an older run, without some of them, of a job that did not sleep, and unmeasured. */
static void lengths_of_waits_may_be_absent(void **state)
{
	struct fixture *f = *state;

	fixture_sql(f, "DELETE FROM wait_histogram WHERE from_ns = 1048576");
	expect(f, REPORT_TEXT, "The lengths of waits are not known: the lengths of some waits");
	fixture_sql(f, "DELETE FROM wait_histogram");
	expect(f, REPORT_TEXT, "The lengths of waits are not known: an older version");
	expect(f, REPORT_JSON, "\"wait_histogram\": null");
	fixture_sql(f, "UPDATE job SET stalls = 0 WHERE slot = 1");
	expect(f, REPORT_TEXT, "No task slept for the page cache.\n");
	expect(f, REPORT_JSON, "\"wait_histogram\": []");
	fixture_sql(f, "UPDATE job SET stalls = NULL, stall_ns = NULL; "
		       "INSERT INTO wait_histogram VALUES (1, 0, 2048, 1)");
	expect(f, REPORT_JSON, "\"wait_histogram_absent\": \"waits were not measured\"");
}

/* The picture has the mark of the sentence above it, in each format. */
static void lengths_of_waits_may_be_a_lower_bound(void **state)
{
	struct fixture *f = *state;
	cJSON *json;

	expect(f, REPORT_TEXT,
	       "\n\nLengths of waits\nlength of a wait  waits\n1.05 ms              20  #");
	fixture_sql(f, "UPDATE run SET loss_state_drops = 1");
	expect(f, REPORT_TEXT, "Tasks slept for the page cache >=35 times");
	expect(f, REPORT_TEXT,
	       "\n\nLengths of waits\nlength of a wait  waits\n1.05 ms            >=20  #");
	expect(f, REPORT_MARKDOWN, "\n| 1.05 ms | &gt;=20 |");
	expect(f, REPORT_HTML, "1.05 ms</th><td class=\"r\">&gt;=20</td>");
	/* Programs have it for all counts of the job. */
	json = golden_json(f);
	assert_true(cJSON_IsTrue(at(json, "jobs.0.lower_bound")));
	cJSON_Delete(json);
}

static void lengths_of_a_files_waits_may_be_absent(void **state)
{
	struct fixture *f = *state;

	fixture_sql(f, "DELETE FROM file_wait WHERE from_ns = 1048576");
	expect(f, REPORT_TEXT,
	       "Lengths of waits for /data/train/part-0.tar: not known, because the "
	       "lengths of");
	fixture_sql(f, "UPDATE device SET reads = NULL, read_ms = NULL");
	expect(f, REPORT_TEXT, "The read times of the devices are not known");
	expect(f, REPORT_JSON, "\"device\": null");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(golden, golden_begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(text_fits_a_terminal, golden_begin,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(idle_files_are_counted, golden_begin,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(full_device_is_an_error, golden_begin,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(what_no_interval_measured_has_no_peak, golden_begin,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(lines_break_between_words, golden_begin,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(a_slurm_job_has_its_names, golden_begin,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(lengths_of_waits_may_be_absent, golden_begin,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(lengths_of_waits_may_be_a_lower_bound, golden_begin,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(lengths_of_a_files_waits_may_be_absent,
						golden_begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(one_is_singular, golden_begin, fixture_teardown),
	};

	setenv("LC_ALL", "C.UTF-8", 1); /* text follows the locale */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
