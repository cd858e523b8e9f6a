/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/model/candidates.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <string.h>

#include "cachemon/db/db_read.h"
#include "cachemon/base/escape.h"
#include "cachemon/model/model_rows.h"
#include "cachemon/figures/show.h"

/* More than these nobody reads on a terminal. */
#define RUNS                                                                                       \
	"SELECT r.id, r.started_ns, (SELECT j.name FROM job j WHERE j.run_id = r.id AND "          \
	"j.slot > 0 ORDER BY j.slot LIMIT 1) FROM run r ORDER BY r.id DESC LIMIT 100"
#define JOBS                                                                                       \
	"SELECT name, max(run_id), count(*) FROM job WHERE slot > 0 GROUP BY name "                \
	"ORDER BY max(run_id) DESC, name LIMIT 100"

static bool is_plain(const char *name, size_t len)
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

void candidates_put(FILE *out, const char *name, size_t len, const char *what)
{
	if (!is_plain(name, len))
		return;
	fwrite(name, 1, len, out);
	putc('\t', out);
	escape_inert(out, what, strlen(what));
	putc('\n', out);
}

static void put_run(FILE *out, struct rows *r)
{
	int64_t id = rows_value(r, 0);
	struct opt_i64 started = rows_i64(r);
	struct bytes job = rows_bytes(r);
	char name[24], what[256];
	int len = snprintf(name, sizeof(name), "%" PRId64, id);

	snprintf(what, sizeof(what), "%.*s, %s", (int)(job.len < 128 ? job.len : 128),
		 job.data ? job.data : "", started.known ? show_local(started.value).s : "-");
	candidates_put(out, name, (size_t)len, what);
}

static void put_job(FILE *out, struct rows *r)
{
	struct bytes name = rows_bytes(r);
	int64_t newest = rows_value(r, 0);
	int64_t nr = rows_value(r, 0);
	char what[96];

	snprintf(what, sizeof(what), "%" PRId64 " run%s, the newest %" PRId64, nr, &"s"[nr == 1],
		 newest);
	if (name.data)
		candidates_put(out, name.data, name.len, what);
}

static int put_all(const char *path, const char *sql, void (*put)(FILE *out, struct rows *r),
		   FILE *out, struct errtext *err)
{
	struct arena arena = {0};
	sqlite3 *db = NULL;
	int ret = report_db_open(path, &db, err);

	if (!ret) {
		struct rows r = rows_begin(db, &arena, sql, 0, NULL);

		while (rows_next(&r))
			put(out, &r);
		ret = rows_end(&r, err);
	}
	arena_free(&arena);
	sqlite3_close(db);
	return ret;
}

int candidates_runs(const char *db, FILE *out, struct errtext *err)
{
	candidates_put(out, "last", strlen("last"), "the newest run");
	return put_all(db, RUNS, put_run, out, err);
}

int candidates_jobs(const char *db, FILE *out, struct errtext *err)
{
	return put_all(db, JOBS, put_job, out, err);
}
