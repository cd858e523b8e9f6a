/* SPDX-License-Identifier: BSD-2-Clause */
#include "faults.h"

#include <errno.h>
#include <sqlite3.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Allocators have no argument for it, so the state is static. One thread. */
static struct {
	sqlite3_vfs *real;
	sqlite3_vfs shim;
	sqlite3_mem_methods memory;
	bool armed;
	bool fired;
	struct fault fault;
	unsigned long counts[FAULT_OP_NR];
} state;

struct shim_file {
	sqlite3_file base;
	sqlite3_file *real; /* follows this struct */
};

static bool needs_disk(enum fault_op op)
{
	return op == FAULT_WRITE || op == FAULT_SYNC || op == FAULT_TRUNCATE || op == FAULT_SHM;
}

/* Counts one more operation of that kind: is it the one that fails? */
static bool fails(enum fault_op op)
{
	if (!state.armed)
		return false;
	state.counts[op]++;
	if (state.fault.kind == FAULT_DISK_FULL && state.fired && needs_disk(op))
		return true;
	if (op != state.fault.op || state.counts[op] != state.fault.nth)
		return false;
	state.fired = true;
	return true;
}

static sqlite3_file *real_of(sqlite3_file *f)
{
	return ((struct shim_file *)f)->real;
}

static int shim_close(sqlite3_file *f)
{
	return real_of(f)->pMethods->xClose(real_of(f));
}

static int shim_read(sqlite3_file *f, void *buf, int n, sqlite3_int64 at)
{
	return real_of(f)->pMethods->xRead(real_of(f), buf, n, at);
}

static int shim_write(sqlite3_file *f, const void *buf, int n, sqlite3_int64 at)
{
	if (!fails(FAULT_WRITE))
		return real_of(f)->pMethods->xWrite(real_of(f), buf, n, at);
	if (state.fault.kind == FAULT_EIO)
		return SQLITE_IOERR_WRITE;
	if (state.fault.kind == FAULT_SHORT && n > 1)
		real_of(f)->pMethods->xWrite(real_of(f), buf, n / 2, at);
	return SQLITE_FULL;
}

static int shim_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	if (fails(FAULT_TRUNCATE))
		return SQLITE_IOERR_TRUNCATE;
	return real_of(f)->pMethods->xTruncate(real_of(f), size);
}

/* No power failure is tested, so a successful sync does nothing and costs nothing. */
static int shim_sync(sqlite3_file *f, int flags)
{
	return fails(FAULT_SYNC) ? SQLITE_IOERR_FSYNC : SQLITE_OK;
}

static int shim_size(sqlite3_file *f, sqlite3_int64 *size)
{
	return real_of(f)->pMethods->xFileSize(real_of(f), size);
}

static int shim_lock(sqlite3_file *f, int level)
{
	return real_of(f)->pMethods->xLock(real_of(f), level);
}

static int shim_unlock(sqlite3_file *f, int level)
{
	return real_of(f)->pMethods->xUnlock(real_of(f), level);
}

static int shim_reserved(sqlite3_file *f, int *reserved)
{
	return real_of(f)->pMethods->xCheckReservedLock(real_of(f), reserved);
}

static int shim_control(sqlite3_file *f, int op, void *arg)
{
	return real_of(f)->pMethods->xFileControl(real_of(f), op, arg);
}

static int shim_sector(sqlite3_file *f)
{
	return real_of(f)->pMethods->xSectorSize(real_of(f));
}

static int shim_characteristics(sqlite3_file *f)
{
	return real_of(f)->pMethods->xDeviceCharacteristics(real_of(f));
}

static int shim_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **pp)
{
	if (fails(FAULT_SHM))
		return SQLITE_IOERR_SHMMAP;
	return real_of(f)->pMethods->xShmMap(real_of(f), page, size, extend, pp);
}

static int shim_shm_lock(sqlite3_file *f, int offset, int n, int flags)
{
	return real_of(f)->pMethods->xShmLock(real_of(f), offset, n, flags);
}

static void shim_shm_barrier(sqlite3_file *f)
{
	real_of(f)->pMethods->xShmBarrier(real_of(f));
}

