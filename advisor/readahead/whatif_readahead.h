/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The pages that other readahead settings would have brought in for a job's traced files. Owns the
 * candidates, the decision whether the model may judge a file, and the sums over files with their
 * bands. The model must predict 95 % of a file's windows exactly, else the file has no answer.
 */
#ifndef WHATIF_READAHEAD_H
#define WHATIF_READAHEAD_H

#include <sqlite3.h>

#include "advisor/load/load_traces.h"
#include "advisor/readahead/replay.h"
#include "cachemon/base/errtext.h"

/* The first one is the actual setting. */
enum { WHATIF_ACTUAL = 0, WHATIF_CANDIDATES = 13 };

#define WHATIF_LEAST_FIDELITY 0.95

enum whatif_figure {
	WHATIF_MISSES,	   /* requested pages that were absent */
	WHATIF_PREFETCHED, /* prefetched pages */
	WHATIF_WASTED,	   /* prefetched pages never requested; unknown for mapped files */
	WHATIF_REQUESTS,   /* to the device */
	WHATIF_STALLS,	   /* waits for the device */
	WHATIF_FIGURES,
};

/* Why there is no answer for a file. */
enum whatif_reason {
	WHATIF_ANSWERED,
	WHATIF_UNKNOWN, /* the kernel, the setting or the filesystem's folios */
	WHATIF_CACHED,	/* no access brought in pages, so the model cannot be checked */
	WHATIF_UNFAITHFUL,
	WHATIF_BROKEN,	 /* the trace ends before the run does */
	WHATIF_GAVE_WAY, /* another file took its place; the files of the sample represent it */
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
	double stands_for;     /* number of files; 0: another file represents it */
	double counts_for;     /* its weight in sums; see enum whatif_scale */
	double brought;	       /* pages, by the counters; < 0: unknown */
	uint32_t device_pages; /* largest window of the device, if known */
	bool device_known;
	double fidelity; /* -1: unknown */
	uint64_t windows, exact_windows;
	bool judged;
	enum whatif_reason reason; /* why a file has no answer; its note has details */
	bool counted;		   /* in sums: has an answer, or is known to have read nothing */
	bool mapped, evicted;
	char note[200]; /* why it is not judged, or a caveat */
	struct whatif_result results[WHATIF_CANDIDATES];
};

/*
 * How a sample is scaled to a sum. The number of files is an estimate with an error of an eighth or
 * more, but the number of pages that they brought in was counted. So traced files are weighted to
 * match that count.
 */
enum whatif_scale {
	WHATIF_BY_FILES, /* scaled by the number of files, because no pages were counted */
	WHATIF_BY_JOB,	 /* not counted per file: scaled by the job's pages */
	WHATIF_BY_SIZE,	 /* scaled by the pages of the files in the stratum */
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

/* A sum over the judged files, each with its weight. */
struct whatif_sum {
	bool known;
	double figure[WHATIF_FIGURES]; /* NAN: unknown */
	double error[WHATIF_FIGURES];  /* half the width of the 95 % band; < 0: unknown */
};

/* No event shows a load from a page that fault-around mapped, so the used pages of a mapping are
 * unknown. */
static inline bool whatif_figure_seen(bool mapped, int figure)
{
	return !mapped || figure != WHATIF_WASTED;
}

/* In a few words. */
const char *whatif_reason_text(enum whatif_reason reason);
/* Setting number i as users write it: "ra_kb=128", "random". The first is the device's own. */
void whatif_setting_name(size_t i, uint32_t device_pages, char *text, size_t size);

/* 0 or -errno; a job without traces has no files, and absent says why. */
int whatif_readahead_load(sqlite3 *db, int64_t job_id, struct whatif_readahead *ret,
			  struct errtext *err);
void whatif_readahead_free(struct whatif_readahead *w);

/* Fills in counts_for, brought and scale; by load. 0 or -errno. */
int whatif_readahead_weigh(sqlite3 *db, int64_t job_id, struct whatif_readahead *w,
			   struct errtext *err);

/*
 * Mapped files are summed separately from read files, because fewer settings can be predicted for
 * them. Unknown: no file of that kind has an answer, or none for this candidate.
 */
void whatif_readahead_sum(const struct whatif_readahead *w, bool mapped, size_t candidate,
			  struct whatif_sum *ret);
/*
 * The best setting. A candidate may waste at most a tenth of what it reads, or at most what was
 * wasted (for mapped files: it may read at most a tenth more than before). Among candidates, those
 * within 1 % of the fewest waits remain; of these the one with the fewest pages wins, then the one
 * with the fewest requests, then the first. -1: unknown.
 */
int whatif_readahead_best(const struct whatif_readahead *w, bool mapped);

#endif
