/* SPDX-License-Identifier: BSD-2-Clause */
/* The run of a watch: its options, its operations, its live figures. */
#ifndef WATCH_H
#define WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cachemon/job/command.h"
#include "cachemon/job/selector.h"
#include "cachemon/plan/probe_plan.h"

/* CMD has exited with 0, but part of the record could not be written. */
enum { WATCH_INCOMPLETE = 123 };

/* A short run needs enough intervals for a comparison with another one. */
#define WATCH_FINE_NS	    250000000ULL
#define WATCH_FINE_FOR_NS   120000000000ULL
#define WATCH_FINE_LEAST_NS 20000000000ULL /* if the run exceeds its overhead budget */
#define WATCH_COARSE_NS	    1000000000ULL

struct watch_options {
	const char *job;
	bool has_selector;
	enum selector_request request;
	const char *selector;
	enum watch_level level;
	bool level_given;
	double max_overhead; /* share of the job's CPU time, 0..1 */
	bool overhead_given;
	bool advice_calls;
	uint64_t interval_ns; /* 0: WATCH_FINE_NS, WATCH_COARSE_NS once the run is long */
	uint64_t duration_ns; /* 0: until the job ends */
	bool live;	      /* the full screen, not only a line */
	bool until_eof;	      /* standard input */
	const char *db;
	const char *report;
	const char *metrics_file; /* NULL: none */
	const char *rules;	  /* of a site, for the report; NULL: the usual places alone */
	uint64_t block_entries, row_entries; /* 0: by memory */
	const char *socket; /* of the daemon that is to count the command; NULL: the usual one */
	bool own;	    /* by a collector of its own */
	char **command;	    /* NULL: none */
};

struct watch_run;

/* Opens the probes and the database; the job stays held. */
int watch_run_new(const struct watch_options *o, struct watch_run **ret, struct errtext *err);
/* Starts the job. */
int watch_run_start(struct watch_run *run, struct errtext *err);
/* Takes a sample, into the sums and the database. */
int watch_run_sample(struct watch_run *run, bool last);
/* Takes the last sample and ends the run in the database. exit_status as in store_end(). -errno:
 * part of it failed, and the error was printed. */
int watch_run_finish(struct watch_run *run, const int *exit_status);
/* Reports descendants that outlive CMD, as of the last sample, and what to do. */
void watch_outlived_say(const struct watch_run *run);
/* The job never ran: ends its run in the database. */
void watch_run_abort(struct watch_run *run, int status);
void watch_run_free(struct watch_run *run);

/* The database, and the run in it. */
const char *watch_run_db(const struct watch_run *run);
int64_t watch_run_id(const struct watch_run *run);
const struct invoker *watch_run_invoker(const struct watch_run *run);
struct command *watch_run_command(struct watch_run *run);
const struct selector *watch_run_selector(const struct watch_run *run);
int watch_run_names_fd(const struct watch_run *run);
void watch_run_names(struct watch_run *run);
/* Readable while marks of the command wait for the next sample; -1: marks are not possible. */
int watch_run_marks_fd(const struct watch_run *run);
/* Whether they justify a sample: the run continues, and there is room for more. */
bool watch_run_marks_count(const struct watch_run *run);
/* Without marks waiting: a later one was not written before now. */
void watch_run_marks_look(struct watch_run *run);
/* Reads them without a sample, so that no writer blocks. */
void watch_run_marks_drop(struct watch_run *run);
/* The probes' maps fill up: a sample is due before the interval ends. */
bool watch_run_pressed(const struct watch_run *run);
/* The length of the current interval. */
uint64_t watch_run_interval_ns(const struct watch_run *run);
/* In a sliced run: when to switch the per-read hook next (CLOCK_MONOTONIC), or 0. */
uint64_t watch_run_slice_due(const struct watch_run *run);
void watch_run_slice(struct watch_run *run);
/* When the next sample is due early, so that a short run has several; or 0. */
uint64_t watch_run_part_due(const struct watch_run *run);
/* Drops detail that exceeds the budget, when a check is due. */
void watch_run_budget(struct watch_run *run);
/* Times the programs during the run, when it is due (CLOCK_MONOTONIC). */
void watch_run_look(struct watch_run *run);
uint64_t watch_run_look_due(const struct watch_run *run);
/* Whether every process of the job has ended. Only while measuring. */
bool watch_run_job_ended(const struct watch_run *run);

/* The values on the live line. */
struct watch_figures {
	double hit_ratio;     /* < 0: unknown */
	double lookups_per_s; /* < 0: unknown */
	double misses_per_s;
	bool mapped; /* it reads through mappings: these two replace hits, lookups and misses */
	double major_faults_per_s;
	double waiting;		  /* tasks asleep for the page cache, mean; < 0: unknown */
	double prefetch_accuracy; /* < 0: unknown */
	double evictions_per_s;
	double own_share; /* share of the job's CPU time; < 0: unknown */
	double budget;	  /* the most that own_share may be; < 0: no limit */
	bool estimated;
	uint64_t elapsed_ns;
};
void watch_run_figures(const struct watch_run *run, struct watch_figures *ret);

#endif
