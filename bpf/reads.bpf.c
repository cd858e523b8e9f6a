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

SEC("?tp_btf/mm_filemap_get_pages")
int BPF_PROG(read_tp, struct address_space *mapping, unsigned long index, unsigned long last)
{
	struct live *l = live_get(EV_READ);
	struct task_state *s;
	struct inode *inode;
	__u64 id, to;

	if (!l)
		return 0;
	s = &l->s;
	inode = mapping->host;
	id = CAST(task_struct, l->task)->ioac.syscr;
	if (call_same(s, inode, id, index, last)) {
		if (s->read_end)
			call_next_part(l, inode, last);
		s->read_next = index + 1;
	} else {
		if (!inode_counts(inode))
			return 0;
		call_open(l, inode, id, index, last, true, false);
		s->flags |= TASK_DIRTY;
		if (!(s->flags & TASK_STORED) && s->job == JOB_WATCHED)
			live_keep(l);
	}
	if (s->win_inode == (__u64)inode && !(s->win_kind & WIN_IN_FAULT))
		s->win_inode = 0;
	if (s->stalls && s->stall_kind == STALL_READ && s->stall_id == id)
		read_woke(l, addr_of(l, mapping), index, last);
	if (!outstanding[inode_slot(inode)])
		return 0;
	/* What the call passed since its last event, and what it will reach: a fate is settled
	 * when the page is asked for, before anybody can evict it. */
	to = index;
	if (s->read_settled < to)
		to = s->read_settled;
	settle(l, addr_of(l, inode), to, last, C_used);
	s->read_settled = last + 1;
	return 0;
}
