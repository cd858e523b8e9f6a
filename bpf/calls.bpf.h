/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which events are one read call, and what it counts. Owns how a call is recognised.
 *
 * mm_filemap_get_pages fires once a batch, after lookup and wait, with the whole remaining range;
 * a batch whose last folio had to be waited for passes without an event. So neither the number of
 * events nor their first page is the call: a call is told by ioac.syscr (finished read calls of the
 * task), and its range as ranges.bpf.h finds it.
 */
#ifndef CALLS_BPF_H
#define CALLS_BPF_H

#include "ranges.bpf.h"
#include "references.bpf.h"

#ifndef CACHEMON_BASIC
/* Where a read counts, and those like it from now on. */
static __always_inline struct file_row *call_row(struct live *l, struct inode *inode)
{
	__u64 ino;
	struct cell *c;

	if (l->s.job != JOB_WATCHED) {
		c = cell_slot(l->epoch, CELL_OTHERS);
		return c ? &c->row : NULL;
	}
	ino = READ(inode, i_ino);
	c = cell_of_ino(l->epoch, ino);
	if (!c)
		return NULL;
	if (!cell_is_of(c, inode, ino))
		cell_take(l, addr_of(l, inode), HINT_OWN);
	else if (!(c->row.flags & ROW_NAMED))
		row_refresh(l, &c->row, inode, HINT_OWN, true);
	/* Not before its name was looked at by a descriptor: plain reads do not. */
	if (c->row.flags & ROW_NAMED)
		tally_take(c, l->epoch);
	return &c->row;
}
#else
static __always_inline struct file_row *call_row(struct live *l, struct inode *inode)
{
	return live_row(l, inode, HINT_OWN, l->s.job);
}
#endif

/* Count pages from..last (cut at EOF) and bytes from..to of a call. */
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
		if (l->s.job == JOB_WATCHED)
			references_looked_up(inode, from, last, l->epoch);
	}
	if (end > pos)
		row_add(row, C_read_bytes, end - pos);
}

/* Is this event the same call as the last one? Calls that the kernel does not count in syscr
 * (AIO, kernel threads, io_uring where the submission was not seen) are told by their range. */
static __always_inline bool call_same(struct task_state *s, struct inode *inode, __u64 id,
				      __u64 index, __u64 last)
{
	return s->read_inode == (__u64)inode && s->read_id == id && index >= s->read_next &&
	       (last == s->read_last || (s->read_end && last <= s->read_last));
}

/* The memory of a request is used again for the next one, which may be of the same file and end
 * where this one does. What it has filled of its buffers is then not where this one has got to. */
#ifdef CACHEMON_BASIC
static __always_inline bool place_goes_on(struct live *l)
{
	return !l->now.iocb; /* there is one event for all of a call */
}
#else
static __always_inline bool place_goes_on(struct live *l)
{
	struct iter_place *was = &l->s.read_place, *is = &l->now.place;

	if (!l->now.iocb)
		return true; /* ioac.syscr tells */
	return is->vector_end == was->vector_end &&
	       (is->segment > was->segment ||
		(is->segment == was->segment && is->base == was->base));
}
#endif

/* The same of an event that tells what the call has still to read. */
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
	call_find(l, inode, index, last, &c);
	if (c.again && s->read_id == URING_CALL && s->read_inode == (__u64)inode &&
	    s->read_last == last && s->read_begin == c.pos >> page_shift)
		return;
	/* Calls of AIO and in a worker end without moving syscr. A tracepoint comes after the wait
	 * of the very call. */
	read_wait_finish(l, config.reads_by_call ? NO_CALL : id);
	/* A window that opened no call (io_uring) has begun to note what this one misses. */
	if (s->read_inode || !c.uring) {
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
	if (config.reads_by_call) {
		s->read_iocb = l->now.iocb;
		s->read_wait = 0;
		file_key_of(inode, &s->read_file);
	}
	if (c.parts) {
		s->read_end = c.end;
		c.end = part_end(c.pos, c.end, last);
		s->read_counted = last + 1;
		s->read_bytes_to = c.end;
	}
	if (count && !c.again)
		call_count(l, inode, s->read_begin, last, c.pos, c.end, 1);
	/* The file may be chosen only now. */
	if (!c.again && trace_may(inode))
		trace_read(l, addr_of(l, inode), c.pos, c.end, c.parts ? NOTE_PART : 0);
}

#ifndef CACHEMON_BASIC
/* The first piece of a call in parts was taken for a whole one by the tally, which does not look at
 * what the call is: this one goes on where that ended, or where the pipe was full before. */
static __always_inline void call_was_part(struct live *l, struct inode *inode, __u64 id,
					  __u64 index, __u64 last)
{
	struct task_state *s = &l->s;
	struct call c;

	if (s->read_end || s->read_iocb || l->now.iocb || s->read_inode != (__u64)inode ||
	    s->read_id != id || l->now.pos <= s->read_at || l->now.pos > s->read_upto)
		return;
	call_from_now(l, inode, index, last, &c);
	if (!c.parts)
		return;
	s->read_end = c.end;
	s->read_counted = s->read_last + 1;
	s->read_bytes_to = s->read_upto;
	s->read_last = c.last;
}
#else
static __always_inline void call_was_part(struct live *l, struct inode *inode, __u64 id,
					  __u64 index, __u64 last)
{
}
#endif

/* The next part of a call in parts. */
static __always_inline int call_next_part(struct live *l, struct inode *inode, __u64 last)
{
	struct task_state *s = &l->s;
	__u64 end = part_end(s->read_bytes_to, s->read_end, last);

	/* The last part may lie in a page that the one before it ended in. */
	if (last < s->read_counted && end <= s->read_bytes_to)
		return 0;
	call_count(l, inode, s->read_counted, last, s->read_bytes_to, end, 0);
	if (trace_may(inode))
		trace_read(l, addr_of(l, inode), s->read_bytes_to, end, NOTE_PART);
	if (s->read_counted <= last)
		s->read_counted = last + 1;
	s->read_bytes_to = end;
	return 0;
}

#endif
