/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What bounds the database, in one place; rollup.c has the arithmetic. Owns the numbers, so that
 * tests can give their own.
 * store_limits_default() is in store_rollup.c.
 */
#ifndef STORE_LIMITS_H
#define STORE_LIMITS_H

#include <stdint.h>

struct store_limits {	      /* rollup.c: what they bound */
	unsigned int busy_ms; /* patience with a lock of another program; at the start five times */
	uint64_t full_ns;     /* intervals younger than this stay as they are, */
	uint64_t full_rows;   /* but no more than so many; older ones become */
	uint64_t minute_ns;   /* rows of this length, until they are */
	uint64_t keep_ns;     /* this old; then they become */
	uint64_t quarter_ns;  /* rows of this length */
	unsigned int file_rows; /* files kept in a merged row */
	unsigned int merges;	/* merges a transaction */
};

struct store_limits store_limits_default(void);

#endif
