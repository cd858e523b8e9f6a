/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/db/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/db/db_open.h"
#include "cachemon/db/db_rows.h"
#include "migrations.h"
#include "whole_schema.h"

enum { OBJECTS_MAX = 128, NAME_SHOWN = 64 };

/* A row of sqlite_schema. */
struct object {
	const char *type;
	const char *name;
	const char *table;
	const char *sql; /* comments and white space become one blank; or NULL */
	int since;	 /* version */
	int seen;
};

struct objects {
	struct arena texts;
	struct object list[OBJECTS_MAX];
	size_t nr;
};

bool migration_at(size_t i, struct migration *ret)
{
	if (i >= sizeof(migrations) / sizeof(migrations[0]))
		return false;
	*ret = (struct migration){migrations[i].name, migrations[i].text};
	return true;
}

int migration_version(const struct migration *m)
{
	return (int)strtol(m->name, NULL, 10);
}

const char *schema_whole(void)
{
	return whole_schema[0].text;
}

/* The end of a comment, or p itself. */
static const char *skip_comment(const char *p)
{
	if (p[0] == '-' && p[1] == '-')
		return p + strcspn(p, "\n");
	if (p[0] == '/' && p[1] == '*') {
		const char *end = strstr(p + 2, "*/");

		return end ? end + 2 : p + strlen(p);
	}
	return p;
}

/* The end of a quoted text, or p itself. A doubled quote ends it and begins another. */
static const char *skip_quoted(const char *p)
{
	char close = *p == '[' ? ']' : *p;
	const char *end = NULL;

	if (!strchr("'\"`[", *p))
		return p;
	end = strchr(p + 1, close);
	return end ? end + 1 : p + strlen(p);
}

static void normalize_sql(char *sql)
{
	const char *p = sql;
	char *out = sql;

	while (*p) {
		const char *after = skip_comment(p);

		if (after == p && strchr(" \t\n\f\r", *p))
			after = p + 1;
		if (after != p) {
			if (out > sql && out[-1] != ' ')
				*out++ = ' ';
			p = after;
			continue;
		}
		after = skip_quoted(p);
		if (after == p)
			after++;
		memmove(out, p, (size_t)(after - p));
		out += after - p;
		p = after;
	}
	*out = '\0';
}

static struct object *find_object(struct objects *all, const char *name)
{
	for (size_t i = 0; i < all->nr; i++)
		if (!sqlite3_stricmp(all->list[i].name, name))
			return &all->list[i];
	return NULL;
}

static struct rows begin_objects(sqlite3 *db, struct arena *texts)
{
	return rows_begin(db, texts, "SELECT type, name, tbl_name, sql FROM main.sqlite_schema", 0,
			  NULL);
}

static bool next_object(struct rows *r, struct object *ret)
{
	char *sql;

	if (!rows_next(r))
		return false;
	ret->type = rows_bytes(r).data;
	ret->name = rows_bytes(r).data;
	ret->table = rows_bytes(r).data;
	sql = (char *)rows_bytes(r).data; /* the arena's */
	if (r->arena->failed)
		r->rc = SQLITE_NOMEM;
	else if (!ret->type || !ret->name || !ret->table)
		r->rc = SQLITE_CORRUPT;
	if (r->rc == SQLITE_ROW && sql)
		normalize_sql(sql);
	ret->sql = sql;
	return r->rc == SQLITE_ROW;
}

static int end_objects(struct rows *r)
{
	sqlite3_finalize(r->stmt);
	return r->rc == SQLITE_DONE || r->rc == SQLITE_ROW ? SQLITE_OK : r->rc;
}

/* The unknown ones, which this version added. */
static int take_version(struct objects *all, sqlite3 *db, int version)
{
	struct rows r = begin_objects(db, &all->texts);
	struct object o = {.since = version};

	while (next_object(&r, &o))
		if (!find_object(all, o.name) && all->nr < OBJECTS_MAX)
			all->list[all->nr++] = o;
	return end_objects(&r);
}

