/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cachemon/base/cleanup.h"
#include "cachemon/base/file.h"
#include "cachemon/base/process.h"
#include "cachemon/store/store_impl.h"

enum { STAT_MAX = 4096 };

/*
 * The writer of a run. A pid alone would be reused, so a writer is identified by its boot, pid
 * namespace, pid and start time; a lock file could remain in the user's directory.
 */

/* From /proc/PID/stat; 0: unknown. */
static int64_t start_ticks(int64_t pid)
{
	_cleanup_free_ char *text = NULL;
	char name[64];
	const char *field;
	size_t len = 0;

	snprintf(name, sizeof(name), "/proc/%" PRId64 "/stat", pid);
	if (file_read(AT_FDCWD, name, STAT_MAX, &text, &len))
		return 0;
	field = process_stat_field(text, 22);
	return field ? strtoll(field, NULL, 10) : 0;
}

void writer_self(struct writer *ret_writer)
{
	struct writer w = {.pid = getpid()};
	struct stat sb;

	file_line("", "/proc/sys/kernel/random/boot_id", w.boot, sizeof(w.boot));
	if (!stat("/proc/self/ns/pid", &sb))
		w.pidns = (int64_t)sb.st_ino;
	w.start_ticks = start_ticks(w.pid);
	*ret_writer = w;
}

static bool writer_is_gone(const struct writer *w, bool same_host, const struct writer *self)
{
	int64_t ticks;

	if (!w->boot[0] || !self->boot[0])
		return false;
	if (strcmp(w->boot, self->boot) != 0)
		return same_host;
	/* In another pid namespace its pid has no meaning. */
	if (w->pidns != self->pidns || w->pid <= 0)
		return false;
	if (kill((pid_t)w->pid, 0) && errno == ESRCH)
		return true;
	ticks = start_ticks(w->pid);
	return ticks && w->start_ticks && ticks != w->start_ticks;
}

static void read_writer(sqlite3_stmt *stmt, struct writer *ret_writer)
{
	struct writer w = {
		.pidns = sqlite3_column_int64(stmt, 3),
		.pid = sqlite3_column_int64(stmt, 4),
		.start_ticks = sqlite3_column_int64(stmt, 5),
	};
	const char *boot = (const char *)sqlite3_column_text(stmt, 2);

	snprintf(w.boot, sizeof(w.boot), "%s", boot ? boot : "");
	*ret_writer = w;
}

static int mark_cut(sqlite3 *db, int64_t id)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, "UPDATE run SET state = 'cut' WHERE id = ?", -1, &stmt,
				    NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(stmt, 1, id);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Only visited rows change, so the select continues undisturbed. */
int writer_mark_cut(sqlite3 *db)
{
	sqlite3_stmt *stmt = NULL;
	struct utsname uts = {0};
	struct writer self;
	struct writer w;
	int rc;

	writer_self(&self);
	uname(&uts);
	rc = sqlite3_prepare_v2(db,
				"SELECT id, host, writer_boot, writer_pidns, writer_pid, "
				"writer_start_ticks FROM run WHERE state = 'open' ORDER BY id",
				-1, &stmt, NULL);
	while (rc == SQLITE_OK) {
		const char *host;

		rc = sqlite3_step(stmt);
		if (rc != SQLITE_ROW)
			break;
		host = (const char *)sqlite3_column_text(stmt, 1);
		read_writer(stmt, &w);
		rc = SQLITE_OK;
		if (!writer_is_gone(&w, host && !strcmp(host, uts.nodename), &self))
			continue;
		rc = mark_cut(db, sqlite3_column_int64(stmt, 0));
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}
