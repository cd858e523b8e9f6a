/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "store/store_impl.h"

struct cause {
	int code; /* primary or extended */
	int error;
	const char *why; /* NULL: the system's or SQLite's words */
	const char *what_to_do;
};

/* Extended codes before the primary ones that they belong to. */
static const struct cause causes[] = {
	{SQLITE_READONLY_DBMOVED, ESTALE, "the file was moved or deleted while it was written",
	 "Move it back, or start again."},
	{SQLITE_READONLY_DIRECTORY, EACCES, "its directory cannot be written",
	 "Choose a --db in a directory that can."},
	{SQLITE_IOERR_NOMEM, ENOMEM, "out of memory", "Free some memory."},
	{SQLITE_FULL, ENOSPC, "no space left on the disk", "Free some space there."},
	{SQLITE_BUSY, EBUSY, "another program keeps it locked", "End that program's transaction."},
	{SQLITE_LOCKED, EBUSY, "another program keeps it locked",
	 "End that program's transaction."},
	{SQLITE_READONLY, EROFS, "it cannot be written", "Choose another --db."},
	{SQLITE_CANTOPEN, EACCES, NULL,
	 "Choose a --db that can be written, in a directory that can."},
	{SQLITE_NOTADB, EBADMSG, "the file is not an SQLite database", "Choose another --db."},
	{SQLITE_CORRUPT, EBADMSG, "the database is damaged",
	 "Save what sqlite3's .recover can read and choose another --db."},
	{SQLITE_NOMEM, ENOMEM, "out of memory", "Free some memory."},
	{SQLITE_IOERR, EIO, NULL, "Look for disk errors in the kernel log."},
	{SQLITE_CONSTRAINT, EINVAL, NULL, "This is a defect of cachemon: please report it."},
};

static const struct cause *find_cause(int rc)
{
	static const struct cause other = {0, EIO, NULL, "Choose another --db."};

	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
		if (causes[i].code == rc || causes[i].code == (rc & 0xff))
			return &causes[i];
	return &other;
}

int store_fail(sqlite3 *db, const char *path, int rc, const char *doing, const char *note,
	       char err[STORE_ERROR_MAX])
{
	const struct cause *c = find_cause(rc);
	int primary = rc & 0xff;
	int error = c->error;
	const char *why = c->why;
	int system = 0;

	if (primary == SQLITE_CANTOPEN || primary == SQLITE_IOERR)
		system = db ? sqlite3_system_errno(db) : 0;
	if (system && !why) {
		why = strerror(system);
		/* A quota or a full disk can come in through a call that SQLite takes for I/O. */
		error = system;
	}
	if (!why)
		why = db ? sqlite3_errmsg(db) : sqlite3_errstr(rc);
	snprintf(err, STORE_ERROR_MAX, "cannot %s %s: %s. %s%s%s", doing, path, why, c->what_to_do,
		 note ? " " : "", note ? note : "");
	return -error;
}
