/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The accounts of a run, in memory and bounded. Owns the sums of all samples: for each job, each
 * directory and each of the top files. A directory has the exact total of all its files, with or
 * without a row; a job is the sum of its directories. Knows nothing of SQL; the store reads the
 * rows through account/ledger_rows.h.
 */
#ifndef LEDGER_H
#define LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cachemon/figures/counters.h"
#include "cachemon/account/sample.h"

struct ledger;

/* Memory limits: 53 MiB in total (ledger.c has the arithmetic). */
struct ledger_limits {
	size_t files;	     /* files with a row of their own */
	size_t directories;  /* of all jobs, with the two nameless rows and the roots */
	size_t path_bytes;   /* bytes for names of files; as much again for directories, and for
			      * advice */
	size_t distinct;     /* known files, which lets a directory count its files */
	size_t advice;	     /* (file, kind, call) */
	size_t interference; /* (cause, evictor, owner); 0: evictors are not recorded */
	size_t filesystems;  /* devices with files of the job, and the nameless rest */
	size_t active;	     /* files per interval that get a row of that interval */
	size_t active_directories; /* and directories */
};

struct ledger_job {
	struct counters total;
	struct counters last;	 /* of the latest sample */
	struct sample_job facts; /* as of the latest sample */
	uint64_t last_cpu_ns;
	uint64_t last_rchar_bytes;
};

struct ledger_limits ledger_limits_default(void);

/* limits NULL: the defaults. */
int ledger_new(const struct ledger_limits *limits, struct ledger **ret_ledger);
void ledger_free(struct ledger *l);

/*
 * Adds a sample. Cannot fail: if there is no memory for a row, its counts go to its directory, or
 * to the nearest parent that has a row.
 */
void ledger_apply(struct ledger *l, const struct sample *s);

const struct ledger_job *ledger_job(const struct ledger *l, unsigned int slot);
/* Sum of |error| of the conservation law over all samples. */
uint64_t ledger_law_error(const struct ledger *l);
/* Advice rows that did not fit here; the kernel side counts its own losses. */
uint64_t ledger_advice_lost(const struct ledger *l);

#endif
