/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/collector/exercise.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cachemon/access/access.h"
#include "cachemon/base/clock.h"
#include "cachemon/base/order.h"

#define PAGES 256
/* Blocks are so short that most run undisturbed, whatever else the machine does. */
#define BLOCKS	       (EXERCISE_READS_NR / BLOCK_READS)
#define BLOCK_READS    64
#define BLOCK_SYSCALLS 400
#define SCATTERED      16
#define DIRECT_READS   4
#define FORKS	       4
#define URING_ENTRIES  8

struct worker {
	int fd, direct_fd, uring_fd;
	struct io_uring_params uring;
	char *sq_ring, *cq_ring;
	struct io_uring_sqe *sqes;
	size_t page;
	unsigned int at; /* next of the scattered pages */
	char *buf;	 /* one page, aligned */
};

double quiet_quarter(double *v, int nr)
{
	qsort(v, (size_t)nr, sizeof(*v), order_f64);
	return v[nr / 4];
}

/* The page at this offset, into buf. */
static bool read_page(struct worker *w, int fd, off_t at)
{
	return pread(fd, w->buf, w->page, at) == (ssize_t)w->page;
}

static off_t scattered(struct worker *w)
{
	w->at = w->at * 1103515245 + 12345;
	return (off_t)((w->at >> 8) % PAGES) * (off_t)w->page;
}

static double cached_reads(struct worker *w)
{
	double v[BLOCKS];

	for (int b = 0; b < BLOCKS; b++) {
		uint64_t start = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);

		for (int i = 0; i < BLOCK_READS; i++)
			if (!read_page(w, w->fd, scattered(w)))
				return -1;
		v[b] = (double)(clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - start) / BLOCK_READS;
	}
	return quiet_quarter(v, BLOCKS);
}

static double system_calls(void)
{
	double v[BLOCKS];

	for (int b = 0; b < BLOCKS; b++) {
		uint64_t start = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);

		for (int i = 0; i < BLOCK_SYSCALLS; i++)
			syscall(SYS_getppid);
		v[b] = (double)(clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - start) / BLOCK_SYSCALLS;
	}
	return quiet_quarter(v, BLOCKS);
}

/* If io_uring is disabled, no request of it will ever appear. */
static void uring_open(struct worker *w)
{
	struct io_uring_params *p = &w->uring;

	w->uring_fd = (int)syscall(SYS_io_uring_setup, URING_ENTRIES, p);
	if (w->uring_fd < 0)
		return;
	w->sq_ring = mmap(NULL, p->sq_off.array + p->sq_entries * sizeof(uint32_t),
			  PROT_READ | PROT_WRITE, MAP_SHARED, w->uring_fd, IORING_OFF_SQ_RING);
	w->cq_ring = mmap(NULL, p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe),
			  PROT_READ | PROT_WRITE, MAP_SHARED, w->uring_fd, IORING_OFF_CQ_RING);
	w->sqes = mmap(NULL, p->sq_entries * sizeof(*w->sqes), PROT_READ | PROT_WRITE, MAP_SHARED,
		       w->uring_fd, IORING_OFF_SQES);
	if (w->sq_ring == MAP_FAILED || w->cq_ring == MAP_FAILED || w->sqes == MAP_FAILED) {
		close(w->uring_fd);
		w->uring_fd = -1;
	}
}

static void uring_reads(struct worker *w)
{
	struct io_uring_params *p = &w->uring;
	_Atomic uint32_t *sq_tail, *cq_head, *cq_tail;
	uint32_t tail, mask;

	if (w->uring_fd < 0)
		return;
	sq_tail = (_Atomic uint32_t *)(w->sq_ring + p->sq_off.tail);
	cq_head = (_Atomic uint32_t *)(w->cq_ring + p->cq_off.head);
	cq_tail = (_Atomic uint32_t *)(w->cq_ring + p->cq_off.tail);
	mask = *(uint32_t *)(w->sq_ring + p->sq_off.ring_mask);
	tail = *sq_tail;
	for (int i = 0; i < URING_ENTRIES; i++, tail++) {
		w->sqes[tail & mask] = (struct io_uring_sqe){.opcode = IORING_OP_READ,
							     .fd = w->fd,
							     .addr = (uint64_t)w->buf,
							     .len = (uint32_t)w->page,
							     .off = (uint64_t)scattered(w)};
		((uint32_t *)(w->sq_ring + p->sq_off.array))[tail & mask] = tail & mask;
	}
	atomic_store(sq_tail, tail);
	syscall(SYS_io_uring_enter, w->uring_fd, URING_ENTRIES, URING_ENTRIES,
		IORING_ENTER_GETEVENTS, NULL, 0);
	atomic_store(cq_head, atomic_load(cq_tail));
}

