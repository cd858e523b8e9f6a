/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * readahead_record FILE BDI TRACING IO_PAGES FSTYPE [PATTERN...]: makes the patterns' calls on a
 * file and prints which folios the kernel added at each, by its tracepoint
 * mm_filemap_add_to_page_cache in an instance of tracefs that it is given. What the tracepoint said
 * is held against mincore(2) at the end of every pattern. FILE is made anew; BDI is the directory
 * with read_ahead_kb.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "patterns.h"

enum { AROUND_BYTES = 2 << 20, SETTLE_S = 20, SETTLE_US = 1000, MOST_TRIES = 5 };

/* "NUMBER FIRST+PAGES@ORDER", of which those that go on in equal steps are told together. */
struct line {
	size_t number, every, repeat;
	uint64_t first, nr;
	int64_t step;
	unsigned int order;
};

struct recorder {
	const char *file, *bdi, *tracing;
	int pipe; /* trace_pipe */
	int null;
	int fd[PATTERN_STREAMS];
	unsigned char *mapping;
	char *buffer;
	size_t buffer_bytes;
	unsigned char seen[PATTERN_PAGES];
	struct line last;
	bool disturbed; /* pages left: somebody else empties caches */
	FILE *out;
};

static void put(const char *dir, const char *name, const char *text)
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

static void start_tracing(struct recorder *r, const char *fstype)
{
	char text[256], path[512], device[64] = "";
	struct stat st;

	if (stat(r->file, &st))
		err(1, "%s", r->file);
	/* Files of btrfs have another device than its superblock. */
	if (strcmp(fstype, "btrfs") != 0)
		snprintf(device, sizeof(device), " && s_dev == %u",
			 major(st.st_dev) << 20 | minor(st.st_dev));
	snprintf(text, sizeof(text), "i_ino == %ju%s && common_pid == %d", (uintmax_t)st.st_ino,
		 device, (int)getpid());
	put(r->tracing, "events/filemap/mm_filemap_add_to_page_cache/filter", text);
	put(r->tracing, "events/filemap/mm_filemap_add_to_page_cache/enable", "1");
	snprintf(text, sizeof(text), "i_ino == %ju%s", (uintmax_t)st.st_ino, device);
	put(r->tracing, "events/filemap/mm_filemap_delete_from_page_cache/filter", text);
	put(r->tracing, "events/filemap/mm_filemap_delete_from_page_cache/enable", "1");
	put(r->tracing, "tracing_on", "1");
	snprintf(path, sizeof(path), "%s/trace_pipe", r->tracing);
	r->pipe = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (r->pipe < 0)
		err(1, "%s", path);
}

