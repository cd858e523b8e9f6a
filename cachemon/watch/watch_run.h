/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Internals of a run, shared by its files: watch_open.c (opening), watch_run.c (its life),
 * watch_record.c (the store, the sums, the traces and the live line), watch_cost.c (its cost),
 * watch_budget.c (dropping detail), watch_slices.c (slices of the per-read hook),
 * watch_metrics.c (the file for a monitoring system). No other file includes this.
 */
#ifndef WATCH_RUN_H
#define WATCH_RUN_H

#include "cachemon/account/slices.h"
#include "cachemon/account/traces.h"
#include "cachemon/collector/calibrate.h"
#include "cachemon/collector/cost.h"
#include "cachemon/collector/machine_facts.h"
#include "cachemon/capture/probe_set.h"
#include "cachemon/capture/sampler.h"
#include "cachemon/figures/counts.h"
#include "cachemon/watch/marks.h"
#include "cachemon/watch/watch.h"
#include "cachemon/store/store.h"
#include "cachemon/access/invoker.h"

/* Detail that is dropped under pressure; the per-read hook, which counts, comes last. */
enum watch_detail {
	DETAIL_TRACES,
	DETAIL_FAULT_ADDRESSES,
	DETAIL_REFERENCES,
	DETAIL_EVICTORS,
	DETAIL_FILE_ROWS, /* rows of files in each interval */
	DETAIL_READS,
	DETAIL_NR,
};

struct watch_run {
	const struct watch_options *o;
	struct invoker invoker;
	struct selector selector;
	bool memory_cgroup; /* the job is a cgroup of the hierarchy that limits memory */
	struct kernel_caps caps;
	struct probe_plan plan;
	struct command *command;
	struct marks *marks; /* marks of the command; NULL: none */
	struct ledger *ledger;
	struct traces *traces; /* NULL: not recorded */
	char *db;
	int64_t run_id; /* id of the run in the database, once it has ended */
	struct store *store;
	struct probe_set *set;
	struct sampler *sampler;
	struct machine_facts *machine;	 /* NULL: there was no memory for it */
	struct calibration calibration;	 /* before the start */
	uint64_t started_ns;		 /* CLOCK_REALTIME, the moment of start_ns */
	uint64_t start_ns, last_ns;	 /* CLOCK_MONOTONIC */
	uint64_t interval_ns;		 /* length of the next sample's interval */
	uint64_t elapsed_ns, read_on_ns; /* sums over all samples */
	uint64_t samples;
	uint64_t file_sums_ns; /* elapsed_ns when the sums of files were last written */

	/* own cost since the start */
	uint64_t events0[JOB_NR][EV_NR], cpu0_ns;
	struct cost_charge charge; /* cost of the probes in the job */
	struct calibration_look look;
	uint64_t look_runs[EV_NR]; /* the job's runs when it began, or at the last try */
	uint64_t look_ns;	   /* when the measurement ends, or the next one may begin */
	uint64_t look_since_ns;
	uint64_t look_pause_ns;
	bool looking;
	double own_share;		  /* share of the job's CPU time; < 0: not known */
	double address_ns, address_share; /* of ROLE_FAULT_ADDRESS: cost so far; present share */

	/* the budget */
	struct budget budget;
	uint64_t budget_ns, budget_seen_ns;   /* times of the next and of the last check */
	double detail_ns[DETAIL_NR];	      /* cost of each detail at the last check */
	double evictors_ns;		      /* since the start */
	double file_rows_ns, file_rows_share; /* cost since the start; present share of the time */
	uint64_t deletes_seen;		      /* pages evicted in the job's tasks */
	struct sample_shed shed[DETAIL_NR], shed_list[DETAIL_NR];
	bool traces_stopped; /* no more files are chosen */

