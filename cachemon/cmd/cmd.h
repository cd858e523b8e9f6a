/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The verbs: one function a verb, in a file of its own, with the verb as argv[0]. Each parses its
 * options, prints, and returns the exit status. They and report/ alone print. What a verb is called
 * with is in its table.
 */
#ifndef CMD_H
#define CMD_H

enum exit_status { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct verb_spec;
extern const struct verb_spec watch_spec, top_spec, report_spec, advise_spec, ask_spec,
	explain_spec, whatif_spec, compare_spec, runs_spec, doctor_spec, selftest_spec,
	complete_spec;

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
int cmd_complete(int argc, char **argv);

/* A line on standard error, after the program's name. What is foreign in it becomes inert. */
void cmd_say(const char *text);

/* Output that could not be written is a failure, also that of the last flush. Returns the status to
 * exit with. */
int cmd_finish(int status);

#endif
