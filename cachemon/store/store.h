/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the database: open, one run, one transaction per interval, end. Owns the files and their
 * contents. Prints nothing: every call that can fail returns -errno and a text with what happened,
 * why and what to do. Not thread-safe.
 */
#ifndef STORE_H
#define STORE_H

#include "cachemon/account/ledger.h"
#include "cachemon/base/errtext.h"

struct invoker;
struct store;
struct traces;

/* Limits of the database; store_rollup.c has the arithmetic. */
struct store_limits {
	unsigned int
		busy_ms;    /* timeout for another program's lock; five times longer at the start */
	uint64_t full_ns;   /* intervals younger than this are kept as they are */
	uint64_t full_rows; /* at most this many of these; older ones are merged */
	uint64_t minute_ns; /* length of the merged rows */
	uint64_t keep_ns;   /* rows older than this are merged again */
	uint64_t quarter_ns;	/* length of the rows merged again */
	unsigned int file_rows; /* files per merged row */
	unsigned int directory_rows;
	unsigned int process_rows;
	unsigned int merges; /* merges per transaction */
};

struct store_limits store_limits_default(void);

struct store_config {
	const char *path;
	/* The user whose rights every access has and who owns the files; outlives the store.
	 * NULL: the process is that user already. */
	const struct invoker *as;
	const struct store_limits *limits; /* NULL: store_limits_default() */
};

struct store_measured { /* unmeasured figures are NULL in every table */
	bool counter[JOB_NR][C_NR];
	bool facts[JOB_NR]; /* struct sample_job */
};

struct store_probe {
	const char *role, *hook, *state, *reason; /* hook and reason may be NULL */
};

struct store_unmeasured {
	const char *name; /* name of a counter, or of an empty table */
	const char *reason;
};

/* The names of the job in the system that runs it; NULL, or uid < 0: unknown, or no such name. */
struct store_identity {
	const char *kind, *external_id, *step, *job_name, *partition;
	int64_t uid;
};

struct store_run {
	const char *cachemon, *host, *kernel, *arch, *level, *advice_mode;
	const char *user;    /* user of the job; NULL: unknown */
	uint64_t started_ns; /* CLOCK_REALTIME */
	uint64_t interval_ns, page_size_bytes, memory_bytes, map_bytes;
	struct {
		const char *name, *selector;
		const struct store_identity *identity; /* NULL: not known */
	} jobs[JOB_NR];
	const struct store_probe *probes;
	size_t nr_probes;
	const struct store_unmeasured *unmeasured;
	size_t nr_unmeasured;
	struct store_measured measured;
	const char *references_absent[JOB_NR]; /* reason; NULL: samples have them */
	/* For the watched job, in the hierarchy that limits memory; NULL: it is not a cgroup
	 * there. */
	const char *memory_cgroup;
};

struct store_end {
	const int *exit_status; /* NULL: no command */
	/* Figures that turned out to be unmeasured are removed from all rows; NULL: same as at
	 * the start. */
	const struct store_measured *measured;
	const struct store_unmeasured *unmeasured; /* with measured: replaces the reasons */
	size_t nr_unmeasured;
};

int store_open(const struct store_config *c, struct store **ret_store, struct errtext *err);
/* Another run of a database that is open, through the same connection. */
int store_open_beside(struct store *other, struct store **ret_store, struct errtext *err);
/* Whether every access changes to another user: the configured one, or the owner of a database that
 * root writes for others. */
bool store_switches(const struct store *st);
int store_begin(struct store *st, const struct store_run *run, struct errtext *err);
/* Records their data from the next interval on; they outlive the store. */
void store_traces(struct store *st, struct traces *traces);
/* The reason why they are absent, or end here; a constant. */
void store_no_traces(struct store *st, const char *reason);
/* From the next interval on these counters are NULL in all tables except estimate; a constant. */
void store_measure_no_more(struct store *st, struct ledger *l, const bool gone[C_NR],
			   const char *reason);
/* Sets the length of intervals from the next one on; earlier ones are merged to the same length,
 * some with each interval, the rest at the end. Once per run. */
void store_coarsen(struct store *st, uint64_t interval_ns);
/* Call it after ledger_apply(l, s). A failure loses a row of the timeline, but nothing of the
 * sums. */
int store_write(struct store *st, struct ledger *l, const struct sample *s, struct errtext *err);
/* May be called again after a failure. */
int store_end(struct store *st, struct ledger *l, const struct store_end *end, struct errtext *err);

/*
 * One transaction for all runs of a database. Between the two, call store_begin(), store_write() or
 * store_end() at most once for each run. A run that fails is rolled back by itself and reports it;
 * the others continue. A failure of the file is of all runs: nothing of the batch is written, and
 * only store_batch_end() reports it. A run that began in it has no id then. Ledgers and samples
 * must stay valid until the end. any: a store of the database.
 */
void store_batch_begin(struct store *any);
int store_batch_end(struct store *any, struct errtext *err);

/* After the last run of the database: leaves a single file that can be opened without write access
 * to its directory, unless others use it. */
void store_close(struct store *st);

int64_t store_run_id(const struct store *st);

#endif