	/* slices of the per-read hook */
	bool sliced;
	bool hook_failed; /* a switch is due; reported once */
	double duty;
	uint64_t slice_ns; /* when the hook is switched next */
	uint64_t slice_length_ns;
	uint64_t cell_rest_ns;		    /* the rest of the cell, after its slice */
	uint64_t hook_on_ns, hook_since_ns; /* total time on; time of the last switch on */
	uint64_t hook_on_seen_ns;	    /* as of the last sample */
	struct slices *slices;		    /* NULL: never off */
	bool stalls_unknown;
	bool slices_begun;	     /* the exact counts before the slices were added */
	struct slice_part part;	     /* the part in progress */
	double seen[SLICE_FIGURES];  /* since the last part */
	struct sample_job part_job;  /* the job when that part began */
	struct sample_job slice_job; /* the job when the part's last slice began */
	unsigned int nr_parts;

	struct watch_metrics *metrics; /* NULL: none are written */
	struct watch_figures figures;
	uint64_t rights; /* capabilities that the run keeps; a mask as access/privileges has */
	char references_absent[PLAN_REASON_MAX]; /* "": references are sampled; else why not */
	pid_t outlived[3];			 /* some descendants that outlived CMD */
	size_t nr_outlived;
	bool described;		 /* the run is in the database, to be ended there */
	bool sampler_complained; /* the failure is reported once, until the sampler works again */
	bool room_complained;	 /* a lack of room is reported once, until there is room again */
	bool store_complained;
	bool interval_lost; /* the last interval could not be written */
};

/* The run has begun: its counts start now. */
void watch_clock_begin(struct watch_run *run);

/* Gives the store the command and what is measured. */
int watch_describe(struct watch_run *run, struct errtext *err);
void watch_write(struct watch_run *run, const struct sample *s);
void watch_take_figures(struct watch_run *run, const struct sample *s);

/* Counters of the run, with what is not measured as unknown. */
void watch_counts(const struct watch_run *run, const struct counters *of, struct counts *ret);
/* The user of the job; < 0: unknown. */
int64_t watch_uid(const struct watch_run *run);

/* Switches a planned hook on; if that fails, the run continues with a warning. */
void watch_hook_on(struct watch_run *run, enum probe_role role);

/* Starts traces of files; without them the run continues, and the database has the reason. */
void watch_traces_begin(struct watch_run *run);
/* No file is traced any more; the reason. */
void watch_traces_end(struct watch_run *run, const char *why);
/* After a sample was taken. */
void watch_traces_see(struct watch_run *run, const struct sample *s, bool last);

/* Permanently drops all capabilities that the run no longer needs. */
int watch_rights_drop(struct watch_run *run, struct errtext *err);

/* After the calibration: starts to account the cost. */
int watch_cost_begin(struct watch_run *run, struct errtext *err);
/* Completes a sample: own cost so far. */
void watch_cost_take(struct watch_run *run, struct sample *s);
/* As of now; -errno: the probes cannot be read. */
int watch_cost_seen(struct watch_run *run, struct cost_seen *ret);

/* After the sampler is there, before the start. */
void watch_budget_begin(struct watch_run *run);
/* Whether files get rows in the next written interval and in later ones, whose cost includes the
 * rows. */
bool watch_writes_file_rows(struct watch_run *run, uint64_t interval_ns);
/* Fills shed_list; returns the number. */
size_t watch_shed_list(struct watch_run *run);

void watch_slices_begin(struct watch_run *run);
/* Completes a sample. on: whether the hook was on when it was taken. */
void watch_slices_sample(struct watch_run *run, struct sample *s, bool on);
uint64_t watch_slices_on_ns(const struct watch_run *run, uint64_t now);
double watch_slices_on_share(const struct watch_run *run);

/* For --metrics-file: 0 or -ENOMEM. */
int watch_metrics_begin(struct watch_run *run, struct errtext *err);
/* Replaces the file, when that is due. */
void watch_metrics_take(struct watch_run *run, const struct sample *s, bool last);
/* Whether the file lacks the latest figures, because it could not be written. */
bool watch_metrics_incomplete(const struct watch_run *run);
void watch_metrics_end(struct watch_run *run);

/* Ends the current measurement, if any. */
void watch_looks_end(struct watch_run *run);

/* -errno: part of the end could not be written; the error was printed. */
int watch_end(struct watch_run *run, const int *exit_status);
/* A line on stderr, unless it was printed before. */
void watch_complain(bool *said, const char *text);
void watch_say(const char *text);

#endif
