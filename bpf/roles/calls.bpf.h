/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Decides which events belong to one read call, and what it counts. Owns the identification of a
 * call. mm_filemap_get_pages fires once per batch, after lookup and wait, with the whole remaining
 * range; a batch whose last folio had to be waited for raises no event. So neither the number of
 * events nor the first one describes a call. ioac.syscr (finished read calls of the task)
 * identifies it, and ranges.bpf.h finds its range.
 */
#ifndef CALLS_BPF_H
#define CALLS_BPF_H

#include "bpf/state/counts.bpf.h"
#include "bpf/roles/ranges.bpf.h"
#include OF_BUILD(by_call.bpf.h)
#include OF_BUILD(references.bpf.h)

/* Counts pages from..last (cut at EOF) and bytes from..to of a call. */
static __always_inline void call_count(struct live *l, struct inode *inode, __u64 from, __u64 last,
				       __u64 pos, __u64 end, __u64 calls)
{
	__u64 size = READ(inode, i_size), eof_last = (size - 1) >> page_shift;
	struct file_row *row;

	if (!size)
		return;
	if (last > eof_last)
		last = eof_last;
	if (end > size)
		end = size;
	if (from > last && end <= pos)
		return;
	row = call_row(l, inode);
	row_add(row, C_read_calls, calls);
	if (from <= last) {
		row_add(row, C_lookups, last - from + 1);
		if (l->s.job != JOB_OTHERS)
			references_looked_up(&l->s.read_file, from, last, l->epoch);
	}
	if (end > pos)
		row_add(row, C_read_bytes, end - pos);
}

enum {
	DUE_CALL = 1 << 0,    /* the call itself is not counted */
	DUE_LOOKUPS = 1 << 1, /* the per-read hook is on: its lookups are counted */
	DUE_WHOLE = 1 << 2,   /* its first byte is unknown: counts all of its pages or none */
	DUE_SHORT = 1 << 3,   /* a kind of call that often ends early */
};

/* The first page at or after a byte. */
static __always_inline __u64 page_after(__u64 pos)
{
	return (pos + (1ull << page_shift) - 1) >> page_shift;
}

/* The end of the current part, as far as its last page shows. */
static __always_inline __u64 due_part_end(struct task_state *s, struct inode *inode)
{
	__u64 end = s->read_counted << page_shift, size = READ(inode, i_size);

	if (end > s->read_end)
		end = s->read_end;
	return end < size ? end : size;
}

/* A call of the job whose end shows in the task's own count of bytes, when it is counted. */
static __always_inline void call_due(struct live *l, struct inode *inode, struct call *c,
				     bool lookups)
{
	__u64 size = READ(inode, i_size), end = c->end < size ? c->end : size;
	struct task_state *s = &l->s;
	long nr = REGS_NR(l->regs);
	struct task_struct *t = CAST(task_struct, l->task);

	if (c->parts)
		end = due_part_end(s, inode);
	if (end <= c->pos)
		return;
	s->due_id = s->read_id;
	s->due_pos = c->pos;
	s->due_page = s->read_begin;
	s->due_bytes = end - c->pos;
	s->due_rchar = READ(t, ioac.rchar);
	s->due_wchar = READ(t, ioac.wchar);
	s->due_syscw = READ(t, ioac.syscw);
	s->due_flags = DUE_CALL | (lookups ? DUE_LOOKUPS : 0) | (nr_executes(nr) ? DUE_WHOLE : 0) |
		       (nr != NR_read && nr != NR_pread64 ? DUE_SHORT : 0);
	s->due_misses = 0;
	s->due_missed = 0;
	s->due_refaults = 0;
	if (!lookups)
		return;
	call_row(l, inode);
	/* Plain reads may be counted before this one; its references still come before theirs. */
	if (!(s->due_flags & DUE_SHORT))
		references_looked_up(&s->read_file, s->due_page, (end - 1) >> page_shift, l->epoch);
}

/* The pages that a call missed, up to the last one that it returned. An upper bound if there are
 * more than 64, with cached ones in between. */
