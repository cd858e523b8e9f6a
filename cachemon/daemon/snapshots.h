/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files of rows that users received and still have open. They are memory of the daemon, which a
 * user keeps by not closing them; and copying rows, or looking for a job among those of weeks,
 * keeps the daemon from sampling. Owns the limits of these, for each user and for all.
 */
#ifndef SNAPSHOTS_H
#define SNAPSHOTS_H

#include <stdint.h>
#include <sys/types.h>

#include "cachemon/base/errtext.h"

/*
 * Four are enough to compare runs. The bytes are checked before a copy, which may exceed them once;
 * a copy has less than 128 MiB (db/db_open.h limits the memory). Copying uses a CPU for at most a
 * twentieth of the time for each user and a quarter for all, and so does reading.
 */
enum {
	SNAPSHOTS_OF_USER = 4,
	SNAPSHOTS_MAX = 64,
	SNAPSHOTS_USER_MB = 128,
	SNAPSHOTS_ALL_MB = 512,
	SNAPSHOTS_USER_SHARE = 20,
	SNAPSHOTS_ALL_SHARE = 4,
};

struct snapshots;

/* 0, or -errno with a text. */
int snapshots_new(struct snapshots **ret, struct errtext *err);
void snapshots_free(struct snapshots *s);

/* Whether the user may receive another one: 0, or -EBUSY with a text. *ret_retry_s: the seconds
 * after which that is known to be possible; 0: unknown. */
int snapshots_check(struct snapshots *s, uid_t uid, uint64_t now_ns, uint64_t *ret_retry_s,
		    struct errtext *err);
/* The same for a request that only reads the database, and the CPU time of one. */
int snapshots_check_read(struct snapshots *s, uid_t uid, uint64_t now_ns, uint64_t *ret_retry_s,
			 struct errtext *err);
void snapshots_pay_read(struct snapshots *s, uid_t uid, uint64_t cpu_ns, uint64_t now_ns);
/* The CPU time of a copy, whether it succeeded or not. */
void snapshots_pay(struct snapshots *s, uid_t uid, uint64_t cpu_ns, uint64_t now_ns);
/* Takes file, even after a failure. *ret_fd: for the user. 0 or -errno. */
int snapshots_add(struct snapshots *s, uid_t uid, int file, int *ret_fd);

#endif
