/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A workload: one named pattern on its own files. Has the table of patterns and what a pattern
 * works with. The setup of a pattern, its files, is made before the watch.
 */
#ifndef WL_H
#define WL_H

#include <stddef.h>
#include <stdint.h>

#include "op.h"

/* The file of every setup except small: not a whole number of pages. */
#define FILE_BYTES	    ((32ULL << 20) - 1234)
#define MIB		    (1ULL << 20)
#define SMALL_DIRECTORIES   30
#define SMALL_PER_DIRECTORY 100
#define VALUES_MAX	    8

/* X(name): setups of wl prepare. */
#define WL_SETUPS(X)                                                                               \
	X(cold)	  /* one file, not cached */                                                       \
	X(warm)	  /* one file, fully cached */                                                     \
	X(sparse) /* one file, half of it holes */                                                 \
	X(many)	  /* PATH and PATH.1, PATH.2, PATH.3, cold */                                      \
	X(small)  /* PATH is a directory of 30 directories of 100 small files, cold */             \
	X(big)	  /* one file of 30 % of memory, sparse */                                         \
	X(medium) /* PATH and PATH.1 of 64 MiB */

enum setup {
#define X(name) SETUP_##name,
	WL_SETUPS(X)
#undef X
		SETUP_NR,
};

struct wl {
	const char *path;
	const char *self; /* this program */
	uint64_t random;
	struct oracle **files;
	size_t nr_files;
	/* Measured by the pattern, judged by run.py. */
	struct {
		const char *name;
		uint64_t value;
	} values[VALUES_MAX];
	size_t nr_values;
};

struct pattern {
	const char *name;
	enum setup setup;
	void (*run)(struct wl *w);
};

extern const struct pattern patterns_read[], patterns_calls[], patterns_short[], patterns_advice[],
	patterns_mmap[], patterns_file[], patterns_process[], patterns_load[];

/* The n-th file of the setup, watched. max_bytes as for oracle_new(). */
struct oracle *wl_oracle(struct wl *w, unsigned int n, uint64_t max_bytes);
struct oracle *wl_oracle_path(struct wl *w, const char *path);
/* The n-th file, opened for reading as well as watched. */
struct opener wl_open(struct wl *w, unsigned int n);
void wl_file_name(const struct wl *w, unsigned int n, char *ret_name, size_t size);
uint64_t wl_random(struct wl *w, uint64_t below);
void wl_value(struct wl *w, const char *name, uint64_t value);
/* DONTNEED over everything: a pattern ends with it if its fates must be settled. */
void wl_drop(struct opener *s);

/* prepare.c */
void prepare(enum setup setup, const char *path);
void small_name(const char *dir, unsigned int n, char *ret_name, size_t size);

#endif
