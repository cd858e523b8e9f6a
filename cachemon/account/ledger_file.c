/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/account/ledger_impl.h"
#include "cachemon/base/text_builder.h"

/* For one more file. Those that die until the next write are in the database, which never has more
 * of them than were kept at once. */
static int make_room(struct ledger *l)
{
	size_t nr = l->nr_files + 1;

	if (vec_reserve(l->files, l->files_room, nr) ||
	    vec_reserve(l->active, l->active_room, nr) || vec_reserve(l->dead, l->dead_room, nr))
		return -ENOMEM;
	return hash_index_reserve(&l->file_index, nr);
}

int files_init(struct ledger *l)
{
	/* The slack makes each cull worth its sort. */
	l->max_files = l->limits.files + l->limits.files / 4 + 1;
	return make_room(l);
}

struct ledger_file *file_find(const struct ledger *l, const struct file_key *key, uint32_t job)
{
	uint64_t hash = ledger_hash_file(key, job);

	for (size_t at = 0, row; hash_index_next(&l->file_index, hash, &at, &row);)
		if (l->files[row]->job == job && file_key_equal(&l->files[row]->key, key))
			return l->files[row];
	return NULL;
}

/* A file that is only mapped or only read directly has no misses; then the other counters
 * decide. */
static struct weight weight_of(const int64_t *c)
{
	return (struct weight){
		.misses = c[C_misses] + c[C_faults_major],
		.uses = c[C_lookups] + c[C_faults_minor] + c[C_direct_read_calls] +
			c[C_written_pages] + counters_sum(c, SUM_OF(TERMS_brought_pages)),
	};
}

static int compare_weights(struct weight a, struct weight b)
{
	if (a.misses != b.misses)
		return a.misses < b.misses ? -1 : 1;
	return a.uses < b.uses ? -1 : a.uses > b.uses;
}

int ledger_compare_activity(const struct counters *a, const struct counters *b)
{
	return compare_weights(weight_of(a->c), weight_of(b->c));
}

static struct weight file_weight(const struct ledger_file *f)
{
	struct weight w = weight_of(f->total.c);

	w.misses += f->before;
	return w;
}

static void set_path(struct ledger *l, struct ledger_file *f, const char *path)
{
	size_t old = f->path ? strlen(f->path) + 1 : 0;

	if (text_replace(&f->path, path))
		l->file_path_bytes += strlen(path) + 1 - old;
}

/* Moves the count of a file, and the knowledge of its place, to another directory. */
static void move_count(struct ledger_directory *from, struct ledger_directory *to,
		       struct fileset_entry *entry)
{
	from->files--;
	to->files++;
	from->mark.dirty = true;
	to->mark.dirty = true;
	entry->place = (uint16_t)to->number;
}

/* The file was named or renamed: moves its totals. */
static void rename_file(struct ledger *l, struct ledger_file *f, const char *path)
{
	struct ledger_directory *from = f->directory;
	struct ledger_directory *to = directory_of(l, f->job, path);
	int64_t minus[C_NR];
	struct fileset_entry *entry;

	set_path(l, f, path);
	f->mark.dirty = true;
	if (from == to)
		return;
	for (int i = 0; i < C_NR; i++)
		minus[i] = -f->total.c[i];
	directory_move(from, minus);
	directory_move(to, f->total.c);
	f->directory = to;
	entry = fileset_find(l->seen, ledger_hash_file(&f->key, f->job));
	if (entry)
		move_count(from, to, entry);
}

static void add_to_file(struct ledger *l, struct ledger_file *f, const struct sample_file *sf)
{
	if (f->last_seq != l->seq)
		memset(&f->last, 0, sizeof(f->last));
	f->last_seq = l->seq;
	counters_add(&f->last, sf->c);
	counters_add(&f->total, sf->c);
	if (sf->size_bytes != SAMPLE_SIZE_UNKNOWN)
		f->size_bytes = sf->size_bytes;
	/* A sample without size and name carries no news: keep `deleted`. */
	if (sf->size_bytes != SAMPLE_SIZE_UNKNOWN || sf->path)
		f->deleted = sf->deleted;
	if (sf->fstype) {
		strncpy(f->fstype, sf->fstype, sizeof(f->fstype) - 1);
		f->fstype[sizeof(f->fstype) - 1] = '\0';
	}
	f->mark.dirty = true;
}

/* Drops a row. Its directory already has its counts; only its weight remains. */
static void fold_file(struct ledger *l, struct ledger_file *f)
{
	struct fileset_entry *entry = fileset_find(l->seen, ledger_hash_file(&f->key, f->job));

	if (entry)
		fileset_add_weight(l->seen, entry, weight_of(f->total.c).misses);
	if (f->mark.db_id)
		l->dead[l->nr_dead++] = f->mark.db_id;
	if (f->path)
		l->file_path_bytes -= strlen(f->path) + 1;
	free(f->path);
	free(f);
}

static int by_weight_falling(const void *a, const void *b)
{
	const struct ledger_file *const *fa = a;
	const struct ledger_file *const *fb = b;

	return compare_weights(file_weight(*fb), file_weight(*fa));
}

