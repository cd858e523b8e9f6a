/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/account/ledger_impl.h"

enum { DIRECTORIES_MAX = 1 << 16 }; /* fileset_entry.place */

static struct ledger_directory *create_directory(struct ledger *l, uint32_t job, const char *path,
						 size_t len, uint64_t hash)
{
	size_t nr = l->nr_directories + 1;
	struct ledger_directory *d;

	if (vec_reserve(l->directories, l->max_directories, nr) ||
	    vec_reserve(l->active_directories, l->max_active_directories, nr) ||
	    hash_index_reserve(&l->directory_index, nr))
		return NULL;
	d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	if (path) {
		d->path = strndup(path, len);
		if (!d->path) {
			free(d);
			return NULL;
		}
		d->path_len = len;
		l->directory_path_bytes += len + 1;
		hash_index_put(&l->directory_index, hash, l->nr_directories);
	}
	d->job = job;
	d->hash = hash;
	d->number = (uint32_t)l->nr_directories;
	l->directories[l->nr_directories++] = d;
	return d;
}

static uint64_t hash_path(uint32_t job, const char *path, size_t len)
{
	return hash_bytes(job, path, len);
}

static struct ledger_directory *find_directory(const struct ledger *l, uint32_t job,
					       const char *path, size_t len, uint64_t hash)
{
	for (size_t at = 0, row; hash_index_next(&l->directory_index, hash, &at, &row);) {
		struct ledger_directory *d = l->directories[row];

		if (d->hash == hash && d->job == job && d->path_len == len &&
		    !memcmp(d->path, path, len))
			return d;
	}
	return NULL;
}

/*
 * Creates in advance the rows that any count can fall back to: a nameless row for each job, and the
 * root of watched jobs. They are written only if they hold counts.
 */
int directories_init(struct ledger *l)
{
	size_t least = JOB_NR + JOB_NR - 1;

	if (l->limits.directories < least)
		l->limits.directories = least;
	if (l->limits.directories > DIRECTORIES_MAX)
		l->limits.directories = DIRECTORIES_MAX;
	if (hash_index_reserve(&l->directory_index, least))
		return -ENOMEM;
	for (uint32_t job = 0; job < JOB_NR; job++) {
		l->nameless[job] = create_directory(l, job, NULL, 0, 0);
		if (!l->nameless[job])
			return -ENOMEM;
		if (job != JOB_OTHERS && !create_directory(l, job, "/", 1, hash_path(job, "/", 1)))
			return -ENOMEM;
	}
	return 0;
}

/* Length of the name of the directory above path[0..len), which is not "/" itself. */
static size_t parent_length(const char *path, size_t len)
{
	const char *slash = memrchr(path, '/', len);

	if (!slash)
		return 0;
	return slash == path ? 1 : (size_t)(slash - path);
}

struct ledger_directory *directory_of(struct ledger *l, uint32_t job, const char *path)
{
	struct ledger_directory *d;
	uint64_t hash;
	size_t len;

	/* Processes outside the job share one row, because only their total matters. */
	if (job == JOB_OTHERS || !path || path[0] != '/')
		return l->nameless[job];
	len = parent_length(path, strlen(path));
	hash = hash_path(job, path, len);
	d = find_directory(l, job, path, len, hash);
	if (d)
		return d;
	if (l->nr_directories < l->limits.directories &&
	    l->directory_path_bytes + len < l->limits.path_bytes) {
		d = create_directory(l, job, path, len, hash);
		if (d)
			return d;
	}
	while (!d) {
		len = parent_length(path, len);
		d = find_directory(l, job, path, len, hash_path(job, path, len));
	}
	d->subdirectories = true;
	return d;
}

void directory_add(const struct ledger *l, struct ledger_directory *d, const int64_t *delta)
{
	if (d->last_seq != l->seq)
		memset(&d->last, 0, sizeof(d->last));
	d->last_seq = l->seq;
	counters_add(&d->last, delta);
	directory_move(d, delta);
}

void directory_move(struct ledger_directory *d, const int64_t *delta)
{
	counters_add(&d->total, delta);
	d->mark.dirty = true;
}

static int by_activity_falling(const void *a, const void *b)
{
	const struct ledger_directory *const *da = a;
	const struct ledger_directory *const *db = b;
	int order = ledger_compare_activity(&(*db)->last, &(*da)->last);

	return order ? order : ((*da)->number > (*db)->number) - ((*da)->number < (*db)->number);
}

void directories_finish(struct ledger *l)
{
	l->nr_active_directories = 0;
	for (size_t i = 0; i < l->nr_directories; i++)
		if (l->directories[i]->last_seq == l->seq && l->directories[i]->job != JOB_OTHERS)
			l->active_directories[l->nr_active_directories++] = l->directories[i];
	qsort(l->active_directories, l->nr_active_directories, sizeof(struct ledger_directory *),
	      by_activity_falling);
	if (l->nr_active_directories > l->limits.active_directories)
		l->nr_active_directories = l->limits.active_directories;
}
