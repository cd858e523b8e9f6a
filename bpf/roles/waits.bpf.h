/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The page that a read waits for, found when the task goes to sleep: the file, from the descriptor
 * of its system call, which needs no per-read hook. If that hook is a function, it runs before the
 * wait, so the page is found here too: a lookup ends with the first folio that is not read yet.
 */
#ifndef WAITS_BPF_H
#define WAITS_BPF_H

#include "bpf/kernel/folio.bpf.h"
#include "bpf/state/counts.bpf.h"
#include OF_BUILD(by_call.bpf.h)
#include OF_BUILD(page_state.bpf.h)

/* For a hook that sees the call before its wait: a call that bypasses the cache is not seen at
 * all, and its wait does not belong to the previously read file. */
static __always_inline bool read_may_sleep(const struct task_state *s, __u64 syscr)
{
	return !config.reads_by_call || !shared.read_on ||
	       (s->read_inode && (s->read_id == syscr || s->read_id == URING_CALL));
}

/*
 * The inode whose cached pages the running task's read call waits for, or 0. A call with a window
 * reads through the cache. For any other call the descriptor shows whether it may: a wait is for a
 * page in the cache.
 */
static __always_inline __u64 read_waits_in(struct live *l, __u32 fd, __u64 syscr)
{
	struct file *file = file_of_fd(CAST(task_struct, l->task), fd);
	__u64 seen = l->s.read_id == syscr ? l->s.read_inode : 0;
	struct inode *inode;

	if (!file)
		return 0;
	if (READ(file, f_inode, i_sb, s_magic) == OVERLAYFS_SUPER_MAGIC) {
		if (seen)
			return seen;
		file = file_of_pages(file);
	}
	inode = READ(file, f_mapping, host);
	if (seen && seen == (__u64)inode)
		return seen;
	if (READ(file, f_flags) & O_DIRECT || !READ(inode, i_mapping, nrpages) ||
	    inode_in_memory(inode) || !inode_counts(inode))
		return 0;
	return addr_of(l, inode);
}

/* Records the row in which the sleep that begins will count; none: the hook that sees the call
 * decides. */
GLOBAL int read_sleep_file(struct live *l, __u32 fd, __u64 syscr)
{
	struct task_state *s;
	struct file_key was;
	__u64 inode;

	if (!l)
		return 0;
	s = &l->s;
	was = s->wait_file;
	inode = read_waits_in(l, fd, syscr);
	s->wait_file = (struct file_key){};
	if (!inode)
		return 0;
	file_key_of(CAST(inode, inode), &s->wait_file);
	if (s->wait_epoch == l->epoch && was.ino == s->wait_file.ino &&
	    was.dev == s->wait_file.dev && was.gen == s->wait_file.gen)
		return 0;
	/* Creates the row and sends the file's name while the descriptor exists. */
	s->wait_epoch = l->epoch;
	live_row(l, CAST(inode, inode), HINT_OWN, l->s.job);
	return 0;
}

static __always_inline bool read_awaits(struct live *l, __u64 syscr)
{
	struct task_state *s = &l->s;
	struct address_space *mapping;
	struct folio *f;

	/* A window that no event closed may belong to another file, which may no longer exist. */
	if (!window_is_open(s, syscr) ||
	    (s->wait_file.ino && s->wait_file.ino != READ(CAST(inode, s->win_inode), i_ino)))
		return true;
	mapping = READ(CAST(inode, s->win_inode), i_mapping);
	f = CAST(folio, folio_at(l, mapping, s->win_at));
	return !(__u64)f || !folio_uptodate(f);
}

struct wait_walk {
	struct live *l;
	__u64 mapping;
	__u64 index, last;
	__u64 first, end; /* of the folio it waits for; first > end: none */
};

STEP wait_step(__u32 i, struct wait_walk *w)
{
	__u64 addr = folio_at(w->l, CAST(address_space, w->mapping), w->index);
	struct folio *f = CAST(folio, addr);
	__u64 first, end;

	if (!addr || w->index > w->last)
		return 1;
	first = folio_index(f);
	end = first + folio_pages(f) - 1;
	if (folio_uptodate(f)) {
		w->index = end + 1;
		return 0;
	}
	w->first = first;
	w->end = end;
	return 1;
}

/* If the call did not add the folio, the folio was already on its way: a delayed hit, or a late
 * prefetch. The inode exists as long as the call. */
GLOBAL int read_sleeps(struct live *l)
{
	struct task_state *s;
	struct inode *inode;
	struct wait_walk w = {.l = l, .first = 1};
	__u64 eof, first, last, end;

	if (!l)
		return 0;
	s = &l->s;
	inode = CAST(inode, s->read_inode);
	eof = READ(inode, i_size);
	if (!eof || !s->read_next)
		return 0;
	eof = (eof - 1) >> page_shift;
	w.mapping = addr_of(l, READ(inode, i_mapping));
	w.index = s->read_next - 1;
	last = s->read_last < eof ? s->read_last : eof;
	w.last = last;
	wait_narrow(s, &w.index, &w.last);
	WAIT_LOOP(wait_step, &w);
	if (w.first > w.end || s->read_wait == w.first + 1)
		return 0;
	s->read_wait = w.first + 1;
	first = w.first < s->read_next - 1 ? s->read_next - 1 : w.first;
	end = w.end < last ? w.end : last;
	if (end < first || (first >= s->miss_first && first <= s->miss_last))
		return 0;
	row_add(live_row(l, inode, HINT_OWN, s->job), C_delayed_hits, end - first + 1);
	settle(l, s->read_inode, first, end, C_used_late);
	return 0;
}

#endif
