/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/load/load_references.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/vec.h"
#include "cachemon/db/db_rows.h"

/* More than any run stores; cachemon did not write anything larger. */
enum { NUMBERS_MAX = 1 << 17, ENTRIES_MAX = 1 << 23, CHUNKS_MAX = 1 << 16 };

struct loader {
	sqlite3 *db;
	int64_t job_id;
	struct errtext *err;
	struct references r;
	uint32_t *index; /* by page number: 1 + its index; 0: no row; LEFT: skipped */
	size_t max_pages, max_entries, max_chunks;
	int64_t pages, refs; /* from the sample's row */
	int64_t seen_refs;
};

#define LEFT	    UINT32_MAX
#define LOOKUPS_MAX (INT64_C(1) << 46) /* two years at a million per second */
/* Standard errors that an estimate may be too high before it counts as damage. */
#define DISTINCT_ERRORS_MAX 5

static int damaged_error(struct loader *l, const char *what)
{
	return errtext_set(l->err, -EBADMSG, "the references of job %lld are damaged: %s",
			   (long long)l->job_id, what);
}

static int read_error(struct loader *l)
{
	bool memory = sqlite3_errcode(l->db) == SQLITE_NOMEM;

	return errtext_set(l->err, memory ? -ENOMEM : -EIO, "cannot read references: %s",
			   sqlite3_errmsg(l->db));
}

static int out_of_memory(struct loader *l)
{
	return errtext_set(l->err, -ENOMEM, "out of memory");
}

/* Calls step() for each row of the job until it returns nonzero. */
static int each_row(struct loader *l, const char *sql, int (*step)(struct loader *, sqlite3_stmt *))
{
	struct arena no_texts = {0};
	struct rows r = rows_begin(l->db, &no_texts, sql, 1, &l->job_id);
	int e = 0;

	while (!e && rows_next(&r))
		e = step(l, r.stmt);
	return rows_finish(&r) && !e ? read_error(l) : e;
}

static int on_sample(struct loader *l, sqlite3_stmt *q)
{
	struct references *r = &l->r;
	int64_t threshold = sqlite3_column_int64(q, 2);
	const char *reason = (const char *)sqlite3_column_text(q, 1);

	r->broken = sqlite3_column_int(q, 0);
	snprintf(r->reason, sizeof(r->reason), "%s", reason ? reason : "");
	if (threshold < 0 || (uint64_t)threshold > REFERENCE_THRESHOLD_ALL)
		return damaged_error(l, "the threshold is beyond 2^32");
	r->threshold = (uint64_t)threshold;
	l->pages = sqlite3_column_int64(q, 3);
	l->refs = sqlite3_column_int64(q, 4);
	r->lookups = sqlite3_column_int64(q, 5);
	r->distinct_pages = -1;
	if (sqlite3_column_type(q, 6) != SQLITE_NULL)
		r->distinct_pages = sqlite3_column_int64(q, 6);
	r->distinct_error = sqlite3_column_double(q, 7);
	/* For a job that reads everything once, half of the estimates are too high. */
	if (r->distinct_pages > r->lookups &&
	    (double)r->distinct_pages <=
		    (double)r->lookups * (1 + DISTINCT_ERRORS_MAX * r->distinct_error))
		r->distinct_pages = r->lookups;
	if (r->lookups > LOOKUPS_MAX || r->distinct_pages > r->lookups)
		return damaged_error(l, "the number of lookups is impossible");
	if (r->lookups < l->refs || l->refs < l->pages || l->pages < 0)
		return damaged_error(
			l, "the numbers of lookups, references and pages contradict each other");
	return 0;
}

static int on_page(struct loader *l, sqlite3_stmt *q)
{
	int64_t number = sqlite3_column_int64(q, 0), hash = sqlite3_column_int64(q, 6);
	struct references *r = &l->r;

	if (number < 0 || number >= NUMBERS_MAX)
		return errtext_set(l->err, -E2BIG, "there are more pages than a run samples");
	if (hash < 0 || hash > UINT32_MAX || sqlite3_column_int64(q, 5) < 0)
		return damaged_error(l, "a page has no index or hash");
	if ((uint64_t)hash >= r->threshold) {
		l->index[number] = LEFT;
		return 0;
	}
	if (vec_reserve(r->pages, l->max_pages, r->nr_pages + 1))
		return out_of_memory(l);
	r->pages[r->nr_pages] = (struct reference_page){
		.dev_major = (uint32_t)sqlite3_column_int64(q, 1),
		.dev_minor = (uint32_t)sqlite3_column_int64(q, 2),
		.ino = (uint64_t)sqlite3_column_int64(q, 3),
		.gen = (uint32_t)sqlite3_column_int64(q, 4),
		.page_index = sqlite3_column_int64(q, 5),
		.hash = (uint32_t)hash,
	};
	l->index[number] = (uint32_t)++r->nr_pages;
	return 0;
}

/* The next varint of the data; false: none of at most 32 bits. */
static bool varint_next(const uint8_t **at, const uint8_t *end, uint32_t *ret)
{
	uint64_t v = 0;

	for (unsigned int shift = 0; shift < 35 && *at < end; shift += 7) {
		uint8_t byte = *(*at)++;

		v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		*ret = (uint32_t)v;
		return v <= UINT32_MAX;
	}
	return false;
}

