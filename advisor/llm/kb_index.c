/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/llm/kb_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/rules/text.h"
#include "cachemon/base/cleanup.h"

enum { INDEXED_MAX = 64 * 1024 };

/* What stands in every note of a finding, or is about the program's decision, tells none apart. */
static bool is_left_out(struct span heading)
{
	return span_is(heading, "## How it is decided") || span_is(heading, "## Sources");
}

/* The words of a body, without code. */
static void put_body(FILE *out, const char *body)
{
	struct lines lines = {.next = body};
	struct span line;
	bool fenced = false, left_out = false;

	while (ftell(out) < INDEXED_MAX && lines_next(&lines, &line)) {
		struct span text = span_trim(line);

		if (span_begins(text, "```")) {
			fenced = !fenced;
			continue;
		}
		if (fenced)
			continue;
		if (span_begins(text, "#")) {
			left_out = is_left_out(text);
			continue;
		}
		if (!left_out)
			fprintf(out, "%.*s\n", (int)text.len, text.at);
	}
}

static int bind(sqlite3_stmt *insert, int column, const char *first, const char *second)
{
	char *text = sqlite3_mprintf("%s %s", first ? first : "", second ? second : "");

	return text ? sqlite3_bind_text(insert, column, text, -1, sqlite3_free) : SQLITE_NOMEM;
}

static int put(sqlite3_stmt *insert, const struct note *n, size_t i)
{
	_cleanup_free_ char *body = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&body, &len);
	int rc = SQLITE_OK;

	if (!out)
		return SQLITE_NOMEM;
	put_body(out, n->body);
	if (fclose(out) != 0)
		return SQLITE_NOMEM;
	sqlite3_bind_int64(insert, 1, (sqlite3_int64)i + 1);
	if ((rc = bind(insert, 2, n->id, n->title)) || (rc = bind(insert, 3, n->keywords, NULL)) ||
	    (rc = bind(insert, 4, n->precondition, n->action)) ||
	    (rc = sqlite3_bind_text(insert, 5, body, (int)len, SQLITE_STATIC)))
		return rc;
	rc = sqlite3_step(insert);
	sqlite3_reset(insert);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int fill(struct kb *kb)
{
	sqlite3_stmt *insert = NULL;
	int rc = sqlite3_prepare_v2(kb->db,
				    "INSERT INTO kb(rowid, title, keywords, action, body) "
				    "VALUES (?1, ?2, ?3, ?4, ?5)",
				    -1, &insert, NULL);

	for (size_t i = 0; i < kb->nr_notes && !rc; i++)
		rc = put(insert, &kb->notes[i].note, i);
	sqlite3_finalize(insert);
	return rc;
}

int kb_index(struct kb *kb, struct errtext *err)
{
	int rc = sqlite3_open_v2(":memory:", &kb->db,
				 SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
				 NULL);

	if (!rc)
		rc = sqlite3_exec(
			kb->db,
			"CREATE VIRTUAL TABLE kb USING fts5(title, keywords, action, body, "
			"content='', tokenize='porter unicode61')",
			NULL, NULL, NULL);
	if (rc == SQLITE_ERROR)
		return errtext_set(err, -ENOTSUP,
				   "notes cannot be searched: %s; SQLite is needed with its FTS5",
				   sqlite3_errmsg(kb->db));
	if (!rc)
		rc = sqlite3_exec(kb->db, "BEGIN", NULL, NULL, NULL);
	if (!rc)
		rc = fill(kb);
	if (!rc)
		rc = sqlite3_exec(kb->db, "COMMIT", NULL, NULL, NULL);
	if (!rc)
		rc = sqlite3_prepare_v2(kb->db,
					"SELECT rowid, -bm25(kb, 8.0, 5.0, 3.0, 1.0) FROM kb "
					"WHERE kb MATCH ?1",
					-1, &kb->search, NULL);
	return rc ? errtext_set(err, rc == SQLITE_NOMEM ? -ENOMEM : -EIO,
				"notes cannot be made searchable: %s", sqlite3_errstr(rc))
		  : 0;
}