static __always_inline __u64 due_missed(struct task_state *s, __u64 last)
{
	__u64 n = s->due_misses, upto;

	if (s->miss_last <= last)
		return n;
	if (s->miss_first > last)
		return 0;
	upto = last - s->miss_first + 1;
	if ((__u64)popcount64(s->due_missed) == n && last - s->due_page < 64)
		upto = popcount64(s->due_missed & ~0ull >> (63 - (last - s->due_page)));
	return upto < n ? upto : n;
}

/* Counts the pending part of a call that returned this many bytes. */
static __always_inline void due_count(struct live *l, __u64 bytes)
{
	__u64 last, missed, refaults, pages = 0;
	struct task_state *s = &l->s;
	struct counts_at at;

	if (!bytes)
		return;
	last = s->due_pos + (s->due_flags & DUE_WHOLE ? s->due_bytes : bytes) - 1;
	last >>= page_shift;
	missed = due_missed(s, last);
	refaults = s->due_refaults < missed ? s->due_refaults : missed;
	s->due_misses -= missed;
	s->due_refaults -= refaults;
	at = counts_of(l, &s->read_file);
	counts_add(at, C_misses, missed);
	counts_add(at, C_refault_misses, refaults);
	if (!(s->due_flags & DUE_LOOKUPS))
		return;
	if (last >= s->due_page)
		pages = last - s->due_page + 1;
	counts_add(at, C_read_calls, s->due_flags & DUE_CALL);
	counts_add(at, C_read_bytes, bytes);
	counts_add(at, C_lookups, pages);
	if (pages && s->job != JOB_OTHERS && s->due_flags & DUE_SHORT)
		references_looked_up(&s->read_file, s->due_page, last, l->epoch);
	s->due_flags &= ~(__u32)DUE_CALL;
}

/* The last call has ended, or another one has begun. If no other call came in between, it returned
 * what the task has read since (or written, for a call that does both); otherwise that is a
 * bound. */
GLOBAL int call_returned(struct live *l)
{
	__u64 bytes, most, calls, end, writes = 0;
	struct task_struct *t;
	struct task_state *s;

	if (!l)
		return 0;
	t = CAST(task_struct, l->task);
	s = &l->s;
	most = s->due_bytes;
	bytes = READ(t, ioac.rchar) - s->due_rchar;
	calls = READ(t, ioac.syscr) - s->due_id;
	if (s->read_end && calls > 1) {
		writes = READ(t, ioac.syscw) - s->due_syscw;
		if (READ(t, ioac.wchar) - s->due_wchar < bytes)
			bytes = READ(t, ioac.wchar) - s->due_wchar;
		if (writes > 1 && s->read_bytes_to - s->due_pos < most)
			most = s->read_bytes_to - s->due_pos;
	}
	if (!calls || bytes > most)
		bytes = most;
	/* Other code adds its own part. A request to the cache alone ends at a page. */
	end = s->due_pos + bytes;
	if (calls > 1 && !s->read_end && bytes < most) {
		end &= ~((1ull << page_shift) - 1);
		bytes = end > s->due_pos ? end - s->due_pos : 0;
	}
	due_count(l, bytes);
	s->due_bytes = 0;
	s->flags |= TASK_DIRTY;
	return 0;
}

/* syscr: of the running task. */
static __always_inline void call_finish(struct live *l, __u64 syscr)
{
	if (l->s.due_bytes && l->s.due_id != syscr)
		call_returned(l);
}

/* Whether this event belongs to the same call as the last one. Calls that the kernel does not
 * count in syscr (AIO, kernel threads, io_uring without a seen submission) are identified by
 * their range. */
static __always_inline bool call_same(struct task_state *s, struct inode *inode, __u64 id,
				      __u64 index, __u64 last)
{
	return s->read_inode == (__u64)inode && s->read_id == id && index >= s->read_next &&
	       (last == s->read_last || (s->read_end && last <= s->read_last));
}

/* The same for an event that shows what is left to read. */
static __always_inline bool call_goes_on(struct live *l, struct inode *inode, __u64 id, __u64 last)
{
	struct task_state *s = &l->s;

	if (s->read_inode != (__u64)inode || s->read_iocb != l->now.iocb ||
	    (!l->now.iocb && s->read_id != id))
		return false;
	if (s->read_upto == l->now.end && l->now.pos > s->read_at && place_goes_on(l))
		return true;
	return s->read_end && last <= s->read_last;
}

