// SPDX-License-Identifier: BSD-2-Clause
#include <err.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bitmap.h"
#include "oracle.h"

bool oracle_may_go_on(int locked)
{
	return !locked || geteuid();
}

struct oracle *oracle_new(const char *path, uint64_t max_bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct oracle *o;
	struct stat st;
	size_t words, bytes;

	if (fd < 0 || fstat(fd, &st))
		err(1, "%s", path);
	if (max_bytes < (uint64_t)st.st_size)
		max_bytes = (uint64_t)st.st_size;
	words = bitmap_words((max_bytes + PAGE_BYTES - 1) / PAGE_BYTES) + 1;
	bytes = sizeof(*o) + 6 * words * 8;
	o = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1,
		 0);
	if (o == MAP_FAILED || !oracle_may_go_on(mlock(o, bytes)))
		err(1, "memory for %s", path);
	snprintf(o->path, sizeof(o->path), "%s", path);
	o->fd = fd;
	o->dev = st.st_dev;
	o->ino = st.st_ino;
	o->size_bytes = (uint64_t)st.st_size;
	o->nr_pages = (max_bytes + PAGE_BYTES - 1) / PAGE_BYTES;
	o->known = KNOW_READS;
	o->present = (uint64_t *)(o + 1);
	o->now = o->present + words;
	o->outstanding = o->now + words;
	o->ghost = o->outstanding + words;
	o->other = o->ghost + words;
	o->stray = o->other + words;
	mincore_open(o);
	scan_all(o, o->present);
	return o;
}

void oracle_disturb(struct oracle *o, const char *why, uint64_t nr)
{
	if (!o->disturbed)
		snprintf(o->reason, sizeof(o->reason), "%s (%llu pages)", why,
			 (unsigned long long)nr);
	o->disturbed = true;
}

void oracle_settle(struct oracle *o)
{
	if (!settle_device(o->dev))
		oracle_disturb(o, "the device did not read all that was asked for", 0);
}

static void refresh_size(struct oracle *o)
{
	struct stat st;

	if (fstat(o->fd, &st))
		err(1, "%s", o->path);
	o->size_bytes = (uint64_t)st.st_size;
}

bool oracle_range(const struct oracle *o, const struct op *op, uint64_t *ret_first,
		  uint64_t *ret_last)
{
	uint64_t end = op->offset + op->length;

	if (end > o->size_bytes)
		end = o->size_bytes;
	if (op->offset >= end)
		return false;
	*ret_first = op->offset / PAGE_BYTES;
	*ret_last = (end - 1) / PAGE_BYTES;
	return true;
}

/* Another process moved pages since our last operation. */
static void check_untouched(struct oracle *o, const char *when)
{
	uint64_t changed = 0;

	for (uint64_t p = 0; p < o->nr_pages; p++)
		changed += bitmap_test(o->now, p) != bitmap_test(o->present, p);
	if (changed)
		oracle_disturb(o, when, changed);
}

/* Pages that the operation can move, including readahead around it. */
static void look(struct oracle *o, const struct op *op)
{
	uint64_t reach, first = 0, end = o->nr_pages;

	if (op->length) {
		reach = mincore_reach(o, op->length / PAGE_BYTES + 2);
		first = op->offset / PAGE_BYTES;
		end = (op->offset + op->length) / PAGE_BYTES + 1 + reach;
		first = first > reach ? first - reach : 0;
		end = end < o->nr_pages ? end : o->nr_pages;
		first = first < end ? first : end;
	}
	scan_changes(o, first, end - first);
}

void oracle_before(struct oracle *o, const struct op *op)
{
	o->phase = PHASE_SCAN;
	if (o->settle)
		oracle_settle(o);
	refresh_size(o);
	look(o, op);
	check_untouched(o, "pages moved between two operations");
	memcpy(o->present, o->now, bitmap_words(o->nr_pages) * 8);
	o->running = *op;
	o->phase = PHASE_IN_CALL;
}

static bool origin_of(const struct op *op, bool asked_was_present, enum figure *ret_origin)
{
	switch (op->kind) {
	case OP_READ:
	case OP_OVERLAP:
		*ret_origin = F_sync_async;
		return true;
	case OP_BRING:
		*ret_origin = op->figure;
		return true;
	case OP_TOUCH:
		/* A fault on a present page reads ahead asynchronously or not at all. */
		*ret_origin = asked_was_present ? F_sync_async : F_mmap_around;
		return true;
	default:
		return false;
	}
}

/* A page that a read call requested but did not return is not one of its lookups. */
static bool given(const struct op *op, uint64_t page)
{
	return op->kind == OP_READ && op->returned && page * PAGE_BYTES < op->offset + op->returned;
}

