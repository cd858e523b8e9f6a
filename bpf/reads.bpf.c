// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The per-read hook: lookups, hits, bytes, and the fate of prefetched pages that a call reads. The
 * only program on the hit path: no helper call while the reader stays on one file that has no
 * page of unknown fate.
 */
#include "chunks.bpf.h"
#include "calls.bpf.h"

/*
 * The call slept for I/O before this event. The folio at index is the one it waited for: a wait
 * drops the folio and looks it up again, or ends the batch before it. If the call did not add it
 * itself, it was on its way for somebody else's sake: a delayed hit, a late prefetch.
 */
GLOBAL int read_woke(struct live *l, __u64 mapping_addr, __u64 index, __u64 last)
{
	struct address_space *mapping = CAST(address_space, mapping_addr);
	struct inode *inode = mapping->host;
	struct task_state *s;
	__u64 first, end, n;
	struct file_row *row;

	if (!l)
		return 0;
	s = &l->s;
	if (s->job != JOB_WATCHED)
		goto out;
	row = live_row(l, inode, HINT_OWN, s->job);
	row_add(row, C_stall_ns, s->stall_ns);
	row_add(row, C_stalls, s->stalls);
	if (index >= s->miss_first && index <= s->miss_last)
		goto out;
	if (!folio_span(l, mapping, index, &first, &end))
		goto out;
	if (first < s->read_begin)
		first = s->read_begin;
	if (first < index)
		first = index;
	if (end > last)
		end = last;
	if (!inode->i_size)
		goto out;
	n = (inode->i_size - 1) >> page_shift;
	if (end > n)
		end = n;
	if (end < first)
		goto out;
	row_add(row, C_delayed_hits, end - first + 1);
	settle(l, addr_of(l, inode), first, end, C_used_late);
out:
	s->stall_ns = 0;
	s->stalls = 0;
	s->stall_kind = 0;
	return 0;
}

/* What any read may be. */
GLOBAL int read_any(struct live *l, __u64 mapping_addr, __u64 index, __u64 last)
{
	struct address_space *mapping = CAST(address_space, mapping_addr);
	struct inode *inode = mapping->host;
	struct task_state *s;
	__u64 id, ahead, from;

	if (!l)
		return 0;
	live_runs(l, EV_READ);
	s = &l->s;
	id = CAST(task_struct, l->task)->ioac.syscr;
	if (call_same(s, inode, id, index, last)) {
		if (s->read_end)
			call_next_part(l, inode, last);
		s->read_next = index + 1;
	} else {
		if (s->read_inode != (__u64)inode && !inode_counts(inode))
			return 0;
		call_open(l, inode, id, index, last, true);
		s->flags |= TASK_DIRTY;
		if (!(s->flags & TASK_STORED) && s->job == JOB_WATCHED)
			live_keep(l);
	}
	if (s->win_inode == (__u64)inode && !(s->win_kind & WIN_IN_FAULT))
		s->win_inode = 0;
	if (s->stalls && s->stall_kind == STALL_READ) {
		if (s->stall_id == id)
			read_woke(l, mapping_addr, index, last);
		else
			s->stalls = 0; /* of a call that is over */
	}
	ahead = outstanding[outstanding_slot(inode->i_ino)];
	if (!(__u32)ahead || (s->read_ahead == ahead >> 32 && s->read_settled > last))
		return 0;
	/* What the call passed since its last event, and what it will reach: a fate is settled
	 * when the page is asked for, before anybody can evict it. */
	from = index;
	if (s->read_settled < from)
		from = s->read_settled;
	settle(l, addr_of(l, inode), from, last, C_used);
	s->read_settled = last + 1;
	s->read_ahead = ahead >> 32;
	return 0;
}

/*
 * A new call of a task that stays on a file, for pages that are cached and wholly before its end:
 * counted here with as few loads as can tell that it is one. False: nothing was done.
 */
static __always_inline bool read_plain(struct live *l, struct address_space *mapping, __u64 index,
				       __u64 last)
{
	struct inode *inode = mapping->host;
	struct tally *t = &l->tallies[l->epoch & 1];
	struct task_state *s = &l->s;
	struct pt_regs *regs;
	__u64 id, pos, end;
	long nr;

	if (s->read_inode != (__u64)inode || t->inode != (__u64)inode ||
	    s->win_inode == (__u64)inode || s->read_end || s->job != JOB_WATCHED ||
	    !(s->flags & TASK_STORED) || (s->stalls && s->stall_kind == STALL_READ))
		return false;
	/* The memory of a file with a page in the cache is not another's before that page leaves,
	 * which moves the word: of the key, only the device is not looked at. */
	if (t->file.ino != inode->i_ino || t->file.gen != inode->i_generation ||
	    outstanding[outstanding_slot(t->file.ino)] != t->quiet)
		return false;
	id = CAST(task_struct, l->task)->ioac.syscr;
	if (id == s->read_id)
		return false;
	regs = CAST(pt_regs, l->regs);
	nr = REGS_NR(regs);
	if (nr == NR_pread64) {
		pos = REGS_ARG4(regs);
	} else if (nr == NR_read && l->regs) {
		struct file *file = file_of_fd(CAST(task_struct, l->task), (__u32)REGS_ARG1(regs));

		/* Not a request of io_uring that runs at the end of another read. */
		if (!file || !file_leads_to(file, (__u64)mapping))
			return false;
		pos = file->f_pos;
	} else {
		return false;
	}
	end = REGS_ARG3(regs);
	if (end > MAX_RW_COUNT)
		return false;
	end += pos;
	if (pos >> page_shift > index || (end - 1) >> page_shift != last ||
	    end > (__u64)inode->i_size)
		return false;
	t->read_bytes += end - pos;
	t->runs++;
	t->read_calls++;
	t->lookups += last - (pos >> page_shift) + 1;
	s->flags |= TASK_DIRTY;
	s->read_id = id;
	s->read_begin = pos >> page_shift;
	s->read_last = last;
	s->read_next = index + 1;
	s->read_settled = s->read_begin;
	s->miss_first = ~0ull;
	s->miss_last = 0;
	return true;
}

SEC("?tp_btf/mm_filemap_get_pages")
int BPF_PROG(read_tp, struct address_space *mapping, unsigned long index, unsigned long last)
{
	struct live *l = live_now();

	if (!l || read_plain(l, mapping, index, last))
		return 0;
	return read_any(l, addr_of(l, mapping), index, last);
}
