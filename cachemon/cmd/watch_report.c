/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/cmd/watch_report.h"

#include <errno.h>

#include "cachemon/base/escape.h"
#include "cachemon/base/progress_line.h"
#include "cachemon/cmd/rules.h"
#include "cachemon/report/run/report.h"

struct ended_run {
	const struct watch_options *o;
	const struct invoker *invoker;
	const char *db;
	int64_t run_id;
};

/* With a site's rules, as report and advise have them. What is wrong with these is said; the report
 * is there all the same, and the status is the command's. */
static int write_report(void *arg, struct errtext *err)
{
	const struct ended_run *run = arg;
	struct progress_show *progress = progress_show_begin();
	struct rule_dirs dirs = {0};
	size_t problems = 0;
	struct report_options options = {.db = run->db,
					 .run_id = run->run_id,
					 .files = REPORT_FILES_DEFAULT,
					 .rules = &dirs,
					 .out_path = run->o->report,
					 .on_problem = rules_print_problem,
					 .on_problem_arg = &problems,
					 .progress = progress_show_sink(progress)};
	int r = report_format_of_path(run->o->report, &options.format);

	if (!r)
		r = rules_of_environment(run->invoker, run->o->rules, &dirs, err);
	if (!r)
		r = report_show(&options, NULL, err);
	rule_dirs_free(&dirs);
	progress_show_end(progress);
	return r;
}

static int print_summary(void *arg, struct errtext *err)
{
	const struct ended_run *run = arg;

	return report_summary(run->db, run->run_id, stderr, err);
}

/* Whatever is read from the database is read with the rights of the invoker alone. */
int watch_report(const struct watch_options *o, const struct watch_run *run)
{
	struct ended_run ended = {o, watch_run_invoker(run), watch_run_db(run), watch_run_id(run)};
	struct errtext err = {""};
	char shown[512];
	int r = 0;

	if (invoker_run(ended.invoker, print_summary, &ended, &err)) {
		fprintf(stderr, "cachemon: no summary: %s\n", err.text);
		r = -EIO;
	}
	if (o->report && invoker_run(ended.invoker, write_report, &ended, &err)) {
		fprintf(stderr, "cachemon: no report: %s\n", err.text);
		r = -EIO;
	} else if (o->report) {
		escape_inert_to(shown, sizeof(shown), o->report);
		fprintf(stderr, "report: %s\n", shown);
	}
	return r;
}
