/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs other programs, among them cachemon's readers. Nothing is left when it returns. */
#ifndef BENCH_TOOL_H
#define BENCH_TOOL_H

struct cJSON;

/* Runs argv to its end and returns its exit status, < 0: not run. Its standard output goes to
 * *ret_out (malloc'ed, NUL-terminated) unless that is NULL. */
int tool_run(const char *const *argv, char **ret_out);

/* Parses the JSON that argv prints; exits if it fails or prints something else. */
struct cJSON *tool_json(const char *const *argv);

/* The number at a path of keys ("run", "cost", "cpu_ns", NULL); exits if there is none. */
double tool_number(const struct cJSON *json, const char *const *path);

#endif
