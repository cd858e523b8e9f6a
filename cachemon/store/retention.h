/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the database of a node within its policy while it is written: deletes ended runs that are
 * too old, or the oldest while the database is too large, and merges the rows of ended runs. The
 * decision is pure. The work is cut into pieces, each a short transaction, so that intervals of
 * running jobs never wait for long.
 */
#ifndef RETENTION_H
#define RETENTION_H

#include <stdint.h>

struct errtext;
struct store;

/*
 * The time by which ages are judged. A clock that is set forward makes no run older; if it is set
 * back, the time is that of the clock, because runs begin by it. All zero: not yet used.
 */
struct retention_clock {
	uint64_t now_ns, at_ns; /* CLOCK_REALTIME, or less; CLOCK_MONOTONIC */
};

uint64_t retention_now(struct retention_clock *c, uint64_t realtime_ns, uint64_t monotonic_ns);

struct retention_policy {
	uint64_t age_ns, size_bytes;	  /* 0: no limit */
	uint64_t minutes_ns, quarters_ns; /* the age at which rows of an ended run are merged */
};

/* Users choose how many of their commands a daemon counts, so no number of them may take the room
 * of other runs; and they have the rows already. */
enum { RETENTION_COMMANDS = 16 };

enum retention_act {
	RETENTION_NOTHING,
	RETENTION_DELETE,
	RETENTION_MINUTES, /* merge to rows of a minute */
	RETENTION_QUARTERS,
};

/* A run that has ended; id 0: no such run. */
struct retention_run {
	int64_t id;
	uint64_t ended_ns; /* CLOCK_REALTIME, as all times here */
};

struct retention_facts {
	uint64_t now_ns;
	uint64_t used_bytes;	     /* pages of the database that hold rows */
	int64_t deleting;	     /* a run that is partly deleted; 0: none */
	struct retention_run oldest; /* ended first */
	int64_t surplus; /* a user's command with RETENTION_COMMANDS newer ones; 0: none */
	struct retention_run minutes;  /* the first that is not merged to minutes */
	struct retention_run quarters; /* to quarters of an hour */
};

struct retention_choice {
	enum retention_act act;
	int64_t run_id;
};

struct retention_choice retention_choose(const struct retention_policy *p,
					 const struct retention_facts *f);

struct retention;

/* NULL: no memory. */
struct retention *retention_new(const struct retention_policy *p);
void retention_free(struct retention *r);
/* Rows that were merged stay so. */
void retention_change(struct retention *r, const struct retention_policy *p);

/*
 * Works piece by piece until nothing is left to do or until_ns (CLOCK_MONOTONIC) has passed, but
 * does one piece at least. now_ns: the time to judge ages by. Not during a batch. 0, or -errno with
 * a text: the piece was rolled back, and the next call tries it again.
 */
int retention_work(struct retention *r, struct store *any, uint64_t now_ns, uint64_t until_ns,
		   struct errtext *err);

#endif