static int entry_take(struct loader *l, uint32_t entry)
{
	struct references *r = &l->r;
	uint32_t number = entry >> 1, index = number < NUMBERS_MAX ? l->index[number] : 0;

	if (!index)
		return damaged_error(l, "an entry names no page");
	if (index == LEFT)
		return 0;
	if (r->nr_entries >= ENTRIES_MAX)
		return errtext_set(l->err, -E2BIG, "there are more references than a run keeps");
	if (vec_reserve(r->entries, l->max_entries, r->nr_entries + 1))
		return out_of_memory(l);
	r->entries[r->nr_entries++] = (index - 1) << 1 | (entry & 1);
	l->seen_refs += !(entry & 1);
	return 0;
}

static int on_chunk(struct loader *l, sqlite3_stmt *q)
{
	struct references *r = &l->r;
	const uint8_t *at = sqlite3_column_blob(q, 3);
	const uint8_t *end = at ? at + sqlite3_column_bytes(q, 3) : at;
	int64_t refs = sqlite3_column_int64(q, 2), n = 0;
	struct reference_chunk c = {.start_ns = sqlite3_column_int64(q, 0),
				    .lookups = sqlite3_column_int64(q, 1),
				    .first = r->nr_entries};
	int ret = 0;

	if (r->nr_chunks >= CHUNKS_MAX)
		return errtext_set(l->err, -E2BIG, "there are more chunks than a run keeps");
	if (r->nr_chunks && (c.lookups < r->chunks[r->nr_chunks - 1].lookups ||
			     c.start_ns < r->chunks[r->nr_chunks - 1].start_ns))
		return damaged_error(l, "chunks are not in chronological order");
	for (; at < end && !ret; n++) {
		uint32_t entry;

		if (!varint_next(&at, end, &entry))
			return damaged_error(
				l,
				"a chunk ends inside a number, or contains one that is too large");
		ret = entry_take(l, entry);
	}
	if (!ret && n != refs)
		return damaged_error(l, "a chunk has fewer or more entries than it states");
	c.nr = r->nr_entries - c.first;
	if (!ret && vec_reserve(r->chunks, l->max_chunks, r->nr_chunks + 1))
		return out_of_memory(l);
	if (!ret)
		r->chunks[r->nr_chunks++] = c;
	return ret;
}

static int on_reason(struct loader *l, sqlite3_stmt *q)
{
	const char *reason = (const char *)sqlite3_column_text(q, 0);

	snprintf(l->r.reason, sizeof(l->r.reason), "%s", reason ? reason : "");
	return 0;
}

/* -ENOENT; the text has the reason. */
static int no_references(struct loader *l, const char *fallback)
{
	return errtext_set(l->err, -ENOENT, "%s", *l->r.reason ? l->r.reason : fallback);
}

static int find_sample(struct loader *l)
{
	int r;

	if (sqlite3_table_column_metadata(l->db, "main", "reference_sample", NULL, NULL, NULL, NULL,
					  NULL, NULL) != SQLITE_OK)
		return no_references(l,
				     "the database was recorded by a version without references");
	l->pages = -1;
	r = each_row(l,
		     "SELECT state = 'broken', reason, threshold, pages, refs, lookups, "
		     "distinct_pages, distinct_error FROM reference_sample WHERE job_id = ?",
		     on_sample);
	if (r || l->pages >= 0)
		return r;
	r = each_row(l, "SELECT reason FROM reference_absent WHERE job_id = ?", on_reason);
	return r ? r : no_references(l, "the database has no reason");
}

static int load_rows(struct loader *l)
{
	int r = find_sample(l);

	if (!r)
		r = each_row(l,
			     "SELECT number, dev_major, dev_minor, ino, gen, page_index, hash "
			     "FROM reference_page WHERE job_id = ? ORDER BY number",
			     on_page);
	if (!r)
		r = each_row(l,
			     "SELECT start_ns, lookups, refs, data FROM reference_chunk "
			     "WHERE job_id = ? ORDER BY seq",
			     on_chunk);
	if (!r && ((int64_t)l->r.nr_pages != l->pages || l->seen_refs != l->refs))
		r = damaged_error(
			l, "the numbers of pages and references differ from the recorded ones");
	return r;
}

/* The run may still be going on. */
static int load_of_one_moment(struct loader *l)
{
	bool own = sqlite3_get_autocommit(l->db);
	int r;

	if (own && sqlite3_exec(l->db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
		return read_error(l);
	r = load_rows(l);
	if (own)
		sqlite3_exec(l->db, "ROLLBACK", NULL, NULL, NULL);
	return r;
}

int load_references(sqlite3 *db, int64_t job_id, struct references *ret, struct errtext *err)
{
	struct loader l = {.db = db, .job_id = job_id, .err = err};
	int r;

	l.index = calloc(NUMBERS_MAX, sizeof(*l.index));
	r = l.index ? load_of_one_moment(&l) : out_of_memory(&l);
	free(l.index);
	if (r)
		references_free(&l.r);
	else
		*ret = l.r;
	return r;
}

void references_free(struct references *r)
{
	free(r->pages);
	free(r->entries);
	free(r->chunks);
	r->pages = NULL;
	r->entries = NULL;
	r->chunks = NULL;
	r->nr_pages = r->nr_entries = r->nr_chunks = 0;
}
