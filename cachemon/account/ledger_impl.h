/* SPDX-License-Identifier: BSD-2-Clause */
/* Internals of the ledger, shared by its own files only. Owns the struct. */
#ifndef LEDGER_IMPL_H
#define LEDGER_IMPL_H

#include "cachemon/account/file_key.h"
#include "cachemon/account/fileset.h"
#include "cachemon/account/ledger_rows.h"
#include "cachemon/base/vec.h"

/* Compares misses first, then other use of the file. */
struct weight {
	int64_t misses;
	int64_t uses;
};

struct ledger {
	struct ledger_limits limits;
	uint64_t seq; /* number of samples */
	struct fileset *seen;
	struct ledger_job jobs[JOB_NR];
	struct ledger_directory *nameless[JOB_NR];

	struct ledger_directory **directories;
	size_t nr_directories, max_directories;
	size_t directory_path_bytes;
	struct ledger_directory **active_directories;
	size_t nr_active_directories, max_active_directories;
	struct hash_index directory_index;

	struct ledger_file **files;
	size_t nr_files, files_room;
	size_t max_files; /* limits.files plus the slack between two culls */
	size_t file_path_bytes;
	struct hash_index file_index;
	struct weight floor; /* weight of the least valuable kept file */
	struct ledger_file **active;
	size_t nr_active, active_room;
	int64_t *dead;
	size_t nr_dead, dead_room;

	struct ledger_advice **advice;
	size_t nr_advice, max_advice;
	size_t advice_path_bytes;
	uint64_t advice_lost;
	struct hash_index advice_index;

	struct ledger_filesystem *filesystems; /* of the watched job; the first has the rest */
	size_t nr_filesystems, max_filesystems;
	size_t last_filesystem; /* directory of the previous file */

	struct ledger_interference *interference;
	size_t nr_interference;
	struct hash_index interference_index;

	uint64_t law_error;
};

/* The hash of a file as used by one job. */
static inline uint64_t ledger_hash_file(const struct file_key *key, uint32_t job)
{
	return hash_mix(file_key_hash(key) + job);
}

/* ledger_directory.c: never fails; finds the directory for the counts of a file with that name. */
int directories_init(struct ledger *l);
struct ledger_directory *directory_of(struct ledger *l, uint32_t job, const char *path);
void directory_add(const struct ledger *l, struct ledger_directory *d, const int64_t *delta);
/* Moves counts of earlier samples from one directory to another. */
void directory_move(struct ledger_directory *d, const int64_t *delta);
void directories_finish(struct ledger *l);
/* Compares two sums: misses first, then other use. */
int ledger_compare_activity(const struct counters *a, const struct counters *b);

/* ledger_file.c */
int files_init(struct ledger *l);
void files_apply(struct ledger *l, const struct sample_file *sf);
/* After the files of the sample. A file without a row has no lengths of waits. */
void files_wait(struct ledger *l, const struct sample_wait *w);
void files_finish(struct ledger *l);
struct ledger_file *file_find(const struct ledger *l, const struct file_key *key, uint32_t job);

/* ledger_advice.c */
int advice_init(struct ledger *l);
void advice_apply(struct ledger *l, const struct sample_advice *a);
void advice_name(struct ledger *l, const struct sample_file *sf);

/* ledger_interference.c: never fails; a row without room is merged into a less specific one. */
int interference_init(struct ledger *l);
void interference_free(struct ledger *l);
void interference_apply(struct ledger *l, const struct sample *s);
/*
 * Divides whole pages in proportion to weights, by largest remainder: each share is the exact share
 * rounded down or up, and all shares add up to the total. Sums of weights of 2^32 or more are fine.
 * If all weights are 0, so are the shares, and the pages stay with the caller.
 */
void share_out(uint64_t pages, const uint64_t *weights, size_t nr, uint64_t *ret_shares);

/* ledger_filesystem.c: never fails; what does not fit goes to the rest. */
int filesystems_init(struct ledger *l);
void filesystems_free(struct ledger *l);
enum file_seen { FILE_SEEN_BEFORE, FILE_NEW, FILE_NOT_TOLD };
void filesystem_apply(struct ledger *l, const struct sample_file *sf, enum file_seen seen);
void filesystem_rest(struct ledger *l, const int64_t *delta);
void filesystems_describe(struct ledger *l, const struct sample_filesystem *list, size_t nr);

#endif
