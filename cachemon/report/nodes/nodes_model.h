/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One job that ran on many nodes, from the runs of a merged database: sums, the spread over the
 * nodes, the nodes that stand out, files that several nodes read, and processes by waiting. Owns
 * these rules. A node is a host name; its figures are sums over its runs of the job.
 */
#ifndef NODES_MODEL_H
#define NODES_MODEL_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

#include "cachemon/base/errtext.h"
#include "cachemon/model/model.h"

enum nodes_figure {
	NODES_READ_BYTES,
	NODES_BROUGHT_BYTES, /* into the page cache */
	NODES_MISSES,
	NODES_HIT_RATIO,
	NODES_EVICTED,
	NODES_REFAULTS,
	NODES_STALL_NS,
	NODES_CPU_NS,
	NODES_WALL_NS,
	NODES_FIGURES,
};

/* Below this number of nodes with a figure, none of them stands out. */
enum { NODES_JUDGED_LEAST = 5 };
/* A node stands out if it is above the median by that many median absolute deviations, and by that
 * share of the median; a hit ratio if it is below. */
#define NODES_DEVIATIONS 3
#define NODES_SHARE	 0.1

struct nodes_node {
	struct bytes host;
	size_t first, nr_runs; /* in nodes_model.runs */
	struct counts counts;
	struct opt_i64 wall_ns, cpu_ns;
	struct opt_i64 whole[NODES_FIGURES];  /* absent for a ratio */
	struct opt_f64 values[NODES_FIGURES]; /* the same, and ratios */
	bool out[NODES_FIGURES];	      /* stands out */
};

struct nodes_spread {
	size_t nr; /* nodes with the figure; 0: what follows is absent */
	/* Over these; absent for times that pass at once on all nodes. A ratio is of the sums. */
	struct opt_i64 sum;
	struct opt_f64 ratio;
	double median, mad;
	size_t min, max;	  /* nodes */
	struct opt_f64 imbalance; /* the largest by the mean */
	struct opt_f64 limit;	  /* nodes beyond it stand out; absent: not judged */
	size_t nr_out;
};

struct nodes_share {
	struct bytes host;
	struct opt_i64 brought_bytes;
};

/* A file with the same path, size, mount and type on several nodes. */
struct nodes_file {
	struct bytes path, mount, fstype;
	struct opt_i64 size_bytes;
	size_t nr_nodes;
	struct opt_i64 brought_bytes; /* by all of them */
	struct opt_i64 again_bytes; /* at least so many were in the cache of the same node before */
	struct opt_i64
		shared_bytes; /* at least so many more were brought in by another node, too */
	struct nodes_share *by_node;
	size_t nr_by_node;
};

struct nodes_process {
	struct bytes host, command;
	int64_t pid;
	struct opt_i64 stall_ns, stalls, rchar_bytes;
};

struct nodes_model {
	struct arena arena;
	const char *db; /* for commands */
	const char *job;
	struct model_run *runs; /* by host */
	struct model_job *jobs; /* of these runs */
	size_t nr_runs;
	struct nodes_node *nodes;
	size_t nr_nodes;
	struct counts totals;	 /* a counter that a node did not measure is absent */
	int64_t page_size_bytes; /* 0: they differ */
	struct nodes_spread spreads[NODES_FIGURES];
	struct nodes_file *files;		  /* most shared bytes first */
	size_t nr_files, nr_shared;		  /* listed, of all */
	struct opt_i64 shared_bytes, again_bytes; /* sums of all */
	struct opt_i64 compared_bytes;		  /* brought in by the files that were compared */
	struct nodes_process *processes;
	size_t nr_processes, nr_all_processes;
	struct opt_i64 started_ns, duration_ns; /* from the first start to the last end */
	bool several_users;
};

/* Label, key and unit of a figure. */
struct nodes_figure_name {
	const char *key, *label;
	enum { NODES_UNIT_BYTES, NODES_UNIT_PAGES, NODES_UNIT_RATIO, NODES_UNIT_NS } unit;
};
const struct nodes_figure_name *nodes_figure_name(enum nodes_figure f);

/* How many nodes have runs with that job, and the last of these runs. */
int nodes_find(sqlite3 *db, const char *job, size_t *ret_nodes, int64_t *ret_last,
	       struct errtext *err);
/* After nodes_find(). files: listed at most. Call nodes_model_free() in any case. */
int nodes_model_load(sqlite3 *db, const char *job, size_t files, struct nodes_model *ret,
		     struct errtext *err);
void nodes_model_free(struct nodes_model *m);

#endif