static void page_added(struct oracle *o, const struct op *op, uint64_t page, bool asked,
		       bool asked_was_present)
{
	enum figure origin;

	o->f[F_added]++;
	if (bitmap_test(o->ghost, page)) {
		o->f[F_refaults]++;
		o->f[F_refault_misses] += asked && given(op, page);
		bitmap_put(o->ghost, page, false);
	}
	if (op->kind == OP_WRITE) {
		o->f[F_written_pages]++;
	} else if (asked && op->kind != OP_BRING) {
		o->f[F_demand_pages]++;
		o->f[F_misses] += given(op, page);
	} else if (origin_of(op, asked_was_present, &origin)) {
		o->f[F_prefetched_pages]++;
		o->f[origin]++;
		bitmap_put(o->outstanding, page, true);
	} else {
		oracle_disturb(o, "an operation that only drops added pages", 1);
	}
}

static void page_dropped(struct oracle *o, const struct op *op, uint64_t page)
{
	if (op->kind == OP_DROP)
		o->f[op->figure]++;
	else if (op->kind == OP_DIRECT)
		o->f[F_evicted_direct_io]++;
	else
		oracle_disturb(o, "pages left in an operation that only adds", 1);
	o->f[F_evicted]++;
	if (bitmap_test(o->outstanding, page))
		o->f[F_evicted_unused]++;
	bitmap_put(o->outstanding, page, false);
	if (op->kind != OP_DROP || op->figure != F_evicted_truncate)
		bitmap_put(o->ghost, page, true);
}

static void count_call(struct oracle *o, const struct op *op, uint64_t first, uint64_t last)
{
	if (!op->returned)
		return;
	if (last * PAGE_BYTES >= op->offset + op->returned)
		last = (op->offset + op->returned - 1) / PAGE_BYTES;
	o->f[F_read_calls]++;
	o->f[F_read_bytes] += op->returned;
	o->f[F_lookups] += last - first + 1;
	for (uint64_t p = first; p <= last; p++) {
		if (!bitmap_test(o->present, p) || !bitmap_test(o->outstanding, p))
			continue;
		o->f[F_used]++;
		bitmap_put(o->outstanding, p, false);
	}
}

/* Computes the figures from o->present (before) and o->now (after). */
static void account(struct oracle *o, const struct op *op)
{
	uint64_t first = 1, last = 0;
	bool ranged = oracle_range(o, op, &first, &last), asked_was_present = false;

	if (ranged && op->kind == OP_TOUCH)
		asked_was_present = bitmap_test(o->present, first);
	if (op->kind == OP_READ && ranged)
		count_call(o, op, first, last);
	for (uint64_t p = 0; p < o->nr_pages; p++) {
		bool was = bitmap_test(o->present, p), is = bitmap_test(o->now, p);

		if (!was && is)
			page_added(o, op, p, ranged && p >= first && p <= last, asked_was_present);
		else if (was && !is)
			page_dropped(o, op, p);
	}
	memcpy(o->present, o->now, bitmap_words(o->nr_pages) * 8);
}

void oracle_after(struct oracle *o, const struct op *op)
{
	o->phase = PHASE_SCAN;
	look(o, op);
	if (op->kind == OP_WRITE || (op->kind == OP_DROP && op->figure == F_evicted_truncate))
		refresh_size(o);
	if (op->kind == OP_DIRECT && op->figure == F_direct_read_bytes)
		o->f[F_direct_read_bytes] += op->returned;
	account(o, op);
	o->phase = PHASE_IDLE;
}

void oracle_after_kill(struct oracle *o)
{
	struct op op = o->running;
	uint64_t first, last, settled = 0, added = 0;

	if (o->phase == PHASE_SCAN)
		oracle_disturb(o, "killed inside a scan", 0);
	if (o->phase != PHASE_IN_CALL || !oracle_range(o, &op, &first, &last))
		return;
	look(o, &op);
	for (uint64_t p = first; p <= last; p++) {
		settled += bitmap_test(o->present, p) && bitmap_test(o->outstanding, p);
		added += !bitmap_test(o->present, p) && bitmap_test(o->now, p);
	}
	/* How far the call came is not known: it may or may not count, and its pages may or may
	 * not be used. */
	o->slack[F_read_calls] = 1;
	o->slack[F_read_bytes] = op.length;
	o->slack[F_lookups] = o->slack[F_hits] = last - first + 1;
	o->slack[F_misses] = added;
	o->slack[F_used] = o->slack[F_resident_unused] = settled;
	op.kind = OP_OVERLAP;
	account(o, &op);
	o->phase = PHASE_IDLE;
}

void oracle_finish(struct oracle *o)
{
	if (o->gone)
		return;
	scan_all(o, o->now);
	check_untouched(o, "the last look at every page disagrees");
	o->f[F_resident_unused] = 0;
	for (size_t w = 0; w < bitmap_words(o->nr_pages); w++)
		o->f[F_resident_unused] +=
			(uint64_t)__builtin_popcountll(o->outstanding[w] & o->present[w]);
	mincore_close(o);
	if (o->fd >= 0)
		close(o->fd);
	o->fd = -1;
}

void oracle_expect_gone(struct oracle *o)
{
	struct op op = {.kind = OP_DROP, .figure = F_evicted_truncate};

	oracle_finish(o);
	memset(o->now, 0, bitmap_words(o->nr_pages) * 8);
	account(o, &op);
	o->f[F_resident_unused] = 0;
	o->gone = true;
}