static void cull_files(struct ledger *l)
{
	struct hash_index *x = &l->file_index;

	qsort(l->files, l->nr_files, sizeof(struct ledger_file *), by_weight_falling);
	while (l->nr_files &&
	       (l->nr_files > l->limits.files || l->file_path_bytes > l->limits.path_bytes))
		fold_file(l, l->files[--l->nr_files]);
	if (l->nr_files)
		l->floor = file_weight(l->files[l->nr_files - 1]);
	hash_index_clear(x);
	for (size_t i = 0; i < l->nr_files; i++)
		hash_index_put(x, ledger_hash_file(&l->files[i]->key, l->files[i]->job), i);
}

/* Every file gets a row while there is room; later only a file worth more than the least
 * valuable row. */
static bool is_worth_a_row(const struct ledger *l, struct weight w)
{
	if (l->nr_files < l->limits.files && l->file_path_bytes < l->limits.path_bytes)
		return true;
	return compare_weights(w, l->floor) > 0;
}

static struct ledger_file *create_file(struct ledger *l, const struct sample_file *sf,
				       struct ledger_directory *d)
{
	struct ledger_file *f;

	if (!l->limits.files)
		return NULL;
	if (l->nr_files == l->max_files)
		cull_files(l);
	f = make_room(l) ? NULL : calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->key = sf->key;
	f->job = sf->job;
	f->size_bytes = SAMPLE_SIZE_UNKNOWN;
	f->directory = d;
	if (sf->path)
		set_path(l, f, sf->path);
	hash_index_put(&l->file_index, ledger_hash_file(&f->key, f->job), l->nr_files);
	l->files[l->nr_files++] = f;
	return f;
}

/*
 * The directory for the counts of a file without a row. The name comes only with the first events,
 * so a file without a name in this sample stays in its directory; a file with another name moves.
 * Each file is counted once per run.
 */
static struct ledger_directory *place_of(struct ledger *l, const struct sample_file *sf,
					 struct fileset_entry *entry, bool added)
{
	struct ledger_directory *d, *was;

	if (entry && !added && !sf->path)
		return l->directories[entry->place];
	d = directory_of(l, sf->job, sf->path);
	if (!entry) {
		d->files_estimated = true;
	} else if (added) {
		d->files++;
		entry->place = (uint16_t)d->number;
	} else {
		was = l->directories[entry->place];
		if (d != was)
			move_count(was, d, entry);
	}
	return d;
}

/* Gives a file a row if it is worth it. */
static void apply_new(struct ledger *l, const struct sample_file *sf)
{
	struct weight w = weight_of(sf->c);
	bool added = false;
	struct fileset_entry *entry =
		fileset_get(l->seen, ledger_hash_file(&sf->key, sf->job), &added);
	struct ledger_directory *d = place_of(l, sf, entry, added);
	int64_t before = entry ? fileset_weight(l->seen, entry) : 0;
	struct ledger_file *f;

	directory_add(l, d, sf->c);
	filesystem_apply(l, sf, !entry ? FILE_NOT_TOLD : added ? FILE_NEW : FILE_SEEN_BEFORE);
	w.misses += before;
	f = is_worth_a_row(l, w) ? create_file(l, sf, d) : NULL;
	if (!f) {
		if (entry)
			fileset_add_weight(l->seen, entry, weight_of(sf->c).misses);
		return;
	}
	f->folded_before = !added;
	f->before = before;
	add_to_file(l, f, sf);
}

void files_apply(struct ledger *l, const struct sample_file *sf)
{
	struct ledger_file *f;

	if (sf->job == JOB_OTHERS) {
		directory_add(l, l->nameless[JOB_OTHERS], sf->c);
		return;
	}
	f = file_find(l, &sf->key, sf->job);
	if (!f) {
		apply_new(l, sf);
		return;
	}
	if (sf->path && (!f->path || strcmp(f->path, sf->path) != 0))
		rename_file(l, f, sf->path);
	directory_add(l, f->directory, sf->c);
	filesystem_apply(l, sf, FILE_SEEN_BEFORE);
	add_to_file(l, f, sf);
}

void files_wait(struct ledger *l, const struct sample_wait *w)
{
	struct ledger_file *f = file_find(l, &w->file, JOB_WATCHED);

	if (!f)
		return;
	for (int i = 0; i < WAIT_BUCKETS; i++)
		f->sleeps[i] += w->row.sleeps[i];
	f->slept = true;
	f->mark.dirty = true;
}

static int by_activity_falling(const void *a, const void *b)
{
	const struct ledger_file *const *fa = a;
	const struct ledger_file *const *fb = b;

	return ledger_compare_activity(&(*fb)->last, &(*fa)->last);
}

void files_finish(struct ledger *l)
{
	if (l->nr_files > l->limits.files || l->file_path_bytes > l->limits.path_bytes)
		cull_files(l);
	l->nr_active = 0;
	for (size_t i = 0; i < l->nr_files; i++)
		if (l->files[i]->last_seq == l->seq)
			l->active[l->nr_active++] = l->files[i];
	qsort(l->active, l->nr_active, sizeof(struct ledger_file *), by_activity_falling);
	if (l->nr_active > l->limits.active)
		l->nr_active = l->limits.active;
}

static int by_db_id(const void *a, const void *b)
{
	const struct ledger_file *const *fa = a;
	const struct ledger_file *const *fb = b;

	return (*fa)->mark.db_id < (*fb)->mark.db_id ? -1 : (*fa)->mark.db_id > (*fb)->mark.db_id;
}

void ledger_sort_active(struct ledger *l)
{
	qsort(l->active, l->nr_active, sizeof(struct ledger_file *), by_db_id);
}
