/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cachemon/store/store_impl.h"

/*
 * Who writes a run. A pid alone would be reused, so a writer is its boot, its pid namespace, its
 * pid and its start time; a lock file would stay behind in the user's directory.
 */

/* Field 22 of /proc/PID/stat; the command in field 2 may hold anything, also ')'. 0: not known. */
static int64_t start_ticks(int64_t pid)
{
	char name[64];
	char buf[1024];
	int64_t ticks = 0;
	const char *p;
	size_t len;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%" PRId64 "/stat", pid);
	f = fopen(name, "re");
	if (!f)
		return 0;
	len = fread(buf, 1, sizeof(buf) - 1, f);
	fclose(f);
	buf[len] = '\0';
	p = strrchr(buf, ')');
	for (int field = 2; p && field < 22; field++) {
		p = strchr(p, ' ');
		if (p)
			p++;
	}
	if (p && sscanf(p, "%" SCNd64, &ticks) != 1)
		ticks = 0;
	return ticks;
}

void writer_self(struct writer *ret_writer)
{
	struct writer w = {.pid = getpid()};
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
	struct stat sb;

	if (f) {
		if (fgets(w.boot, sizeof(w.boot), f))
			w.boot[strcspn(w.boot, "\n")] = '\0';
		fclose(f);
	}
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
	/* From another pid namespace its pid says nothing. */
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

/* Only rows that were visited are changed, so the select goes on undisturbed. */
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
