/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The verbs: one function per verb, in its own file, with the verb as argv[0]. Each parses its
 * options, prints, and returns the exit status. Only they and report/ print. The table of a verb
 * has its options.
 */
#ifndef CMD_H
#define CMD_H

enum exit_status { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct errtext;
struct invoker;
struct rule_dirs;
struct verb_spec;
extern const struct verb_spec watch_spec, top_spec, report_spec, advise_spec, ask_spec,
	explain_spec, whatif_spec, compare_spec, runs_spec, doctor_spec, selftest_spec,
	complete_spec, mark_spec, daemon_spec, jobs_spec, merge_spec;

int cmd_watch(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_advise(int argc, char **argv);
int cmd_ask(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_runs(int argc, char **argv);
int cmd_whatif(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_selftest(int argc, char **argv);
int cmd_mark(int argc, char **argv);
int cmd_daemon(int argc, char **argv);
int cmd_jobs(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_complete(int argc, char **argv);

/* Prints a line to standard error, after the program's name. Foreign text is escaped. */
void cmd_say(const char *text);

/* Reports output errors, including those of the last flush. Returns the exit status. */
int cmd_finish(int status);

/* The default database: $CACHEMON_DB, else the user's own; free() it. 0, or -errno with a text. */
int cmd_default_db(const struct invoker *inv, char **ret_path, struct errtext *err);
/* Directories of a site's rules: /etc, the user's own, $CACHEMON_RULES, --rules (named; NULL:
 * not given). 0, or -ENOMEM with a text. Call rule_dirs_free(). */
int cmd_rules(const struct invoker *inv, const char *named, struct rule_dirs *ret,
	      struct errtext *err);
/* A report_options.on_problem: prints to stderr and counts in *(size_t *)arg. */
void cmd_print_rule_problem(void *arg, const char *problem);

#endif
