/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/daemon/node_rows.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachemon/db/db_open.h"

#define ROWS_MAX ((off_t)1 << 32)

static int map_rows(int fd, struct node_rows *rows)
{
	const int seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;
	int has = fcntl(fd, F_GET_SEALS);
	struct stat sb;

	if (has < 0 || (has & seals) != seals)
		return -EPERM;
	if (fstat(fd, &sb))
		return -errno;
	if (sb.st_size <= 0 || sb.st_size > ROWS_MAX)
		return -EFBIG;
	rows->bytes = (size_t)sb.st_size;
	rows->map = mmap(NULL, rows->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (rows->map == MAP_FAILED)
		rows->map = NULL;
	return rows->map ? 0 : -errno;
}

int node_rows_open(int fd, struct node_rows *ret, struct errtext *err)
{
	struct node_rows rows = {0};
	int e = map_rows(fd, &rows), rc = SQLITE_OK;

	close(fd);
	if (!e) {
		rc = db_open(NULL, DB_MEMORY, &rows.db);
		if (!rc)
			rc = sqlite3_deserialize(
				rows.db, "main", rows.map, (sqlite3_int64)rows.bytes,
				(sqlite3_int64)rows.bytes, SQLITE_DESERIALIZE_READONLY);
	}
	if (!e && !rc) {
		*ret = rows;
		return 0;
	}
	node_rows_close(&rows);
	if (e == -EPERM)
		return errtext_set(err, e,
				   "the daemon sent rows that can still change, so they were not "
				   "read; restart it with this version of cachemon");
	return errtext_set(err, e ?: -EIO, "cannot open the rows of the daemon: %s",
			   e ? strerror(-e) : sqlite3_errstr(rc));
}

void node_rows_close(struct node_rows *rows)
{
	sqlite3_close(rows->db);
	if (rows->map)
		munmap(rows->map, rows->bytes);
	*rows = (struct node_rows){0};
}