static void faults(struct worker *w, int advice)
{
	size_t bytes = PAGES * w->page;
	char *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, w->fd, 0);

	if (map == MAP_FAILED)
		return;
	madvise(map, bytes, advice);
	for (int i = 0; i < SCATTERED; i++)
		(void)*(volatile char *)(map + scattered(w));
	munmap(map, bytes);
}

static double do_pages(struct worker *w)
{
	bool known = true;

	/* Reads single pages, each with a window, then the rest in long windows. */
	posix_fadvise(w->fd, 0, 0, POSIX_FADV_DONTNEED);
	for (int i = 0; i < SCATTERED; i++)
		known &= read_page(w, w->fd, scattered(w));
	for (off_t i = 0; i < PAGES; i++)
		known &= read_page(w, w->fd, i * (off_t)w->page);
	uring_reads(w);
	faults(w, MADV_NORMAL);
	posix_fadvise(w->fd, 0, 0, POSIX_FADV_DONTNEED);
	faults(w, MADV_RANDOM);
	for (int i = 0; i < DIRECT_READS && w->direct_fd >= 0; i++)
		known &= read_page(w, w->direct_fd, scattered(w));
	for (int i = 0; i < FORKS; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(0);
		if (pid > 0)
			waitpid(pid, NULL, 0);
	}
	return known ? 0 : -1;
}

/* Closes everything inherited from the parent; as after any fork, memory is copied on write. */
static void __attribute__((noreturn)) work(struct worker *w, int orders, pid_t parent)
{
	unsigned char order;
	char path[32];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", w->fd);
	w->direct_fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	w->buf = aligned_alloc(w->page, w->page);
	if (!w->buf)
		_exit(1);
	uring_open(w);
	while (read(orders, &order, 1) == 1) {
		double ns = order == EXERCISE_READS	 ? cached_reads(w)
			    : order == EXERCISE_SYSCALLS ? system_calls()
							 : do_pages(w);

		if (write(orders, &ns, sizeof(ns)) != sizeof(ns))
			break;
	}
	_exit(0);
}

/* Creates a file without a name in the given directory. */
static int open_scratch(const char *dir, const struct invoker *as)
{
	struct access saved;
	int fd = access_enter(as, &saved);

	if (fd < 0)
		return fd;
	fd = access_open(AT_FDCWD, dir, O_TMPFILE | O_RDWR, 0600, ACCESS_REGULAR);
	access_leave(&saved);
	return fd;
}

static int scratch_file(const char *dir, const struct invoker *as, size_t page)
{
	static const char block[4096];
	int fd = open_scratch(dir, as), r = 0;

	if (fd < 0)
		return fd;
	for (size_t left = PAGES * page; left && !r;) {
		ssize_t n = write(fd, block, left < sizeof(block) ? left : sizeof(block));

		if (n <= 0)
			r = n < 0 ? -errno : -EIO;
		else
			left -= (size_t)n;
	}
	if (!r && fdatasync(fd))
		r = -errno;
	if (!r)
		return fd;
	close(fd);
	return r;
}

int exerciser_start(struct exerciser *e, const char *dir, const struct invoker *as)
{
	struct worker w = {
		.page = (size_t)sysconf(_SC_PAGESIZE), .direct_fd = -1, .uring_fd = -1, .at = 1};
	pid_t parent = getpid();
	int pair[2], r = 0;

	w.fd = scratch_file(dir, as, w.page);
	if (w.fd < 0)
		return w.fd;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
		r = -errno;
		goto out;
	}
	e->pid = fork();
	if (!e->pid) {
		close(pair[0]);
		work(&w, pair[1], parent);
	}
	if (e->pid < 0)
		r = -errno;
	close(pair[1]);
	e->fd = pair[0];
	if (r)
		close(e->fd);
out:
	close(w.fd);
	return r;
}

int exerciser_do(struct exerciser *e, enum exercise what, double *ret_ns)
{
	unsigned char order = (unsigned char)what;

	if (send(e->fd, &order, 1, MSG_NOSIGNAL) != 1 ||
	    recv(e->fd, ret_ns, sizeof(*ret_ns), MSG_WAITALL) != sizeof(*ret_ns) || *ret_ns < 0)
		return -EIO;
	return 0;
}

void exerciser_stop(struct exerciser *e)
{
	close(e->fd);
	waitpid(e->pid, NULL, 0);
}