/* The schema of that version, and the names that later versions add. */
static int make_reference(int version, struct objects *all)
{
	struct migration m;
	sqlite3 *db = NULL;
	int rc = db_open(NULL, DB_MEMORY, &db);

	/* Nothing was added after the newest version, and everything after version 0. */
	if (rc == SQLITE_OK && (version == SCHEMA_NEWEST || !version)) {
		rc = sqlite3_exec(db, schema_whole(), NULL, NULL, NULL);
		if (rc == SQLITE_OK)
			rc = take_version(all, db, SCHEMA_NEWEST);
		sqlite3_close(db);
		return rc;
	}
	for (size_t i = 0; rc == SQLITE_OK && migration_at(i, &m); i++) {
		struct migration next;
		bool last = !migration_at(i + 1, &next);

		rc = sqlite3_exec(db, m.text, NULL, NULL, NULL);
		if (rc == SQLITE_OK && (migration_version(&m) == version || last))
			rc = take_version(all, db, migration_version(&m));
	}
	sqlite3_close(db);
	return rc;
}

/* An untrusted name, made safe for people. */
static void show_name(const char *name, char buf[NAME_SHOWN])
{
	size_t n = 0;

	for (; n < NAME_SHOWN - 1 && name[n]; n++)
		buf[n] = (char)(name[n] < ' ' || name[n] > '~' ? '?' : name[n]);
	buf[n] = '\0';
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static void compare_object(struct objects *all, int version, const struct object *o, char *what,
			   size_t size)
{
	char type[NAME_SHOWN], name[NAME_SHOWN], table[NAME_SHOWN];
	struct object *ours = find_object(all, o->name);

	if (!ours && !find_object(all, o->table))
		return;
	if (ours && ours->since <= version && same_text(o->type, ours->type) &&
	    same_text(o->table, ours->table) && same_text(o->sql, ours->sql) && !ours->seen++)
		return;
	show_name(o->type, type);
	show_name(o->name, name);
	show_name(o->table, table);
	if (!ours)
		snprintf(what, size, "it has the %s '%s' on '%s', which cachemon did not create",
			 type, name, table);
	else if (!same_text(o->type, ours->type))
		snprintf(what, size, "it has a %s instead of the %s '%s'", type, ours->type, name);
	else
		snprintf(what, size, "its %s '%s' differs from cachemon's schema", type, name);
}

static int compare_all(struct objects *all, int version, sqlite3 *db, char *what, size_t size)
{
	struct arena texts = {0}; /* of one object; a site may have any number */
	struct rows r = begin_objects(db, &texts);
	struct object o = {0};
	int rc;

	while (!*what && next_object(&r, &o)) {
		compare_object(all, version, &o, what, size);
		arena_free(&texts);
	}
	arena_free(&texts);
	rc = end_objects(&r);
	for (size_t i = 0; i < all->nr && !*what && rc == SQLITE_OK; i++)
		if (all->list[i].since <= version && !all->list[i].seen)
			snprintf(what, size, "its %s '%s' is missing", all->list[i].type,
				 all->list[i].name);
	return rc;
}

/* The views of a file are disabled: a replaced view is not read. */
static int make_views(const struct objects *all, sqlite3 *db)
{
	int rc = SQLITE_OK;

	for (size_t i = 0; i < all->nr && rc == SQLITE_OK; i++) {
		const struct object *o = &all->list[i];
		char *sql = NULL;

		if (!o->seen || strcmp(o->type, "view") != 0)
			continue;
		sql = sqlite3_mprintf("CREATE TEMP %s", o->sql + strlen("CREATE "));
		rc = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
		sqlite3_free(sql);
	}
	return rc;
}

int schema_check(sqlite3 *db, bool views, char *ret_what, size_t size)
{
	/* In one transaction, because another program could change version and tables in
	 * between. */
	bool own = sqlite3_get_autocommit(db);
	struct objects all = {.nr = 0};
	int64_t version = 0;
	int rc = own ? sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) : SQLITE_OK;

	*ret_what = '\0';
	if (rc == SQLITE_OK)
		rc = rows_first(db, "PRAGMA user_version", &version);
	if (rc == SQLITE_OK)
		rc = make_reference((int)version, &all);
	if (rc == SQLITE_OK)
		rc = compare_all(&all, (int)version, db, ret_what, size);
	if (rc == SQLITE_OK && views && !*ret_what)
		rc = make_views(&all, db);
	if (own && !sqlite3_get_autocommit(db))
		sqlite3_exec(db, rc == SQLITE_OK ? "COMMIT" : "ROLLBACK", NULL, NULL, NULL);
	arena_free(&all.texts);
	return rc;
}
