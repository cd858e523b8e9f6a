/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rows of a ledger as the store writes them. Owns the shape of a row and the store's notes in
 * it: db_id is the row's id in the database, or 0 if it has none yet. The functions are in
 * ledger.c, except ledger_sort_active() (ledger_file.c).
 */
#ifndef LEDGER_ROWS_H
#define LEDGER_ROWS_H

#include "cachemon/account/ledger.h"

struct ledger_mark {
	int64_t db_id;
	bool fresh;   /* db_id belongs to an uncommitted transaction */
	bool written; /* written in an uncommitted transaction */
	bool dirty;   /* differs from the database */
};

struct ledger_directory {
	struct ledger_mark mark;
	uint32_t job;
	uint32_t number; /* index among the directories */
	char *path;	 /* NULL: files without a name */
	size_t path_len;
	uint64_t hash;
	uint64_t files;	      /* distinct files */
	bool files_estimated; /* the list is incomplete */
	bool subdirectories;  /* also counts subdirectories that did not fit */
	struct counters total;
	uint64_t last_seq; /* sample that last changed it: last */
	struct counters last;
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
	bool folded_before; /* earlier counts, if any, are only in a directory: these are lower
			     * bounds */
	int64_t before;	    /* approximate misses of those counts */
	struct counters total;
	uint64_t last_seq; /* sample that last changed it: last */
	struct counters last;
	uint64_t sleeps[WAIT_BUCKETS]; /* by length */
	bool slept;		       /* sleeps differs from the database */
};

struct ledger_filesystem {
	struct ledger_mark mark;
	uint32_t job;
	uint32_t dev;
	bool rest;  /* without a device: what did not fit */
	char *type; /* this and all after it: NULL if unknown (so far) */
	char *mount;
	char *cover;
	char *why;
	uint64_t files;	      /* distinct files */
	bool files_estimated; /* the list may be incomplete */
	struct counters total;
};

struct ledger_advice {
	struct ledger_mark mark;
	struct file_key key;
	uint32_t job;
	uint8_t kind;
	uint8_t call;
	char *path; /* NULL: no name yet */
	struct advice_row row;
};

#define LEDGER_NOWHERE UINT32_MAX

/* Compared as bytes, so all of it is initialised. */
struct interference_key {
	uint8_t cause; /* enum evict_cause */
	uint8_t kind;  /* enum evictor_kind */
	uint8_t does;  /* enum evictor_does */
	uint8_t exact;
	uint32_t owner, reached; /* indexes of directories, or LEDGER_NOWHERE */
	uint32_t pad;
	uint64_t cgroup; /* id of another cgroup */
	char comm[COMM_BYTES];
};

struct ledger_interference {
	struct ledger_mark mark;
	struct interference_key key;
	char *cgroup; /* its path; NULL: unknown */
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
/* Keeps at most that many of them, the most active ones. Call it before ledger_sort_active(). */
void ledger_keep_active(struct ledger *l, size_t most);
/* The most active directories of the latest sample, of watched jobs. */
size_t ledger_nr_active_directories(const struct ledger *l);
const struct ledger_directory *ledger_active_directory(const struct ledger *l, size_t i);
/* Sorts by database id: rows inserted in key order fill their pages. */
void ledger_sort_active(struct ledger *l);
/* Database ids of file rows dropped since the last write, to be deleted. */
const int64_t *ledger_dead(const struct ledger *l, size_t *ret_nr);

/* The database has everything: nothing is dirty. */
void ledger_written(struct ledger *l);
/* The transaction was rolled back: its ids are void, and dirty rows stay dirty. */
void ledger_unwritten(struct ledger *l);
/* Marks every row as dirty. */
void ledger_rewrite(struct ledger *l);

#endif
