/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The features of how a file or directory is read, and the name of the pattern that they make: a
 * pure decision. Owns the features with their units, the names, the thresholds and the confidence
 * of a name. An absent feature decides nothing; without any, the name is unknown. accesses.c,
 * reuse.c and pattern_*.c fill in features; features_*() and feature_name() are in pattern.c.
 */
#ifndef PATTERN_H
#define PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(name): as in JSON. Shares are 0..1. */
#define PATTERN_FEATURES(X)                                                                        \
	/* all accesses of a traced file */                                                        \
	X(reads)	     /* calls */                                                           \
	X(read_bytes_median) /* per call */                                                        \
	X(descriptions)	     /* open files with reads */                                           \
	X(readers)	     /* tasks that each read four fifths of the file or more */            \
	X(sequential_share)  /* reads that begin at the end of the open file's last read */        \
	X(backward_share)    /* reads that end where the last one began */                         \
	X(stream_share)	     /* reads that continue any of the open file's last 16 */              \
	X(streams)	     /* concurrent streams of one open file */                             \
	X(runs)		     /* sequences of reads without a jump */                               \
	X(stride_bytes)	     /* usual distance between the beginnings of two runs; may be < 0 */   \
	X(stride_share)	     /* share of runs after that step */                                   \
	X(ascending_share)   /* steps that go up */                                                \
	X(run_bytes)	     /* mean length of a run */                                            \
	X(jump_ascending_share) /* of the steps between such runs */                               \
	X(faults)		/* touches of a mapping that the kernel saw */                     \
	X(fault_ascending_share)                                                                   \
	X(fault_gap_pages) /* median step up */                                                    \
	X(fault_gap_share) /* touches after the most frequent step */                              \
	X(growth_share)	   /* bytes read beyond the file's first known end */                      \
	/* of sampled pages or of all */                                                           \
	X(page_ascending_share) /* steps up from page to page in the first pass */                 \
	X(page_jumps)		/* steps that do not lead to the next page */                      \
	X(page_jump_ascending_share)                                                               \
	X(page_stream_share) /* share of the file's pages */                                       \
	X(coverage)	     /* of the file's pages that were read */                              \
	X(density)	     /* mean reads of a page that was read */                              \
	X(reuse)                                                                                   \
	X(evenness) /* share of pages whose number of reads differs by at most one */              \
	X(epochs)                                                                                  \
	X(epoch_separation) /* reads in the epoch of their number */                               \
	X(order_similarity) /* of successive epochs: 1 same order, 0 random, -1 reversed */        \
	X(period_lookups)   /* median of the job's lookups between two reads of a page */          \
	X(period_s)                                                                                \
	/* of counters */                                                                          \
	X(bytes_per_call)                                                                          \
	X(lookups_per_page)  /* of the file's size */                                              \
	X(fault_share)	     /* share of touched pages that faults touched */                      \
	X(direct_share)	     /* of bytes read, by O_DIRECT */                                      \
	X(prefetch_coverage) /* of pages brought in, by readahead */                               \
	X(async_share)	     /* windows issued ahead */                                            \
	X(write_share)	     /* pages added, by writes */                                          \
	/* of directories */                                                                       \
	X(files)                                                                                   \
	X(pages_per_file) /* mean */                                                               \
	X(main_share)	  /* share of the work that is in files with the main pattern */

enum feature {
#define X(name) F_##name,
	PATTERN_FEATURES(X)
#undef X
		F_NR,
};

struct features {
	double value[F_NR];
	bool known[F_NR];
};

const char *feature_name(enum feature f);
void features_set(struct features *f, enum feature which, double value);
/* num / den; absent when den is 0. */
void features_set_ratio(struct features *f, enum feature which, double num, double den);
/* Known and at least this. */
bool features_least(const struct features *f, enum feature which, double value);
/* Adds features that `from` has and `to` lacks. */
void features_merge(struct features *to, const struct features *from);

#define PATTERN_NAMES(X)                                                                           \
	X(unknown)                                                                                 \
	X(sequential)                                                                              \
	X(strided)                                                                                 \
	X(random)                                                                                  \
	X(backward)                                                                                \
	X(scan_once)                                                                               \
	X(reread)                                                                                  \
	X(small_files)                                                                             \
	X(shuffled_epoch)                                                                          \
	X(mmap_sequential)                                                                         \
	X(mmap_random)                                                                             \
	X(interleaved)                                                                             \
	X(direct)                                                                                  \
	X(append_follow)                                                                           \
	X(mixed)

enum pattern_name {
#define X(name) PATTERN_##name,
	PATTERN_NAMES(X)
#undef X
		PATTERN_NR,
};

enum { PATTERN_DECIDING_MAX = 6 };

struct pattern {
	enum pattern_name name;
	double confidence; /* 0..1; 0 if unknown */
	enum feature decided[PATTERN_DECIDING_MAX];
	size_t nr_decided;
};

const char *pattern_name(enum pattern_name name);
struct pattern pattern_of_file(const struct features *f);

/* A file of a directory. weight: what the job read of it. */
struct pattern_part {
	enum pattern_name name;
	double confidence;
	double weight;
};

/* f: features of the directory as a whole; sets F_main_share. */
struct pattern pattern_of_directory(struct features *f, const struct pattern_part *parts,
				    size_t nr);

#endif
