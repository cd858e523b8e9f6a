/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "cachemon/store/store_impl.h"

struct binder bind_first(struct store *st, enum statement s)
{
	return (struct binder){.stmt = st->statements[s], .column = 1, .rc = SQLITE_OK};
}

static void keep(struct binder *b, int rc)
{
	if (b->rc == SQLITE_OK)
		b->rc = rc;
	b->column++;
}

void bind_int(struct binder *b, int64_t v)
{
	keep(b, sqlite3_bind_int64(b->stmt, b->column, v));
}

void bind_known(struct binder *b, bool known, int64_t v)
{
	if (known)
		bind_int(b, v);
	else
		keep(b, sqlite3_bind_null(b->stmt, b->column));
}

void bind_real(struct binder *b, double v)
{
	if (v >= 0)
		keep(b, sqlite3_bind_double(b->stmt, b->column, v));
	else
		keep(b, sqlite3_bind_null(b->stmt, b->column));
}

/* Borrowed until bind_run(). */
void bind_text(struct binder *b, const char *text)
{
	keep(b, sqlite3_bind_text(b->stmt, b->column, text, -1, SQLITE_STATIC));
}

void bind_bytes(struct binder *b, const char *bytes)
{
	int len = bytes ? (int)strlen(bytes) : 0;

	keep(b, sqlite3_bind_blob(b->stmt, b->column, bytes, len, SQLITE_STATIC));
}

void bind_blob(struct binder *b, const void *data, size_t len)
{
	keep(b, sqlite3_bind_blob64(b->stmt, b->column, data, len, SQLITE_STATIC));
}

void bind_counters(struct binder *b, const struct counters *c, const bool *measured)
{
	for (int i = 0; i < C_NR; i++)
		bind_known(b, measured[i], c->c[i]);
}

int bind_run(struct binder *b)
{
	int rc = b->rc;

	if (rc != SQLITE_OK)
		return rc;
	rc = sqlite3_step(b->stmt);
	/* The reset repeats the error of the step. */
	sqlite3_reset(b->stmt);
	return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : rc;
}
