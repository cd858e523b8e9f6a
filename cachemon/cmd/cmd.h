/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The verbs: one function a verb, in a file of its own, with the verb as argv[0]. Each parses its
 * options, prints, and returns the exit status. They and report/ alone print.
 */
#ifndef CMD_H
#define CMD_H

enum exit_status { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

int cmd_watch(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_advise(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_runs(int argc, char **argv);
int cmd_whatif(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_selftest(int argc, char **argv);
int cmd_whatif(int argc, char **argv);

#endif
