/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the tests of the ledger: limits that are never reached, keys of files, lookups. */
#ifndef TEST_LEDGER_UTIL_H
#define TEST_LEDGER_UTIL_H

#include <string.h>

#include "cachemon/account/ledger_rows.h"

static inline struct file_key key_of(uint64_t i)
{
	return (struct file_key){.ino = 1000 + i, .dev = 8 << 20 | 1, .gen = (uint32_t)i / 7};
}

static const struct ledger_limits roomy = {
	.files = 1000,
	.directories = 1000,
	.path_bytes = 1 << 20,
	.distinct = 5000,
	.advice = 100,
	.active = 50,
	.active_directories = 50,
};

/* The watched job's row; NULL: it has none of that path. */
static inline struct ledger_directory *directory(const struct ledger *l, const char *path)
{
	for (size_t i = 0; i < ledger_nr_directories(l); i++) {
		struct ledger_directory *d = ledger_directory(l, i);

		if (d->job == JOB_WATCHED && !strcmp(d->path ? d->path : "", path ? path : ""))
			return d;
	}
	return NULL;
}

#endif
