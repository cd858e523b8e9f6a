// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reads under a condition that run.py creates: a memory limit, a slow device, memory pressure,
 * another job. There is a look only before and after, except for the slow ones.
 */
#include <err.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "bitmap.h"
#include "wl.h"

#define KSWAPD_IDLE_LOOKS 100
#define KSWAPD_REST_NS	  30000000000ULL
#define DELAY_TICK_NS	  10000000ULL
#define THROTTLED_BYTES	  (8 * MIB)
#define TIMER_NS	  200000000ULL
#define STEP_WAITING	  (64 << 10)
#define KNOW_LOAD	  (KNOW_CALLS | KNOW(balance))

/* Reads the whole file without a look, counting calls. */
static void read_blind(struct opener *s, uint64_t step)
{
	for (uint64_t at = 0; at < s->o->size_bytes; at += step) {
		op_pread(s, at, step);
		op_count(s->o, at, step);
	}
}

/* The resident pages were added and not evicted, because the file was cold. */
static void balance(struct oracle *o)
{
	scan_all(o, o->present);
	o->f[F_balance] = bitmap_count(o->present, 0, o->nr_pages);
	o->known = KNOW_LOAD;
}

static void need_cold(struct oracle *o)
{
	if (bitmap_count(o->present, 0, o->nr_pages))
		oracle_disturb(o, "the file was not cold",
			       bitmap_count(o->present, 0, o->nr_pages));
}

static uint64_t vmstat(const char *key)
{
	FILE *f = fopen("/proc/vmstat", "re");
	unsigned long long value, found = 0;
	char name[64];

	if (!f)
		err(1, "/proc/vmstat");
	while (fscanf(f, "%63s %llu", name, &value) == 2)
		if (!__builtin_strcmp(name, key))
			found = value;
	fclose(f);
	return found;
}

/* Without looks in between, the figures must follow from the kernel's count. */
static void check_no_drop(struct oracle *o, uint64_t drops)
{
	if (vmstat("drop_pagecache") != drops)
		oracle_disturb(o, "somebody dropped all caches", 0);
}