static __always_inline void call_open(struct live *l, struct inode *inode, __u64 id, __u64 index,
				      __u64 last, bool count)
{
	struct task_state *s = &l->s;
	struct call c;

	tally_close();
	if (s->due_bytes)
		call_returned(l);
	call_find(l, inode, index, last, &c);
	if (c.again && s->read_id == URING_CALL && s->read_inode == (__u64)inode &&
	    s->read_last == last && s->read_begin == c.pos >> page_shift)
		return;
	/* Calls of AIO and of workers end without a change of syscr. A tracepoint comes after
	 * the wait of the same call. */
	read_wait_finish(l, config.reads_by_call ? NO_CALL : id);
	/* A window that opened no call (io_uring) has begun to record this call's misses. */
	if (s->read_inode || !c.alone) {
		s->miss_first = ~0ull;
		s->miss_last = 0;
	}
	s->read_inode = (__u64)inode;
	s->read_id = c.uring ? URING_CALL : id;
	s->read_begin = c.pos >> page_shift;
	s->read_last = c.last;
	s->read_next = index + 1;
	s->read_settled = s->read_begin;
	s->read_end = 0;
	file_key_of(inode, &s->read_file);
	s->wait_file = s->read_file;
	if (config.reads_by_call) {
		s->read_iocb = l->now.iocb;
		s->read_wait = 0;
	}
	if (c.parts) {
		s->read_end = c.end;
		c.end = part_end(c.pos, c.end, last);
		s->read_counted = last + 1;
		s->read_part = c.pos;
		s->read_bytes_to = c.end;
		last = (c.end - 1) >> page_shift;
	}
	if (c.told && s->job != JOB_OTHERS)
		call_due(l, inode, &c, count);
	else if (count && !c.again)
		call_count(l, inode, s->read_begin, last, c.pos, c.end, 1);
	/* The file may be chosen for tracing only now. */
	if (!c.again && trace_may(inode))
		trace_read(l, addr_of(l, inode), c.pos, c.end, c.parts ? NOTE_PART : 0);
}

/* The previous part was returned completely, or there would be no next one. */
GLOBAL int due_next_part(struct live *l, __u64 inode)
{
	struct task_state *s;
	__u64 sent, most, page, passed;

	if (!l)
		return 0;
	s = &l->s;
	sent = s->read_bytes_to - s->due_pos;
	due_count(l, sent);
	s->due_rchar += sent;
	s->due_wchar += sent;
	s->due_pos = s->read_bytes_to;
	page = page_after(s->due_pos);
	passed = page - s->due_page;
	s->due_missed = passed < 64 ? s->due_missed >> passed : 0;
	s->due_page = page;
	most = due_part_end(s, CAST(inode, inode));
	s->due_bytes = most > s->due_pos ? most - s->due_pos : 0;
	return 0;
}

/* The next part of a call in parts. begin: the first byte of the event, or of its page. upto: the
 * end of the request, if the hook shows it. Up to 6.4 a full pipe ends a part, and the part's last
 * page is looked up again with the same end as before. The same may happen to the rest of a call
 * that fits a pipe except for that page; due_bytes includes both. */
static __always_inline int call_next_part(struct live *l, struct inode *inode, __u64 begin,
					  __u64 last, __u64 upto)
{
	struct task_state *s = &l->s;
	__u64 end;

	if (last + 1 == s->read_counted && begin < s->read_bytes_to)
		return 0;
	if (s->due_bytes && upto && upto == s->read_upto)
		return 0;
	if (begin > s->read_part && begin < s->read_bytes_to)
		s->read_bytes_to = begin;
	end = part_end(s->read_bytes_to, s->read_end, last);
	if (trace_may(inode))
		trace_read(l, addr_of(l, inode), s->read_bytes_to, end, NOTE_PART);
	s->read_counted = last + 1;
	if (s->due_bytes)
		due_next_part(l, addr_of(l, inode));
	else
		call_count(l, inode, page_after(s->read_bytes_to), (end - 1) >> page_shift,
			   s->read_bytes_to, end, 0);
	s->read_part = s->read_bytes_to;
	s->read_bytes_to = end;
	return 0;
}

#endif
