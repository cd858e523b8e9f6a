/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: report account db access */
/* A database with a modified schema is refused, with the name of the object, by readers and by
 * writers; allowed additions. */
#include "fixtures/report/fixture.h"

#include <errno.h>

#include "cachemon/base/errtext.h"
#include "cachemon/db/schema.h"
#include "cachemon/db/db_read.h"

static void assert_check(struct fixture *f, const char *want)
{
	char what[256] = "";

	assert_int_equal(schema_check(f->sql, false, what, sizeof(what)), SQLITE_OK);
	if (strcmp(what, want) != 0)
		fail_msg("'%s', not '%s'", what, want);
}

/* Checks that the schema is unchanged before, and as in want after change; then undoes it. */
static void assert_changed(struct fixture *f, const char *change, const char *want)
{
	fixture_sql(f, "SAVEPOINT before");
	fixture_sql(f, "%s", change);
	assert_check(f, want);
	fixture_sql(f, "ROLLBACK TO before; RELEASE before");
	assert_check(f, "");
}

static void every_version(void **state)
{
	struct fixture *f = *state;

	for (int version = SCHEMA_NEWEST; version >= 1; version--) {
		fixture_older(f, version);
		assert_check(f, "");
	}
}

static void of_a_site(void **state)
{
	struct fixture *f = *state;

	assert_changed(f, "CREATE TABLE notes (run_id REFERENCES run (id), text)", "");
	assert_changed(f, "CREATE VIEW v AS SELECT * FROM run", "");
	assert_changed(f,
		       "CREATE TABLE n (a); CREATE INDEX i ON n (a + 1); CREATE TRIGGER t AFTER "
		       "INSERT ON n BEGIN SELECT 1; END",
		       "");
	assert_changed(f,
		       "INSERT INTO file (job_id, dev_major, dev_minor, ino, gen) VALUES "
		       "(1, 1, 1, 1, 1); ANALYZE",
		       "");
}

static void triggers(void **state)
{
	static const char *const kinds[] = {
		"AFTER INSERT ON run",		"BEFORE INSERT ON interval",
		"AFTER UPDATE ON job",		"BEFORE DELETE ON interval",
		"AFTER UPDATE OF state ON RUN", "INSTEAD OF INSERT ON evicting_job",
	};
	static const char *const on[] = {"run",	     "interval", "job",
					 "interval", "RUN",	 "evicting_job"};
	struct fixture *f = *state;
	char sql[200], want[200];

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		snprintf(sql, sizeof(sql), "CREATE TRIGGER tt %s BEGIN SELECT 1; END", kinds[i]);
		snprintf(want, sizeof(want),
			 "it has the trigger 'tt' on '%s', which cachemon did not create", on[i]);
		assert_changed(f, sql, want);
	}
}

static void indexes(void **state)
{
	struct fixture *f = *state;

	assert_changed(f, "CREATE INDEX x ON run (host)",
		       "it has the index 'x' on 'run', which cachemon did not create");
	assert_changed(f, "CREATE UNIQUE INDEX x ON interval (abs(id))",
		       "it has the index 'x' on 'interval', which cachemon did not create");
	assert_changed(f, "CREATE INDEX x ON file (ino) WHERE ino > 1",
		       "it has the index 'x' on 'file', which cachemon did not create");
	assert_changed(f, "DROP INDEX interval_run", "its index 'interval_run' is missing");
	assert_changed(f,
		       "DROP INDEX interval_run; CREATE INDEX interval_run ON interval (start_ns)",
		       "its index 'interval_run' differs from cachemon's schema");
}