/* All that is there to read, with a NUL. */
static char *drain(struct recorder *r)
{
	size_t len = 0;

	for (;;) {
		ssize_t n;

		if (r->buffer_bytes - len < 65536) {
			r->buffer_bytes = r->buffer_bytes ? 2 * r->buffer_bytes : 1 << 20;
			r->buffer = realloc(r->buffer, r->buffer_bytes);
			if (!r->buffer)
				err(1, "buffer");
		}
		n = read(r->pipe, r->buffer + len, r->buffer_bytes - len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			err(1, "trace_pipe");
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	r->buffer[len] = '\0';
	return r->buffer;
}

/* "NUMBER/EVERY*REPEAT FIRST+PAGES@ORDER STEP": one of EVERY calls brought a run, STEP pages on. */
static void flush_line(struct recorder *r)
{
	const struct line *l = &r->last;

	if (!l->repeat)
		return;
	if (l->repeat == 1)
		fprintf(r->out, "%zu %" PRIu64 "+%" PRIu64 "@%u\n", l->number, l->first, l->nr,
			l->order);
	else
		fprintf(r->out, "%zu/%zu*%zu %" PRIu64 "+%" PRIu64 "@%u %" PRId64 "\n", l->number,
			l->every, l->repeat, l->first, l->nr, l->order, l->step);
	r->last.repeat = 0;
}

static void tell_line(struct recorder *r, const struct line *new)
{
	struct line *l = &r->last;
	size_t every = new->number - l->number - (l->repeat - 1) * l->every;
	int64_t step = (int64_t)(new->first - l->first - (l->repeat - 1) * (uint64_t)l->step);

	if (l->repeat && new->nr == l->nr &&new->order == l->order &&
	    (l->repeat == 1 || (step == l->step && every == l->every))) {
		l->step = step;
		l->every = every;
		l->repeat++;
		return;
	}
	flush_line(r);
	*l = *new;
}

/* The next folios of one order that follow each other, or false. */
static bool next_run(struct recorder *r, char **at, struct line *ret)
{
	ret->nr = 0;
	for (char *p = strstr(*at, " ofs="); p; p = strstr(p, " ofs=")) {
		uint64_t page = strtoull(p + 5, &p, 10) / PATTERN_PAGE;
		unsigned int o =
			strncmp(p, " order=", 7) ? 0 : (unsigned int)strtoul(p + 7, &p, 10);

		if (ret->nr && (page != ret->first + ret->nr || o != ret->order))
			return true;
		if (!ret->nr)
			ret->first = page;
		ret->order = o;
		ret->nr += 1ULL << o;
		for (uint64_t i = page; i < page + (1ULL << o) && i < PATTERN_PAGES; i++)
			r->seen[i] = 1;
		*at = p;
	}
	return ret->nr;
}

static void tell_adds(struct recorder *r, size_t number)
{
	char *at = drain(r);
	struct line one = {.number = number, .repeat = 1}, another;

	if (strstr(at, "LOST"))
		errx(1, "the trace lost events");
	if (strstr(at, "mm_filemap_delete"))
		r->disturbed = true;
	if (r->disturbed || !next_run(r, &at, &one))
		return;
	if (!next_run(r, &at, &another)) {
		tell_line(r, &one);
		return;
	}
	flush_line(r);
	fprintf(r->out, "%zu %" PRIu64 "+%" PRIu64 "@%u", number, one.first, one.nr, one.order);
	do
		fprintf(r->out, " %" PRIu64 "+%" PRIu64 "@%u", another.first, another.nr,
			another.order);
	while (next_run(r, &at, &another));
	fputc('\n', r->out);
}

static void do_read(struct recorder *r, const struct call *c)
{
	static char *memory;

	if (!memory) {
		memory = malloc(128 << 20);
		if (!memory)
			err(1, "memory");
	}
	if (pread(r->fd[c->stream], memory, c->count, (off_t)c->pos) < 0)
		err(1, "pread");
}

static void do_send(struct recorder *r, const struct call *c)
{
	off_t at = (off_t)c->pos;

	while (at < (off_t)(c->pos + c->count)) {
		ssize_t n = sendfile(r->null, r->fd[c->stream], &at,
				     c->count - (size_t)(at - (off_t)c->pos));

		if (n < 0)
			err(1, "sendfile");
		if (n == 0)
			return;
	}
}

static void do_madvise(struct recorder *r, const struct call *c)
{
	static const int advice[] = {MADV_NORMAL, MADV_SEQUENTIAL, MADV_RANDOM, MADV_WILLNEED};
	size_t count = c->count ? c->count : (size_t)PATTERN_PAGES * PATTERN_PAGE;

	if (madvise(r->mapping + c->pos, count, advice[c->advice]))
		err(1, "madvise");
}

static void do_call(struct recorder *r, const struct call *c)
{
	static const int advice[] = {POSIX_FADV_NORMAL, POSIX_FADV_SEQUENTIAL, POSIX_FADV_RANDOM,
				     POSIX_FADV_WILLNEED};

	switch (c->kind) {
	case DO_READ:
		do_read(r, c);
		break;
	case DO_SEND:
		do_send(r, c);
		break;
	case DO_TOUCH:
		(void)*(volatile unsigned char *)(r->mapping + c->pos);
		break;
	case DO_ADVISE:
		errno = posix_fadvise(r->fd[c->stream], (off_t)c->pos, (off_t)c->count,
				      advice[c->advice]);
		if (errno)
			err(1, "posix_fadvise");
		break;
	case DO_MADVISE:
		do_madvise(r, c);
		break;
	}
}

/* Where page tables and fault-around begin too, so that addresses are those of the file. */
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
		/* What is in flight is not dropped, and mincore does not see it. */
		fdatasync(fd);
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		if (cached(mapping, there))
			usleep(SETTLE_US);
	} while (cached(mapping, there));
	munmap(mapping, (size_t)PATTERN_PAGES * PATTERN_PAGE);
	close(fd);
}

/* Pages that were brought and are not there, or the other way round. mincore sees what is read. */
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

/* False: pages left meanwhile, and what came is not what would have come. */
static bool try_record(struct recorder *r, const struct pattern *p, unsigned int kb)
{
	struct calls calls;
	bool good;

	make_cold(r);
	memset(r->seen, 0, sizeof(r->seen));
	r->disturbed = false;
	open_all(r, p, kb);
	drain(r);
	fprintf(r->out, "pattern %s %u\n", p->name, kb);
	calls_make(p, &calls);
	for (size_t i = 0; i < calls.nr && !r->disturbed; i++) {
		do_call(r, &calls.call[i]);
		tell_adds(r, i);
	}
	flush_line(r);
	calls_free(&calls);
	good = !r->disturbed && mincore_agrees(r, p->name);
	drain(r);
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
	/* Events of two CPUs would come in two orders. */
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one) || uname(&name))
		err(1, "sched_setaffinity, uname");
	/* What khugepaged reads and replaces is nobody's access. */
	if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0))
		err(1, "PR_SET_THP_DISABLE");
	make_file(r.file);
	start_tracing(&r, argv[5]);
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
