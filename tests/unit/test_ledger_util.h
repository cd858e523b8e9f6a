/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of the ledger share: limits that nothing reaches, and keys of files. */
#ifndef TEST_LEDGER_UTIL_H
#define TEST_LEDGER_UTIL_H

#include "account/ledger_rows.h"

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
};

#endif
