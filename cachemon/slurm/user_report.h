/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The report of a job that has ended, written as the job's user in the job's directory, by a
 * process that nobody waits for. Root opens nothing there and runs nothing of the user's.
 */
#ifndef USER_REPORT_H
#define USER_REPORT_H

#include <stdint.h>
#include <sys/types.h>

struct user_report {
	const char *program, *socket;
	uint32_t job;
	uid_t uid;
	gid_t gid;
	const char *directory, *node;
	void (*complain)(const char *format, ...) __attribute__((format(printf, 1, 2)));
};

/* Returns at once. 0 or -errno; later failures are only complained about. */
int user_report_start(const struct user_report *r);

#endif