/* Replaces the definition of an object in the file, even with one that SQLite would refuse. */
static void rewrite(struct fixture *f, const char *name, const char *from, const char *to)
{
	sqlite3_db_config(f->sql, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
	fixture_sql(f,
		    "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = "
		    "replace(sql, %Q, %Q) WHERE name = %Q; PRAGMA writable_schema = OFF",
		    from, to, name);
	assert_int_equal(sqlite3_changes(f->sql), 1);
}

static void definitions(void **state)
{
	static const struct {
		const char *name, *from, *to;
		bool same;
	} cases[] = {
		{"run", "CHECK (duration_ns >= 0)", "CHECK (duration_ns >= -1)", false},
		{"run", "host TEXT NOT NULL", "host TEXT NOT NULL DEFAULT (hex(zeroblob(9)))",
		 false},
		{"run", "host TEXT NOT NULL", "host TEXT AS (uuid) VIRTUAL", false},
		{"run", ") STRICT", ")", false},
		{"unmeasured", "STRICT, WITHOUT ROWID", "WITHOUT ROWID", false},
		{"probe", "'live', 'absent'", "'live',  'absent'", true},
		{"probe", "'live'", "'live '", false},
		{"probe", "'live'", "'li/**/ve'", false},
		{"probe", "state TEXT", "state/* of it */TEXT -- why\n", true},
		{"interval_run", "start_ns", "start_ns DESC", false},
		{"evicting_job", "evictor_kind = 'others'", "evictor_kind <> 'others'", false},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char want[200] = "";
		const char *type = !strcmp(cases[i].name, "interval_run")   ? "index"
				   : !strcmp(cases[i].name, "evicting_job") ? "view"
									    : "table";

		if (!cases[i].same)
			snprintf(want, sizeof(want), "its %s '%s' differs from cachemon's schema",
				 type, cases[i].name);
		fixture_sql(f, "SAVEPOINT before");
		rewrite(f, cases[i].name, cases[i].from, cases[i].to);
		assert_check(f, want);
		fixture_sql(f, "ROLLBACK TO before; RELEASE before");
		assert_check(f, "");
	}
}

/* Replaces each table by a view of its content. */
static void views_for_tables(void **state)
{
	struct fixture *f = *state;
	char **names = NULL;
	int nr = 0;

	assert_int_equal(sqlite3_get_table(f->sql,
					   "SELECT name FROM sqlite_schema WHERE type = 'table' "
					   "AND name NOT LIKE 'sqlite_%'",
					   &names, &nr, NULL, NULL),
			 SQLITE_OK);
	assert_true(nr > 20);
	fixture_sql(f, "PRAGMA legacy_alter_table = ON");
	for (int i = 1; i <= nr; i++) {
		char sql[300], what[256] = "";

		snprintf(sql, sizeof(sql),
			 "ALTER TABLE %s RENAME TO zz; CREATE VIEW %s AS SELECT * FROM zz",
			 names[i], names[i]);
		fixture_sql(f, "SAVEPOINT before");
		fixture_sql(f, "%s", sql);
		assert_int_equal(schema_check(f->sql, false, what, sizeof(what)), SQLITE_OK);
		/* On an index of the table, if it has one. */
		assert_true(*what);
		fixture_sql(f, "ROLLBACK TO before; RELEASE before");
	}
	sqlite3_free_table(names);
}

/* The names of later versions are reserved: an old file has no objects with these names. */
static void names_of_later_versions(void **state)
{
	struct fixture *f = *state;

	fixture_older(f, 1);
	assert_changed(f, "CREATE TABLE filesystem (id)",
		       "its table 'filesystem' differs from cachemon's schema");
	assert_changed(f, "CREATE VIEW wording AS SELECT 1",
		       "it has a view instead of the table 'wording'");
	assert_changed(f, "CREATE TABLE x (a); CREATE INDEX wording_run ON x (a)",
		       "its index 'wording_run' differs from cachemon's schema");
	fixture_sql(f, "PRAGMA user_version = 0");
	assert_check(f, "its table 'run' differs from cachemon's schema");
}

static void readers_refuse(void **state)
{
	struct fixture *f = *state;
	struct errtext err = {""};
	sqlite3 *db = NULL;

	fixture_sql(f, "CREATE TRIGGER \"t\x1b[31m'\" AFTER INSERT ON run BEGIN SELECT 1; END");
	assert_int_equal(db_read_open(f->db, &db, &err), -EMEDIUMTYPE);
	assert_non_null(
		strstr(err.text, "it has the trigger 't?[31m'' on 'run', which cachemon did not"));
	fixture_sql(f, "DROP TRIGGER \"t\x1b[31m'\"");
	assert_int_equal(db_read_open(f->db, &db, &err), 0);
	/* Afterwards too: views of the file are disabled, and ours is not in the file. */
	fixture_sql(f, "DROP VIEW evicting_job; CREATE VIEW evicting_job AS SELECT 7 AS job_id");
	assert_int_equal(sqlite3_exec(db, "SELECT depth_bytes FROM evicting_job", NULL, NULL, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "SELECT * FROM main.evicting_job", NULL, NULL, NULL),
			 SQLITE_ERROR);
	sqlite3_close(db);
}

/* A statement that never ends, in a small file. */
static void time_is_bounded(void **state)
{
	struct fixture *f = *state;
	struct errtext err = {""};
	sqlite3 *db = NULL;

	assert_int_equal(db_read_open(f->db, &db, &err), 0);
	assert_int_equal(
		sqlite3_exec(db,
			     "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
			     "SELECT max(x) FROM c",
			     NULL, NULL, NULL),
		SQLITE_INTERRUPT);
	assert_int_equal(db_read_error(db, &err), -EIO);
	assert_non_null(strstr(err.text, "takes too long for its size"));
	sqlite3_close(db);
}

#define SCHEMA_TEST(t) cmocka_unit_test_setup_teardown(t, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCHEMA_TEST(every_version),
		SCHEMA_TEST(of_a_site),
		SCHEMA_TEST(triggers),
		SCHEMA_TEST(indexes),
		SCHEMA_TEST(definitions),
		SCHEMA_TEST(views_for_tables),
		SCHEMA_TEST(names_of_later_versions),
		SCHEMA_TEST(readers_refuse),
		SCHEMA_TEST(time_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
