/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/plan/fs_trial.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachemon/access/access.h"
#include "cachemon/base/cleanup.h"

/* Of pages of files that are neither one's own nor writable mincore(2) says that all are there. */
static bool mincore_tells(const char *path, const struct stat *st)
{
	return st->st_uid == geteuid() || !access(path, W_OK);
}

static int is_resident(void *page, size_t size)
{
	unsigned char there;

	return mincore(page, size, &there) ? -1 : there & 1;
}

static enum fs_trial try(int fd, void *page, size_t size)
{
	char byte;

	/* Pages that are there when the file has just been opened were read through the cache. */
	switch (is_resident(page, size)) {
	case 1:
		return FS_TRIAL_CACHED;
	case 0:
		break;
	default:
		return FS_TRIAL_NONE;
	}
	if (pread(fd, &byte, 1, 0) != 1)
		return FS_TRIAL_NONE;
	switch (is_resident(page, size)) {
	case 1:
		return FS_TRIAL_CACHED;
	case 0:
		return FS_TRIAL_PAST;
	default:
		return FS_TRIAL_NONE;
	}
}

/* A page may be reclaimed at once; three times in a row it is not. */
static enum fs_trial try_again(int fd, void *page, size_t size)
{
	enum fs_trial trial = FS_TRIAL_PAST;

	for (int i = 0; i < 3 && trial == FS_TRIAL_PAST; i++)
		trial = try(fd, page, size);
	return trial;
}

enum fs_trial fs_trial_read(const char *path)
{
	_cleanup_close_ int fd = access_open(AT_FDCWD, path, O_RDONLY, 0, ACCESS_REGULAR);
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	enum fs_trial trial;
	struct stat st;
	void *page;

	if (fd < 0 || fstat(fd, &st) || !st.st_size || !mincore_tells(path, &st))
		return FS_TRIAL_NONE;
	/* Private: a shared mapping is refused where direct_io is on. */
	page = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (page == MAP_FAILED)
		return FS_TRIAL_NONE;
	trial = try_again(fd, page, size);
	munmap(page, size);
	return trial;
}
