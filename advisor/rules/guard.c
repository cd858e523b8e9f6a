/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/rules/guard.h"

#include <errno.h>
#include <stdio.h>
#include <strings.h>

enum { STEPS_EACH = 10000 };

static const char *action_name(int action)
{
	switch (action) {
	case SQLITE_ATTACH:
		return "ATTACH";
	case SQLITE_DETACH:
		return "DETACH";
	case SQLITE_PRAGMA:
		return "PRAGMA";
	case SQLITE_INSERT:
		return "INSERT";
	case SQLITE_UPDATE:
		return "UPDATE";
	case SQLITE_DELETE:
		return "DELETE";
	case SQLITE_TRANSACTION:
	case SQLITE_SAVEPOINT:
		return "a transaction";
	default:
		return "a change of the schema";
	}
}

static bool is_allowed(int action, const char *name)
{
	/* What is there for a shell, or for a library's own use. */
	static const char *const functions[] = {"load_extension", "fts3_tokenizer", "readfile",
						"writefile",	  "edit",	    "randomblob",
						"zeroblob"};

	if (action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_RECURSIVE)
		return true;
	if (action != SQLITE_FUNCTION || !name)
		return false;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (strcasecmp(name, functions[i]) == 0)
			return false;
	return true;
}

static int authorize(void *arg, int action, const char *a, const char *b, const char *database,
		     const char *view)
{
	struct guard *g = arg;

	if (is_allowed(action, b))
		return SQLITE_OK;
	if (action == SQLITE_FUNCTION)
		snprintf(g->refused, sizeof(g->refused), "the function %s()", b ? b : "");
	else
		snprintf(g->refused, sizeof(g->refused), "%s%s%s", action_name(action),
			 action == SQLITE_PRAGMA && a ? " " : "",
			 action == SQLITE_PRAGMA && a ? a : "");
	return SQLITE_DENY;
}

static int progress(void *arg)
{
	struct guard *g = arg;

	g->exhausted = g->steps_left < STEPS_EACH;
	g->steps_left -= g->exhausted ? g->steps_left : STEPS_EACH;
	return g->exhausted;
}

int guard_enter(struct guard *g, sqlite3 *db, uint64_t steps)
{
	/* What takes JSON apart declares its table when it is first used, which looks like a
	 * change. */
	static const char warm[] = "SELECT 1 FROM json_each('[]'), json_tree('[]')";

	*g = (struct guard){.db = db, .steps_left = steps};
	if (sqlite3_exec(db, warm, NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL) != SQLITE_OK ||
	    sqlite3_exec(db, "PRAGMA query_only = ON", NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_set_authorizer(db, authorize, g) != SQLITE_OK)
		return -EIO;
	sqlite3_progress_handler(db, STEPS_EACH, progress, g);
	return 0;
}

void guard_leave(struct guard *g)
{
	if (!g->db)
		return;
	sqlite3_progress_handler(g->db, 0, NULL, NULL);
	sqlite3_set_authorizer(g->db, NULL, NULL);
	sqlite3_exec(g->db, "PRAGMA query_only = OFF", NULL, NULL, NULL);
	g->db = NULL;
}
