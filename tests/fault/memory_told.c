/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For LD_PRELOAD: at the end of each transaction the program appends a line to the file
 * MEMORY_TOLD, with the counts of malloc and SQLite: bytes allocated, bytes that malloc has from
 * the kernel for them, and the part that is SQLite's page cache.
 * GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0 makes it exact to the byte:
 * otherwise chunks cached by malloc count as allocated.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int exec_fn(sqlite3 *, const char *, sqlite3_callback, void *, char **);

static void tell(FILE *to)
{
	struct mallinfo2 heap = mallinfo2();
	sqlite3_int64 cache = 0, most = 0;

	/* SQLite has no preallocated buffer for pages, so all of them count as overflow. */
	sqlite3_status64(SQLITE_STATUS_PAGECACHE_OVERFLOW, &cache, &most, 0);
	fprintf(to, "%zu %zu %lld\n", heap.uordblks + heap.hblkhd, heap.arena + heap.hblkhd,
		(long long)cache);
	fflush(to);
}

int sqlite3_exec(sqlite3 *db, const char *sql, sqlite3_callback callback, void *arg, char **ret_err)
{
	static exec_fn *exec;
	static FILE *to;
	int rc;

	if (!exec) {
		exec = (exec_fn *)dlsym(RTLD_NEXT, "sqlite3_exec");
		to = fopen(getenv("MEMORY_TOLD"), "ae");
		if (!exec || !to)
			abort();
	}
	rc = exec(db, sql, callback, arg, ret_err);
	if (sql && !strcmp(sql, "COMMIT"))
		tell(to);
	return rc;
}