static int shim_shm_unmap(sqlite3_file *f, int delete)
{
	return real_of(f)->pMethods->xShmUnmap(real_of(f), delete);
}

static const sqlite3_io_methods shim_methods = {
	.iVersion = 2,
	.xClose = shim_close,
	.xRead = shim_read,
	.xWrite = shim_write,
	.xTruncate = shim_truncate,
	.xSync = shim_sync,
	.xFileSize = shim_size,
	.xLock = shim_lock,
	.xUnlock = shim_unlock,
	.xCheckReservedLock = shim_reserved,
	.xFileControl = shim_control,
	.xSectorSize = shim_sector,
	.xDeviceCharacteristics = shim_characteristics,
	.xShmMap = shim_shm_map,
	.xShmLock = shim_shm_lock,
	.xShmBarrier = shim_shm_barrier,
	.xShmUnmap = shim_shm_unmap,
};

static int shim_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
	struct shim_file *f = (struct shim_file *)file;
	int rc;

	f->base.pMethods = NULL;
	f->real = (sqlite3_file *)(f + 1);
	if (fails(FAULT_OPEN))
		return SQLITE_CANTOPEN;
	rc = state.real->xOpen(state.real, name, f->real, flags, out);
	if (rc == SQLITE_OK)
		f->base.pMethods = &shim_methods;
	return rc;
}

static int shim_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
	if (fails(FAULT_DELETE))
		return SQLITE_IOERR_DELETE;
	return state.real->xDelete(state.real, name, 0);
}

static void *sqlite_malloc(int n)
{
	return fails(FAULT_SQLITE_ALLOC) ? NULL : state.memory.xMalloc(n);
}

static void *sqlite_realloc(void *p, int n)
{
	return fails(FAULT_SQLITE_ALLOC) ? NULL : state.memory.xRealloc(p, n);
}

/* Names given by the linker: ld --wrap=malloc. */
void *__real_malloc(size_t n);
void *__real_calloc(size_t nr, size_t n);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t nr, size_t n);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);

static bool own_fails(void)
{
	if (!fails(FAULT_OWN_ALLOC))
		return false;
	errno = ENOMEM;
	return true;
}

void *__wrap_malloc(size_t n)
{
	return own_fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t nr, size_t n)
{
	return own_fails() ? NULL : __real_calloc(nr, n);
}

char *__wrap_strdup(const char *s)
{
	return own_fails() ? NULL : __real_strdup(s);
}

char *__wrap_strndup(const char *s, size_t n)
{
	return own_fails() ? NULL : __real_strndup(s, n);
}

int faults_install(void)
{
	sqlite3_mem_methods shim;
	int rc = sqlite3_config(SQLITE_CONFIG_GETMALLOC, &state.memory);

	shim = state.memory;
	shim.xMalloc = sqlite_malloc;
	shim.xRealloc = sqlite_realloc;
	if (rc == SQLITE_OK)
		rc = sqlite3_config(SQLITE_CONFIG_MALLOC, &shim);
	/* Every allocation counts: none comes from prefilled pools. */
	if (rc == SQLITE_OK)
		rc = sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0);
	if (rc == SQLITE_OK)
		rc = sqlite3_config(SQLITE_CONFIG_PAGECACHE, NULL, 0, 0);
	if (rc == SQLITE_OK)
		rc = sqlite3_initialize();
	if (rc != SQLITE_OK)
		return -EINVAL;
	state.real = sqlite3_vfs_find(NULL);
	state.shim = *state.real;
	state.shim.zName = "faults";
	state.shim.szOsFile = (int)sizeof(struct shim_file) + state.real->szOsFile;
	state.shim.xOpen = shim_open;
	state.shim.xDelete = shim_delete;
	return sqlite3_vfs_register(&state.shim, 1) == SQLITE_OK ? 0 : -EINVAL;
}

void faults_arm(const struct fault *f)
{
	memset(state.counts, 0, sizeof(state.counts));
	state.fault = *f;
	state.fired = false;
	state.armed = true;
}

void faults_disarm(void)
{
	state.armed = false;
}

unsigned long faults_count(enum fault_op op)
{
	return state.counts[op];
}

bool faults_fired(void)
{
	return state.fired;
}
