/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cachemon/store/store_impl.h"

struct cause {
	int code; /* primary or extended */
	int error;
	const char *why; /* NULL: the text of the system or SQLite */
	const char *what_to_do;
};

/* Extended codes come before their primary codes. */
static const struct cause causes[] = {
	{SQLITE_READONLY_DBMOVED, ESTALE, "the file was moved or deleted while it was written",
	 "Move it back, or start again with another --db."},
	{SQLITE_READONLY_DIRECTORY, EACCES, "its directory is not writable",
	 "Choose a --db in a writable directory."},
	{SQLITE_IOERR_NOMEM, ENOMEM, "out of memory", "Free some memory."},
	{SQLITE_IOERR_SHMSIZE, ENOSPC, "its -shm file cannot grow",
	 "Free some space there, or raise the limit of file sizes (ulimit -f)."},
	{SQLITE_FULL, ENOSPC, "no space left on the disk", "Free some space there."},
	{SQLITE_BUSY, EBUSY, "another program has locked it", "End that program's transaction."},
	{SQLITE_LOCKED, EBUSY, "another program has locked it", "End that program's transaction."},
	{SQLITE_READONLY, EROFS, "it is not writable", "Choose another --db."},
	{SQLITE_CANTOPEN, EACCES, NULL, "Choose a writable --db in a writable directory."},
	{SQLITE_NOTADB, EBADMSG, "the file is not an SQLite database", "Choose another --db."},
	{SQLITE_CORRUPT, EBADMSG, "the database is damaged",
	 "Save what sqlite3's .recover can read, and choose another --db."},
	{SQLITE_INTERRUPT, EBADMSG, "reading it takes too long for its size: it is damaged",
	 "Choose another --db."},
	{SQLITE_NOMEM, ENOMEM, "out of memory", "Free some memory."},
	{SQLITE_IOERR, EIO, NULL, "Look for disk errors in the kernel log."},
	{SQLITE_MISUSE, EINVAL, "a run takes part in it twice",
	 "This is a defect of cachemon: please report it."},
	{SQLITE_CONSTRAINT, EINVAL, NULL, "This is a defect of cachemon: please report it."},
};

/* SQLite may report an error as I/O although the disk is not at fault. */
static const struct cause system_causes[] = {
	{0, ENOSPC, "no space left on the disk", "Free some space there."},
	{0, EDQUOT, "the disk quota is used up", "Free some space there."},
	{0, EFBIG, "the limit of file sizes is reached", "Raise it (ulimit -f)."},
	{0, EMFILE, "too many open files", "Raise the limit (ulimit -n)."},
	{0, ENFILE, "too many open files on this machine", "Raise fs.file-max."},
};

static const struct cause *find_system_cause(int error)
{
	for (size_t i = 0; i < sizeof(system_causes) / sizeof(system_causes[0]); i++)
		if (system_causes[i].error == error)
			return &system_causes[i];
	return NULL;
}

static const struct cause *find_cause(int rc)
{
	static const struct cause other = {0, EIO, NULL, "Choose another --db."};

	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
		if (causes[i].code == rc || causes[i].code == (rc & 0xff))
			return &causes[i];
	return &other;
}

/* A COMMIT that fails leaves no errno in the connection, only in the file that was written. */
static int errno_of_files(sqlite3 *db)
{
	sqlite3_file *journal = NULL;
	int error = 0;

	if (!sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &journal) && journal &&
	    journal->pMethods)
		journal->pMethods->xFileControl(journal, SQLITE_FCNTL_LAST_ERRNO, &error);
	if (!error)
		sqlite3_file_control(db, "main", SQLITE_FCNTL_LAST_ERRNO, &error);
	return error;
}

static int system_error(sqlite3 *db, int rc)
{
	int primary = rc & 0xff, error = 0;

	if (db && (primary == SQLITE_CANTOPEN || primary == SQLITE_IOERR))
		error = sqlite3_system_errno(db);
	return db && !error && rc == SQLITE_IOERR_WRITE ? errno_of_files(db) : error;
}

int store_fail(sqlite3 *db, const char *path, int rc, const char *doing, const char *note,
	       struct errtext *err)
{
	const struct cause *c = find_cause(rc);
	int system = system_error(db, rc), error;
	const struct cause *of_system = find_system_cause(system);
	const char *why;

	if (!c->why && of_system)
		c = of_system;
	error = c->error;
	why = c->why;
	if (system && !why) {
		why = strerror(system);
		error = system;
	}
	if (!why)
		why = db ? sqlite3_errmsg(db) : sqlite3_errstr(rc);
	return errtext_set(err, -error, "cannot %s %s: %s. %s%s%s", doing, path, why, c->what_to_do,
			   note ? " " : "", note ? note : "");
}
