/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rows of a ledger as the store writes them. Owns the shape of a row and what the store
 * remembers in it: db_id is the row's id in the database, 0 when it has none there yet.
 * The functions are in ledger.c, but for ledger_sort_active() (ledger_file.c).
 */
#ifndef LEDGER_ROWS_H
#define LEDGER_ROWS_H

#include "cachemon/account/ledger.h"

struct ledger_mark {
	int64_t db_id;
	bool fresh;   /* db_id was given in a transaction that is not committed yet */
	bool written; /* in a transaction that is not committed yet */
	bool dirty;   /* differs from what the database has */
};

struct ledger_directory {
	struct ledger_mark mark;
	uint32_t job;
	uint32_t number; /* among the directories */
	char *path;	 /* NULL: files without a name */
	size_t path_len;
	uint64_t hash;
	uint64_t files;	      /* distinct files */
	bool files_estimated; /* there are more */
	bool subdirectories;  /* also holds directories below it that found no room */
	struct counters total;
};

struct ledger_file {
	struct ledger_mark mark;
	struct file_key key;
	uint32_t job;
	struct ledger_directory *directory;
	char *path; /* the last name seen; NULL: none yet */
	char fstype[16];
	uint64_t size_bytes; /* the last one seen, or SAMPLE_SIZE_UNKNOWN */
	bool deleted;
	bool folded_before; /* earlier counts, if any, are in a directory only: these are lower
			       bounds */
	int64_t before;	    /* about how many misses those were */
	struct counters total;
	uint64_t last_seq; /* sample that last was moved by: last */
	struct counters last;
};

struct ledger_filesystem {
	struct ledger_mark mark;
	uint32_t job;
	uint32_t dev;
	bool rest;  /* of no device: what found no row */
	char *type; /* this and what follows: NULL: not known (yet) */
	char *mount;
	char *cover;
	char *why;
	uint64_t files;	      /* distinct files */
	bool files_estimated; /* there may be more */
	struct counters total;
};

struct ledger_advice {
	struct ledger_mark mark;
	struct file_key key;
	uint32_t job;
	uint8_t kind;
	uint8_t call;
	char *path; /* NULL: not named yet */
	struct advice_row row;
};

#define LEDGER_NOWHERE UINT32_MAX

/* Compared as bytes: all of it is set. */
struct interference_key {
	uint8_t cause; /* enum evict_cause */
	uint8_t kind;  /* enum evictor_kind */
	uint8_t does;  /* enum evictor_does */
	uint8_t exact;
	uint32_t owner, reached; /* numbers of directories, or LEDGER_NOWHERE */
	uint32_t pad;
	uint64_t cgroup; /* of others: its id */
	char comm[COMM_BYTES];
};

struct ledger_interference {
	struct ledger_mark mark;
	struct interference_key key;
	char *cgroup; /* its path; NULL: not known */
	uint64_t pages;
};

size_t ledger_nr_directories(const struct ledger *l);
struct ledger_directory *ledger_directory(const struct ledger *l, size_t i);
size_t ledger_nr_files(const struct ledger *l);
struct ledger_file *ledger_file(const struct ledger *l, size_t i);
size_t ledger_nr_filesystems(const struct ledger *l);
struct ledger_filesystem *ledger_filesystem(const struct ledger *l, size_t i);
size_t ledger_nr_advice(const struct ledger *l);
struct ledger_advice *ledger_advice(const struct ledger *l, size_t i);
size_t ledger_nr_interference(const struct ledger *l);
struct ledger_interference *ledger_interference(const struct ledger *l, size_t i);
/* The most active files of the latest sample: only rows that are kept. */
size_t ledger_nr_active(const struct ledger *l);
const struct ledger_file *ledger_active(const struct ledger *l, size_t i);
/* No more than so many of them from now on, the most active ones. Before ledger_sort_active(). */
void ledger_keep_active(struct ledger *l, size_t most);
/* By database id from now on: rows that come in the order of their key fill their pages. */
void ledger_sort_active(struct ledger *l);
/* Database ids of file rows that were folded since the last write: to be deleted. */
const int64_t *ledger_dead(const struct ledger *l, size_t *ret_nr);

/* All of it is in the database now: nothing is dirty. */
void ledger_written(struct ledger *l);
/* The transaction was undone: ids given in it are void, all that was dirty stays so. */
void ledger_unwritten(struct ledger *l);
/* Every row is to be written again. */
void ledger_rewrite(struct ledger *l);

#endif
