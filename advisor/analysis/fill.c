/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/analysis/fill.h"

#include <errno.h>
#include <math.h>

int fill_error(sqlite3 *db, const char *what, struct errtext *err)
{
	return errtext_set(err, -EIO, "cannot analyse the run (%s): %s", what, rows_error(db));
}

int fill_finish(struct rows *r, int e, const char *what, struct errtext *err)
{
	int end = rows_finish(r);

	if (e || !end || end == -ENOMEM)
		return e ? e : end;
	return fill_error(r->db, what, err);
}

struct fill_row fill_begin(sqlite3 *db, const char *sql)
{
	struct fill_row f = {.rc = SQLITE_OK};

	f.rc = sqlite3_prepare_v2(db, sql, -1, &f.stmt, NULL);
	return f;
}

void fill_null(struct fill_row *f)
{
	f->column++;
}

static void remember_code(struct fill_row *f, int rc)
{
	f->rc = f->rc == SQLITE_OK ? rc : f->rc;
}

void fill_integer(struct fill_row *f, int64_t v)
{
	remember_code(f, sqlite3_bind_int64(f->stmt, ++f->column, v));
}

void fill_real(struct fill_row *f, double v)
{
	remember_code(f, sqlite3_bind_double(f->stmt, ++f->column, v));
}

void fill_ratio(struct fill_row *f, double v)
{
	if (v < 0)
		fill_null(f);
	else
		fill_real(f, v);
}

void fill_pages(struct fill_row *f, double pages)
{
	if (pages < 0)
		fill_null(f);
	else
		fill_integer(f, (int64_t)llround(pages));
}

void fill_text(struct fill_row *f, const char *text)
{
	if (text && *text)
		remember_code(f,
			      sqlite3_bind_text(f->stmt, ++f->column, text, -1, SQLITE_TRANSIENT));
	else
		fill_null(f);
}

void fill_blob(struct fill_row *f, const struct bytes *b)
{
	if (b->data)
		remember_code(f, sqlite3_bind_blob(f->stmt, ++f->column, b->data, (int)b->len,
						   SQLITE_TRANSIENT));
	else
		fill_null(f);
}

bool fill_insert(struct fill_row *f)
{
	bool good = f->rc == SQLITE_OK && sqlite3_step(f->stmt) == SQLITE_DONE;

	f->column = 0;
	if (!f->stmt)
		return false;
	sqlite3_reset(f->stmt);
	sqlite3_clear_bindings(f->stmt);
	return good;
}

void fill_end(struct fill_row *f)
{
	sqlite3_finalize(f->stmt);
}
