/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What other settings of readahead would have brought in for a job's traced files. Owns the
 * candidates, the decision whether the model may judge a file, and the sums over files with their
 * bands. A file gets no answer unless the model has 0.95 of its windows exactly.
 */
#ifndef WHATIF_READAHEAD_H
#define WHATIF_READAHEAD_H

#include <sqlite3.h>

#include "advisor/load/load_traces.h"
#include "advisor/readahead/replay.h"
#include "cachemon/base/errtext.h"

/* The first is what was in force. */
enum { WHATIF_ACTUAL = 0, WHATIF_CANDIDATES = 13 };

#define WHATIF_LEAST_FIDELITY 0.95

enum whatif_figure {
	WHATIF_MISSES,	   /* pages asked for that were not there */
	WHATIF_PREFETCHED, /* pages brought that were not asked for yet */
	WHATIF_WASTED,	   /* of them those nobody asked for later; of mapped files not known */
	WHATIF_REQUESTS,   /* to the device */
	WHATIF_STALLS,	   /* waits for the device */
	WHATIF_FIGURES,
};

/* Why there is no answer for a file. */
enum whatif_reason {
	WHATIF_ANSWERED,
	WHATIF_UNKNOWN, /* the kernel, the setting or the filesystem's folios */
	WHATIF_CACHED,	/* no access brought pages: nothing to hold the model against */
	WHATIF_UNFAITHFUL,
	WHATIF_BROKEN,	 /* the trace ends before the run does */
	WHATIF_GAVE_WAY, /* likewise: other files of the sample stand for it */
	WHATIF_UNREADABLE,
};

struct whatif_result {
	bool known;
	uint64_t figure[WHATIF_FIGURES];
	uint64_t windows;
};

struct whatif_file {
	int64_t id;
	const char *path;      /* NULL: none was seen */
	int64_t stratum;       /* < 0: chosen for being read much */
	double stands_for;     /* files; 0: others do */
	double counts_for;     /* how often its figures are in sums; see enum whatif_scale */
	double brought;	       /* pages, by the counters; < 0: not known */
	uint32_t device_pages; /* of a window, where that is known */
	bool device_known;
	double fidelity; /* -1: not known */
	uint64_t windows, exact_windows;
	bool judged;
	enum whatif_reason reason; /* of a file that is not; its note says more */
	bool counted;		   /* in sums: answered for, or known to have read nothing */
	bool mapped, evicted;
	char note[200]; /* why it is not judged, or what to keep in mind */
	struct whatif_result results[WHATIF_CANDIDATES];
};

/*
 * What makes a sum of a sample. How many files there are is an estimate of an eighth of it, or
 * worse; how many pages they brought was counted, so traced files count for as many as makes that
 * the sum.
 */
enum whatif_scale {
	WHATIF_BY_FILES, /* not counted: by how many files they stand for */
	WHATIF_BY_JOB,	 /* not of each file: by what the job brought */
	WHATIF_BY_SIZE,	 /* by what the files of their stratum brought */
};

struct whatif_readahead {
	struct arena texts; /* paths */
	struct whatif_file *files;
	size_t nr_files;
	size_t nr_judged;
	size_t nr_gave_way;
	enum whatif_scale scale;
	char absent[768]; /* why they are absent, or "" */
};

/* A sum over the judged files, each as often as it counts for others. */
struct whatif_sum {
	bool known;
	double figure[WHATIF_FIGURES]; /* NAN: not known */
	double error[WHATIF_FIGURES];  /* half the width of the 95 % band; < 0: not known */
};

/* A load from a page that a fault around it mapped is seen by nobody: which pages of a mapping are
 * used is not known. */
static inline bool whatif_figure_seen(bool mapped, int figure)
{
	return !mapped || figure != WHATIF_WASTED;
}

/* In a few words. */
const char *whatif_reason_text(enum whatif_reason reason);
/* Setting number i as users write it: "ra_kb=128", "random". For the first: what the device had. */
void whatif_setting_name(size_t i, uint32_t device_pages, char *text, size_t size);

/* 0 or -errno; a job without traces has no files, and absent says why. */
int whatif_readahead_load(sqlite3 *db, int64_t job_id, struct whatif_readahead *ret,
			  struct errtext *err);
void whatif_readahead_free(struct whatif_readahead *w);

/* Fills in counts_for, brought and scale; by load. 0 or -errno. */
int whatif_readahead_weigh(sqlite3 *db, int64_t job_id, struct whatif_readahead *w,
			   struct errtext *err);

/*
 * Files that were mapped are summed apart from those that were read: of them fewer settings are
 * known. Not known: no file of that kind has an answer, or not for this candidate.
 */
void whatif_readahead_sum(const struct whatif_readahead *w, bool mapped, size_t candidate,
			  struct whatif_sum *ret);
/*
 * The best one: of those that waste at most a tenth of what they read, or no more than was wasted
 * (of mapped files: that read at most a tenth more), the one with the fewest waits; of those within
 * 1 % of it, the one that reads the fewest pages, then the one with the fewest requests, then the
 * first. -1: nothing is known.
 */
int whatif_readahead_best(const struct whatif_readahead *w, bool mapped);

#endif
