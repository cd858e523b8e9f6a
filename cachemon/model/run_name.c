/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/model/run_name.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cachemon/db/db_read.h"
#include "cachemon/base/parse.h"

enum { UUID_LEN = 36 };

/* How many runs before the last one; false: another kind of name. */
static bool parse_last(const char *name, uint64_t *ret_back)
{
	if (strcmp(name, "last") == 0) {
		*ret_back = 0;
		return true;
	}
	return strncmp(name, "last-", 5) == 0 && parse_u64(name + 5, ret_back) == 0 &&
	       *ret_back < INT64_MAX;
}

static bool is_uuid_beginning(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < len; i++)
		if (!isxdigit((unsigned char)name[i]) && name[i] != '-')
			return false;
	return len > 0 && len <= UUID_LEN;
}

bool run_name_is(const char *name)
{
	uint64_t back = 0;

	return parse_last(name, &back) || is_uuid_beginning(name);
}

/* The first two rows of a question with one parameter, which is text or a number. */
static int ask(sqlite3 *db, const char *sql, const char *text, int64_t number, int64_t ids[2],
	       int *ret_nr, struct errtext *err)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
	int nr = 0;

	if (rc == SQLITE_OK)
		rc = text ? sqlite3_bind_text(stmt, 1, text, -1, SQLITE_STATIC)
			  : sqlite3_bind_int64(stmt, 1, number);
	while (rc == SQLITE_OK && nr < 2 && sqlite3_step(stmt) == SQLITE_ROW)
		ids[nr++] = sqlite3_column_int64(stmt, 0);
	if (sqlite3_finalize(stmt) != SQLITE_OK || rc != SQLITE_OK)
		return report_db_error(db, err);
	*ret_nr = nr;
	return 0;
}

int run_name_find(sqlite3 *db, const char *name, int64_t *ret_id, struct errtext *err)
{
	uint64_t value = 0;
	int64_t ids[2] = {0};
	int nr = 0;
	int ret;

	if (parse_last(name, &value)) {
		ret = ask(db, "SELECT id FROM run ORDER BY id DESC LIMIT 1 OFFSET ?1", NULL,
			  (int64_t)value, ids, &nr, err);
	} else {
		ret = 0;
		if (parse_u64(name, &value) == 0 && value <= INT64_MAX)
			ret = ask(db, "SELECT id FROM run WHERE id = ?1", NULL, (int64_t)value, ids,
				  &nr, err);
		if (!ret && !nr && is_uuid_beginning(name))
			ret = ask(db,
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
		return errtext_set(err, -EEXIST,
				   "the uuids of several runs begin with '%.36s'; give more of it.",
				   name);
	return errtext_set(err, -ENOENT, "no run '%.36s': see 'cachemon runs'.", name);
}
