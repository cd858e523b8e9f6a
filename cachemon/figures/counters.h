/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The counters by name. Owns the name and the measuring group of each counter of bpf/cachemon.h;
 * every table, column list and report field is generated from these.
 */
#ifndef COUNTERS_H
#define COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/cachemon.h"
#include "cachemon/base/optional.h"
#include "figure_table.h"

/* From figures.txt. PLAIN_COUNTERS(X): X(counter, label, short meaning, whether it is in pages).
 * Terms, such as TERMS_hits, PART_hit_ratio and WHOLE_hit_ratio: counters; MINUS() subtracts
 * one. SUM_OF(TERMS_hits) is the argument of functions. */
#define MINUS(counter) (-1 - (int)(counter))
#define SUM_OF(...)    ((const int[]){__VA_ARGS__, C_NR})

enum counter_group {
	GROUP_READ,   /* per-read hook: calls, bytes, lookups */
	GROUP_DELAY,  /* per-read hook and switches */
	GROUP_WINDOW, /* readahead hooks and page adds */
	GROUP_FATE,   /* windows, per-read hook and page deletes */
	GROUP_PAGE,   /* page adds and deletes */
	GROUP_GHOST,  /* page adds and deletes, own ghosts */
	GROUP_FAULT,
	GROUP_MAP,
	GROUP_DIRECT,
	GROUP_STALL,
	GROUP_NR,
};

struct counters {
	int64_t c[C_NR];
};

/* Name of a counter, as in SQL and JSON; never NULL for c < C_NR. */
const char *counter_name(enum counter c);
/* The shortest sleep of a bucket of a wait histogram. */
int64_t counter_wait_ns(int bucket);
enum counter_group counter_group(enum counter c);
const char *counter_group_name(enum counter_group g);

void counters_add(struct counters *sum, const int64_t delta[C_NR]);
/* Raw counts, which may be below 0. */
int64_t counters_sum(const int64_t c[C_NR], const int terms[]);
/* Whether a job reads through mappings: without the faults and mapped pages of program starts, it
 * has more major faults than lookups, or ten times as many mapped pages. Its hit ratio then covers
 * only read calls, usually those of a program's start. */
bool counters_mapped(struct opt_i64 lookups, struct opt_i64 faults_major,
		     struct opt_i64 mapped_pages, struct opt_i64 processes);
/* Conservation law: the fates minus the prefetched pages. 0 if it holds. */
int64_t counters_law_error(const struct counters *c);

#endif