static void memcg_loop(struct wl *w)
{
	struct opener a = wl_open(w, 0), b = wl_open(w, 1);
	uint64_t drops = vmstat("drop_pagecache");
	void *room = mmap(NULL, MIB, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (room == MAP_FAILED)
		err(1, "memory below the limit");
	need_cold(a.o);
	need_cold(b.o);
	for (int i = 0; i < 2; i++) {
		read_blind(&a, 64 << 10);
		read_blind(&b, 64 << 10);
	}
	/* Later charges, such as those of the result file, evict no page. */
	munmap(room, MIB);
	balance(a.o);
	balance(b.o);
	check_no_drop(a.o, drops);
	opener_close(&a);
	opener_close(&b);
}

/* kswapd continues until its high watermark is met, and as long as others fill memory. */
static void wait_for_kswapd(struct oracle *o)
{
	uint64_t now, before = vmstat("pgsteal_kswapd"), end_ns = now_ns() + KSWAPD_REST_NS;

	for (int still = 0; still < KSWAPD_IDLE_LOOKS; before = now) {
		if (now_ns() > end_ns) {
			oracle_disturb(o, "others kept kswapd busy", 0);
			return;
		}
		usleep(1000);
		now = vmstat("pgsteal_kswapd");
		still = now == before ? still + 1 : 0;
	}
}

static void kswapd_fill(struct wl *w)
{
	struct opener s = wl_open(w, 0);
	uint64_t before = vmstat("pgsteal_kswapd"), drops = vmstat("drop_pagecache");

	need_cold(s.o);
	read_blind(&s, MIB);
	wait_for_kswapd(s.o);
	balance(s.o);
	check_no_drop(s.o, drops);
	wl_value(w, "pgsteal_kswapd", vmstat("pgsteal_kswapd") - before);
	opener_close(&s);
}

/* The kernel's own count of this thread's waits for block I/O, in ticks of 10 ms. */
static uint64_t block_delay_ns(void)
{
	FILE *f = fopen("/proc/thread-self/stat", "re");
	unsigned long long ticks;
	int field = 2;

	/* The name is "(wl)": no blanks in it. */
	if (!f || fscanf(f, "%*s %*s") < 0)
		err(1, "/proc/thread-self/stat");
	for (; field < 41; field++)
		if (fscanf(f, "%*s") < 0)
			err(1, "/proc/thread-self/stat");
	if (fscanf(f, "%llu", &ticks) != 1)
		errx(1, "/proc/thread-self/stat: no delays");
	fclose(f);
	return ticks * (1000000000ULL / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* The scheduler delays the dequeue of a fair task while others want to run (see below), but
 * dequeues a real-time task at once. If real-time is not permitted, check_delay() decides. */
static void sleep_promptly(void)
{
	struct sched_param param = {.sched_priority = 1};

	(void)sched_setscheduler(0, SCHED_FIFO, &param);
}

/*
 * Linux 6.18 may start the clock of a sleep on the wrong task (a delayed dequeue ends under the
 * task that runs then), and so charges the sleeper from its previous sleep, or from the boot. Such
 * a figure exceeds the time of the calls, and is not used.
 */
static void check_delay(struct opener *s, uint64_t delay_ns)
{
	if (delay_ns > s->call_ns + DELAY_TICK_NS)
		oracle_disturb(s->o, "the kernel's block delay is longer than the calls", 0);
}

/* Reads without a look, which would wait for the late pages. */
static void read_late(struct opener *s)
{
	need_cold(s->o);
	for (uint64_t at = 0; at < THROTTLED_BYTES; at += 4096) {
		s->call_ns -= now_ns();
		op_seek_read(s, at, 4096);
		s->call_ns += now_ns();
		op_count(s->o, at, 4096);
	}
}

static void throttled_seq(struct wl *w)
{
	struct opener s = wl_open(w, 0);
	uint64_t delay;

	sleep_promptly();
	delay = block_delay_ns();
	if (looks_see_flight())
		op_read_all(&s, op_seek_read, 0, THROTTLED_BYTES, 4096);
	else
		read_late(&s);
	delay = block_delay_ns() - delay;
	check_delay(&s, delay);
	if (!looks_see_flight())
		balance(s.o);
	wl_value(w, "block_delay_ns", delay);
	wl_value(w, "call_ns", s.call_ns);
	opener_close(&s);
}

static void settle_late(void *argument)
{
	oracle_settle(argument);
}

/* Brought in time: nothing is late, however slow the device is. */
static void throttled_warmed(struct wl *w)
{
	struct opener s = wl_open(w, 0);
	uint64_t before, delay;

	sleep_promptly();
	oracle_settle(s.o);
	op_willneed_then(&s, 2 * MIB, 128 << 10, settle_late, s.o);
	delay = block_delay_ns();
	before = s.o->f[F_added];
	op_read_all(&s, op_seek_read, 0, MIB, 4096);
	delay = block_delay_ns() - delay;
	check_delay(&s, delay);
	s.o->known |= KNOW_SETTLED;
	wl_value(w, "added_by_reads", s.o->f[F_added] - before);
	wl_value(w, "block_delay_ns", delay);
	opener_close(&s);
}

/* Reads [at, end) without checking pages in between, and takes the kernel's account of the
 * waits. */
static uint64_t read_waiting(struct opener *s, op_reader *fn, uint64_t at, uint64_t end)
{
	uint64_t delay = block_delay_ns();

	for (; at < end; at += STEP_WAITING) {
		s->call_ns -= now_ns();
		fn(s, at, STEP_WAITING);
		s->call_ns += now_ns();
		op_count(s->o, at, STEP_WAITING);
	}
	delay = block_delay_ns() - delay;
	check_delay(s, delay);
	return delay;
}

/* A cold file and a cached one alternately: AIO changes no counter of the task, and waits for
 * the one must not appear at the other. */
static void throttled_aio(struct wl *w)
{
	struct opener cold = wl_open(w, 0), warm = wl_open(w, 1);
	uint64_t delay;

	sleep_promptly();
	need_cold(cold.o);
	need_cold(warm.o);
	wl_value(w, "block_delay_1_ns", read_waiting(&warm, op_pread, 0, STEP_WAITING));
	wl_value(w, "call_1_ns", warm.call_ns);
	delay = block_delay_ns();
	for (uint64_t at = 0; at < 3 * MIB; at += STEP_WAITING) {
		cold.call_ns -= now_ns();
		op_aio(&cold, at, STEP_WAITING);
		cold.call_ns += now_ns();
		op_count(cold.o, at, STEP_WAITING);
		op_aio(&warm, 0, STEP_WAITING);
		op_count(warm.o, 0, STEP_WAITING);
	}
	delay = block_delay_ns() - delay;
	check_delay(&cold, delay);
	wl_value(w, "block_delay_0_ns", delay);
	wl_value(w, "call_0_ns", cold.call_ns);
	wl_value(w, "block_delay_ns", delay);
	balance(cold.o);
	balance(warm.o);
	opener_close(&cold);
	opener_close(&warm);
}

/* Direct I/O, after a cached read of another file, which does not wait for it. */
static void throttled_direct(struct wl *w)
{
	struct opener direct = opener_open(wl_oracle(w, 0, 0), O_RDONLY | O_DIRECT);
	struct opener other = wl_open(w, 1);

	sleep_promptly();
	need_cold(other.o);
	wl_value(w, "block_delay_1_ns", read_waiting(&other, op_pread, 0, MIB / 4));
	wl_value(w, "call_1_ns", other.call_ns);
	wl_value(w, "block_delay_ns", read_waiting(&direct, op_pread, 0, 3 * MIB));
	direct.o->known = KNOW(balance);
	balance(other.o);
	opener_close(&direct);
	opener_close(&other);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* One call, and how long its task did not run: the kernel does not account waits for a ring. */
static void read_ring(struct opener *s, uint64_t *slept, uint64_t at, uint64_t nr)
{
	uint64_t began = now_ns(), ran = cpu_ns(), offsets[8];

	for (uint64_t i = 0; i < nr; i++)
		offsets[i] = at + i * STEP_WAITING;
	op_uring_batch(s, offsets, (unsigned int)nr, STEP_WAITING);
	began = now_ns() - began;
	ran = cpu_ns() - ran;
	s->call_ns += began;
	*slept += began > ran ? began - ran : 0;
	for (uint64_t i = 0; i < nr; i++)
		op_count(s->o, offsets[i], STEP_WAITING);
}

/* Waits for a ring: for one read, for eight, and for a timer before a read that is cached. */
static void throttled_uring(struct wl *w)
{
	struct opener one = wl_open(w, 0), eight = wl_open(w, 1), timer = wl_open(w, 2);
	uint64_t slept[3] = {0};

	sleep_promptly();
	need_cold(one.o);
	need_cold(eight.o);
	for (uint64_t at = 0; at < 3 * MIB; at += 8 * STEP_WAITING) {
		read_ring(&one, &slept[0], at, 1);
		op_uring_sleep(&timer, TIMER_NS);
		read_ring(&timer, &slept[2], 0, 1);
		read_ring(&eight, &slept[1], at, 8);
	}
	wl_value(w, "block_delay_ns", slept[0] + slept[1]);
	wl_value(w, "block_delay_0_ns", slept[0]);
	wl_value(w, "block_delay_1_ns", slept[1]);
	wl_value(w, "block_delay_2_ns", slept[2]);
	wl_value(w, "call_0_ns", one.call_ns);
	wl_value(w, "call_1_ns", eight.call_ns);
	wl_value(w, "call_2_ns", timer.call_ns);
	balance(one.o);
	balance(eight.o);
	balance(timer.o);
	opener_close(&one);
	opener_close(&eight);
	opener_close(&timer);
}

/* Prefetched pages have arrived. Waits of writes to another file are not waits of its reads. */
static void writes_between(struct wl *w, op_reader *fn,
			   void (*write)(struct opener *s, uint64_t offset, uint64_t length))
{
	struct opener s = wl_open(w, 0), other = opener_open(wl_oracle(w, 1, 0), O_RDWR | O_DSYNC);
	struct op op = {.kind = OP_WRITE, .length = 4096};

	op_willneed(&s, 0, MIB / 4);
	oracle_settle(s.o);
	s.o->known |= KNOW_SETTLED;
	for (uint64_t at = 0; at < MIB / 4; at += 4096) {
		op.offset = at * 8;
		oracle_before(other.o, &op);
		write(&other, op.offset, op.length);
		oracle_after(other.o, &op);
		op_read(&s, fn, at, 4096);
	}
	wl_drop(&s);
	opener_close(&s);
	opener_close(&other);
}

static void aio_writes(struct wl *w)
{
	writes_between(w, op_aio, op_aio_write);
}

static void uring_writes(struct wl *w)
{
	writes_between(w, op_uring, op_uring_write);
}

static void worker_writes(struct wl *w)
{
	writes_between(w, op_uring_worker, op_uring_write);
}

/* The same for calls that are not reads. */
static void write_directly(struct opener *s, uint64_t offset, uint64_t length)
{
	if (pwrite(s->fd, s->buf, length, (off_t)offset) != (ssize_t)length)
		err(1, "pwrite");
}

static void sync_writes(struct wl *w)
{
	writes_between(w, op_aio, write_directly);
}

static void plain_loops(struct wl *w)
{
	struct opener s = wl_open(w, 0);

	for (int i = 0; i < 8; i++)
		read_blind(&s, 20000);
	s.o->known = KNOW_CALLS;
	scan_all(s.o, s.o->present);
	opener_close(&s);
}

const struct pattern patterns_load[] = {
	{"memcg_loop", SETUP_medium, memcg_loop},
	{"kswapd_fill", SETUP_big, kswapd_fill},
	{"throttled_seq", SETUP_cold, throttled_seq},
	{"throttled_warmed", SETUP_cold, throttled_warmed},
	{"throttled_aio", SETUP_many, throttled_aio},
	{"throttled_direct", SETUP_many, throttled_direct},
	{"throttled_uring", SETUP_many, throttled_uring},
	{"aio_writes", SETUP_many, aio_writes},
	{"uring_writes", SETUP_many, uring_writes},
	{"worker_writes", SETUP_many, worker_writes},
	{"sync_writes", SETUP_many, sync_writes},
	{"plain_loops", SETUP_cold, plain_loops},
	{0},
};
