/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * readahead_record FILE BDI TRACING IO_PAGES FSTYPE [PATTERN...]: makes the patterns' calls on a
 * file and prints the folios that the kernel added at each, from the tracepoint
 * mm_filemap_add_to_page_cache in the given instance of tracefs. At the end of every pattern the
 * result is compared with mincore(2). FILE is created; BDI is the directory with read_ahead_kb.
 */
#include <err.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "recorder.h"

enum { AROUND_BYTES = 2 << 20, SETTLE_S = 20, SETTLE_US = 1000, MOST_TRIES = 5 };

void put(const char *dir, const char *name, const char *text)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		err(1, "%s: %s", path, text);
	close(fd);
}

static void make_file(const char *path)
{
	char page[PATTERN_PAGE];
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	uint64_t left = PATTERN_BYTES, state = 7;

	if (fd < 0)
		err(1, "%s", path);
	for (; left; left -= left < sizeof(page) ? left : sizeof(page)) {
		size_t n = left < sizeof(page) ? left : sizeof(page);

		for (size_t i = 0; i < sizeof(page); i++) {
			state = state * 6364136223846793005ULL + 1442695040888963407ULL;
			page[i] = (char)(state >> 56);
		}
		if (write(fd, page, n) != (ssize_t)n)
			err(1, "%s", path);
	}
	if (fsync(fd))
		err(1, "%s", path);
	close(fd);
}

/* Aligned with page tables and fault-around, so that addresses match offsets in the file. */
static unsigned char *map_aligned(int fd, bool exec)
{
	size_t size = (size_t)PATTERN_PAGES * PATTERN_PAGE;
	unsigned char *room = mmap(NULL, size + AROUND_BYTES, PROT_NONE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
		      *at;

	if (room == MAP_FAILED)
		err(1, "room");
	at = room + (AROUND_BYTES - (uintptr_t)room % AROUND_BYTES) % AROUND_BYTES;
	if (mmap(at, size, PROT_READ | (exec ? PROT_EXEC : 0), MAP_SHARED | MAP_FIXED, fd, 0) != at)
		err(1, "mmap");
	return at;
}

static uint64_t cached(const unsigned char *mapping, unsigned char *ret)
{
	uint64_t nr = 0;

	if (mincore((void *)mapping, PATTERN_BYTES, ret))
		err(1, "mincore");
	for (size_t i = 0; i < PATTERN_PAGES; i++)
		nr += ret[i] & 1;
	return nr;
}

static void make_cold(const struct recorder *r)
{
	unsigned char there[PATTERN_PAGES];
	int fd = open(r->file, O_RDONLY | O_CLOEXEC);
	unsigned char *mapping = map_aligned(fd, false);
	time_t end = time(NULL) + SETTLE_S;

	do {
		if (time(NULL) > end)
			errx(1, "%s does not leave the cache", r->file);
		/* Pages in flight are not dropped, and mincore does not show them. */
		fdatasync(fd);
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		if (cached(mapping, there))
			usleep(SETTLE_US);
	} while (cached(mapping, there));
	munmap(mapping, (size_t)PATTERN_PAGES * PATTERN_PAGE);
	close(fd);
}

/* Pages that were brought and are not cached, or vice versa. mincore shows pages that were read. */
static bool mincore_agrees(const struct recorder *r, const char *name)
{
	unsigned char there[PATTERN_PAGES];
	size_t wrong = 0, first = 0;
	time_t end = time(NULL) + SETTLE_S;

	do {
		cached(r->mapping, there);
		wrong = 0;
		for (size_t i = PATTERN_PAGES; i--;) {
			if ((there[i] & 1) == r->seen[i])
				continue;
			wrong++;
			first = i;
		}
		if (!wrong)
			return true;
		usleep(SETTLE_US);
	} while (time(NULL) < end);
	warnx("%s: the trace and mincore differ in %zu pages, in page %zu the trace has %d", name,
	      wrong, first, r->seen[first]);
	return false;
}

static void open_all(struct recorder *r, const struct pattern *p, unsigned int kb)
{
	char text[32];

	snprintf(text, sizeof(text), "%u", kb);
	put(r->bdi, "read_ahead_kb", text);
	for (int i = 0; i < PATTERN_STREAMS; i++) {
		r->fd[i] = open(r->file, O_RDONLY | O_CLOEXEC);
		if (r->fd[i] < 0)
			err(1, "%s", r->file);
	}
	r->mapping = map_aligned(r->fd[0], p->exec);
}

static void close_all(struct recorder *r)
{
	munmap(r->mapping, (size_t)PATTERN_PAGES * PATTERN_PAGE);
	for (int i = 0; i < PATTERN_STREAMS; i++)
		close(r->fd[i]);
}

/* False: pages left meanwhile, so that the pages added are not the usual ones. */
static bool try_record(struct recorder *r, const struct pattern *p, unsigned int kb)
{
	struct calls calls;
	bool good;

	make_cold(r);
	memset(r->seen, 0, sizeof(r->seen));
	r->disturbed = false;
	open_all(r, p, kb);
	trace_forget(r);
	fprintf(r->out, "pattern %s %u\n", p->name, kb);
	calls_make(p, &calls);
	for (size_t i = 0; i < calls.nr && !r->disturbed; i++) {
		call_make(r, &calls.call[i]);
		trace_tell(r, i);
	}
	trace_flush(r);
	calls_free(&calls);
	good = !r->disturbed && mincore_agrees(r, p->name);
	trace_forget(r);
	close_all(r);
	return good;
}

static void record(struct recorder *r, const struct pattern *p, unsigned int kb)
{
	for (int tries = 1;; tries++) {
		char *text = NULL;
		size_t size = 0;
		bool good;

		r->out = open_memstream(&text, &size);
		if (!r->out)
			err(1, "memory");
		good = try_record(r, p, kb);
		fclose(r->out);
		if (good)
			fwrite(text, 1, size, stdout);
		free(text);
		if (good)
			return;
		if (tries == MOST_TRIES)
			errx(1, "%s: pages of the file leave the cache, %d times of %d", p->name,
			     tries, tries);
	}
}

int main(int argc, char **argv)
{
	struct recorder r = {0};
	const unsigned int *kb;
	struct utsname name;
	cpu_set_t one;

	if (argc < 6)
		errx(2, "usage: readahead_record FILE BDI TRACING IO_PAGES FSTYPE [PATTERN...]");
	r.file = argv[1];
	r.bdi = argv[2];
	r.tracing = argv[3];
	r.null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	/* On one CPU, because events of two CPUs would have two orders. */
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one) || uname(&name))
		err(1, "sched_setaffinity, uname");
	/* Reads and replacements by khugepaged are no accesses. */
	if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0))
		err(1, "PR_SET_THP_DISABLE");
	make_file(r.file);
	trace_start(&r, argv[5]);
	printf("kernel %s\nfstype %s\nio_pages %s\n", name.release, argv[5], argv[4]);
	for (size_t i = 0; i < pattern_count(); i++) {
		bool chosen = argc == 6;

		for (int j = 6; j < argc; j++)
			chosen |= strcmp(argv[j], pattern_at(i)->name) == 0;
		for (size_t j = 0; chosen && j < pattern_settings(&kb); j++)
			record(&r, pattern_at(i), kb[j]);
	}
	return fflush(stdout) || ferror(stdout);
}
