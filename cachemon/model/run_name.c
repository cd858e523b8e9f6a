/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/model/run_name.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "cachemon/base/escape.h"
#include "cachemon/base/parse.h"
#include "cachemon/db/db_read.h"
#include "cachemon/figures/show.h"
#include "cachemon/model/model_rows.h"

/* Shorter beginnings are too easy to hit by mistake, and '--delete' takes them. */
enum { UUID_LEN = 36, UUID_LEAST = 8 };

bool run_name_last(const char *name, uint64_t *ret_back)
{
	if (strcmp(name, "last") == 0) {
		*ret_back = 0;
		return true;
	}
	return strncmp(name, "last-", 5) == 0 && parse_u64(name + 5, ret_back) == 0 &&
	       *ret_back < INT64_MAX;
}

/* Digits alone are a number of any length. */
static bool is_number(const char *name)
{
	return *name && !name[strspn(name, "0123456789")];
}

static bool is_uuid_beginning(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < len; i++)
		if (!isxdigit((unsigned char)name[i]) && name[i] != '-')
			return false;
	return len >= UUID_LEAST && len <= UUID_LEN && !is_number(name);
}

bool run_name_is(const char *name)
{
	uint64_t back = 0;

	return run_name_last(name, &back) || is_number(name) || is_uuid_beginning(name);
}

/* The first two ids from a query with one parameter, which is a text or a number. */
static int first_ids(sqlite3 *db, const char *sql, const char *text, int64_t number, int64_t ids[2],
		     int *ret_nr, struct errtext *err)
{
	struct arena no_texts = {0};
	struct rows r = rows_begin(db, &no_texts, sql, text ? 0 : 1, &number);

	if (text && r.rc == SQLITE_OK)
		r.rc = sqlite3_bind_text(r.stmt, 1, text, -1, SQLITE_STATIC);
	for (*ret_nr = 0; *ret_nr < 2 && rows_next(&r); ++*ret_nr)
		ids[*ret_nr] = rows_value(&r, 0);
	return model_rows_end(&r, err);
}

int run_name_find(sqlite3 *db, const char *name, int64_t *ret_id, struct errtext *err)
{
	uint64_t value = 0;
	int64_t ids[2] = {0};
	int nr = 0;
	int ret = 0;

	if (run_name_last(name, &value)) {
		ret = first_ids(db,
				"SELECT id FROM run WHERE " RUN_NAME_STARTED
				" ORDER BY id DESC LIMIT 1 OFFSET ?1",
				NULL, (int64_t)value, ids, &nr, err);
	} else if (is_number(name)) {
		if (parse_u64(name, &value) == 0 && value <= INT64_MAX)
			ret = first_ids(db, "SELECT id FROM run WHERE id = ?1", NULL,
					(int64_t)value, ids, &nr, err);
	} else if (is_uuid_beginning(name)) {
		ret = first_ids(db,
				"SELECT id FROM run WHERE substr(uuid, 1, length(?1)) = "
				"lower(?1) LIMIT 2",
				name, 0, ids, &nr, err);
	}
	if (ret < 0)
		return ret;
	if (nr == 1) {
		*ret_id = ids[0];
		return 0;
	}
	if (nr > 1)
		return errtext_set(
			err, -EEXIST,
			"the uuids of several runs begin with '%.36s'; give more digits.", name);
	return errtext_set(err, -ENOENT, "no run '%.36s': see 'cachemon runs'.", name);
}

/* More than these are too many for a terminal. */
#define OFFERED_RUNS                                                                               \
	"SELECT r.id, r.started_ns, (SELECT j.name FROM job j WHERE j.run_id = r.id AND "          \
	"j.slot > 0 ORDER BY j.slot LIMIT 1) FROM run r ORDER BY r.id DESC LIMIT 100"
#define OFFERED_JOBS                                                                               \
	"SELECT name, max(run_id), count(*) FROM job WHERE slot > 0 GROUP BY name "                \
	"ORDER BY max(run_id) DESC, name LIMIT 100"

static bool can_be_typed(const char *name, size_t len)
{
	for (size_t i = 0; i < len;) {
		uint32_t cp = 0;
		size_t n = escape_decode(name + i, len - i, &cp);

		if (!n || escape_is_unsafe(cp))
			return false;
		i += n;
	}
	return len > 0;
}

void run_name_offer(FILE *out, const char *name, size_t len, const char *what)
{
	if (!can_be_typed(name, len))
		return;
	fwrite(name, 1, len, out);
	putc('\t', out);
	escape_inert(out, what, strlen(what));
	putc('\n', out);
}

static void offer_run(FILE *out, struct rows *r)
{
	int64_t id = rows_value(r, 0);
	struct opt_i64 started = rows_i64(r);
	struct bytes job = rows_bytes(r);
	char name[24], what[256];
	int len = snprintf(name, sizeof(name), "%" PRId64, id);

	snprintf(what, sizeof(what), "%.*s, %s", (int)(job.len < 128 ? job.len : 128),
		 job.data ? job.data : "", started.known ? show_local(started.value).s : "-");
	run_name_offer(out, name, (size_t)len, what);
}

static void offer_job(FILE *out, struct rows *r)
{
	struct bytes name = rows_bytes(r);
	int64_t newest = rows_value(r, 0);
	int64_t nr = rows_value(r, 0);
	char what[96];

	snprintf(what, sizeof(what), "%" PRId64 " run%s, the newest %" PRId64, nr, &"s"[nr == 1],
		 newest);
	if (name.data)
		run_name_offer(out, name.data, name.len, what);
}

static int offer_all(const char *path, const char *sql, void (*put)(FILE *out, struct rows *r),
		     FILE *out, struct errtext *err)
{
	struct arena arena = {0};
	sqlite3 *db = NULL;
	int ret = db_read_open(path, &db, err);

	if (!ret) {
		struct rows r = rows_begin(db, &arena, sql, 0, NULL);

		while (rows_next(&r))
			put(out, &r);
		ret = model_rows_end(&r, err);
	}
	arena_free(&arena);
	sqlite3_close(db);
	return ret;
}

int run_name_offer_runs(const char *db, FILE *out, struct errtext *err)
{
	run_name_offer(out, "last", strlen("last"), "the newest run");
	return offer_all(db, OFFERED_RUNS, offer_run, out, err);
}

int run_name_offer_jobs(const char *db, FILE *out, struct errtext *err)
{
	return offer_all(db, OFFERED_JOBS, offer_job, out, err);
}
