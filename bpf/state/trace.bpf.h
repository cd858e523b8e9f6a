/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Traces: every event of a few files. Owns the choice of these files, and what is sent of an event.
 * Programs ask trace_may() before they record anything: one load, usually 0. In each stratum of
 * sizes, the files with the lowest hashes are traced: a file is chosen at its first event of the
 * run if its hash is below the stratum's threshold. If all places are taken, the file with the
 * highest hash loses its place, and the threshold falls to that hash. It never rises, so every file
 * below it was chosen at its first event.
 */
#ifndef TRACE_BPF_H
#define TRACE_BPF_H

#include "bpf/state/overlay.bpf.h"
#include "bpf/state/rows.bpf.h"
#include "bpf/state/tasks.bpf.h"

#define NOTE(kind, detail, order, flags)                                                           \
	((kind) | (__u64)(detail) << 8 | (__u64)(order) << 24 | (__u64)(flags) << 32)

#define NOTE_CALL(call) ((__u64)(call) << 16)

#ifdef CACHEMON_TRACES
static __always_inline __u32 trace_slot(__u64 ino)
{
	return (ino ^ ino >> 10) & (NR_TRACE_FILTER - 1);
}

/* Inodes share slots: a collision costs a lookup. */
static __always_inline bool trace_may(struct inode *inode)
{
	return shared.tracing.filter[trace_slot(READ(inode, i_ino))];
}

/* A file may be chosen at the current event. */
static __always_inline bool trace_chooses(struct live *l)
{
	return shared.tracing.on && l->s.job != JOB_OTHERS;
}

/* Reads f_ra by its offset, because some kernels have it in a union, which the verifier does not
 * follow. */
static __always_inline void trace_state_of(struct trace_record *r, __u64 file)
{
	struct file_ra_state *ra =
		CAST(file_ra_state, file + bpf_core_field_offset(struct file, f_ra));
	__u32 mode = READ(CAST(file, file), f_mode);

	r->flags |=
		(mode & FMODE_RANDOM ? NOTE_RANDOM : 0) | (mode & FMODE_NOREUSE ? NOTE_NOREUSE : 0);
	r->ra_pages = READ(ra, ra_pages);
	r->state.start = READ(ra, start);
	r->state.size = READ(ra, size);
	r->state.async_size = READ(ra, async_size);
	r->state.prev_pos = READ(ra, prev_pos);
	r->state.mmap_miss = READ(ra, mmap_miss);
	/* From 6.16 mmap_miss and the order have 16 bits each. */
	if (bpf_core_field_exists(ra->order)) {
		r->state.mmap_miss &= 0xffff;
		r->state.order = READ(ra, order);
	}
}

/* User space polls the ring soon anyway: it is woken only if that would be too late. */
static __always_inline __u64 trace_wakes(__u32 events)
{
	if (events % 64 || bpf_ringbuf_query(&traces, BPF_RB_AVAIL_DATA) < TRACE_RING_BYTES / 4)
		return BPF_RB_NO_WAKEUP;
	return BPF_RB_FORCE_WAKEUP;
}

/* Reserves an event of this file; NULL: it is not traced, or has its maximum of events. */
static __always_inline struct trace_record *trace_room(struct live *l, struct inode *inode,
						       __u8 kind, __u32 *ret_events)
{
	struct file_key *key = &l->note.key;
	struct trace_record *r;
	struct traced *t;

	file_key_of(inode, key);
	t = bpf_map_lookup_elem(&traced, key);
	if (!t || t->state != TRACED_LIVE || (__s32)(l->epoch - t->from_epoch) < 0)
		return NULL;
	*ret_events = __sync_fetch_and_add(&t->events, 1);
	t->quiet = kind == NOTE_READ ? t->quiet + 1 : 0;
	if (*ret_events >= TRACE_EVENTS_MAX || t->quiet > TRACE_QUIET_MAX) {
		t->state = t->quiet > TRACE_QUIET_MAX ? TRACED_QUIET : TRACED_LONG;
		shared.tracing.ended = 1;
		return NULL;
	}
	r = bpf_ringbuf_reserve(&traces, sizeof(*r), 0);
	if (!r) {
		t->state = TRACED_LOST;
		shared.tracing.ended = 1;
		__sync_fetch_and_add(&shared.tracing.lost, 1);
		return NULL;
	}
	__builtin_memset(r, 0, sizeof(*r));
	r->number = t->number;
	__sync_fetch_and_add(&shared.tracing.burst, 1);
	return r;
}

/* An event of the file, with the details in l->note; what: NOTE(). */
GLOBAL int trace_send(struct live *l, __u64 inode_addr, __u64 what, __u64 pos, __u64 len)
{
	struct inode *inode = CAST(inode, inode_addr);
	struct trace_record *r;
	struct trace_note *n;
	__u32 events = 0;

	if (!l)
		return 0;
	n = &l->note;
	r = trace_room(l, inode, what, &events);
	if (!r)
		goto out;
	r->time_ns = bpf_ktime_get_ns();
	r->tid = READ(CAST(task_struct, l->task), pid);
	r->kind = what;
	r->detail = what >> 8;
	r->call = what >> 16;
	r->order = what >> 24;
	r->flags = (what >> 32) | n->vma_flags;
	r->pos = pos;
	r->len = len;
	r->size_bytes = READ(inode, i_size);
	r->io_pages = READ(inode, i_sb, s_bdi, io_pages);
	r->file = n->file;
	if (n->file)
		trace_state_of(r, n->file);
	else
		r->state.async_size = n->lookahead;
	r->vma = n->vma;
	bpf_ringbuf_submit(r, trace_wakes(events));
out:
	n->file = 0;
	n->vma_flags = 0;
	n->lookahead = 0;
	n->vma.end = 0;
	return 0;
}

static __always_inline __u32 trace_stratum(__u64 size)
{
	__u32 s = 0;

	for (int i = 0; i < NR_STRATA - 1; i++)
		s += size >= 16384ull << 3 * i;
	return s;
}

static __always_inline __u32 trace_hash(const struct file_key *key)
{
	__u64 h = key->ino ^ (__u64)key->dev << 32 ^ (__u64)key->gen << 17;

	h = (h ^ h >> 32) * 0xd6e8feb86659fd93ull;
	h = (h ^ h >> 32) * 0xd6e8feb86659fd93ull;
	return h >> 32;
}

#define THRESHOLD_TRIES 8 /* number of CPUs that lower it at once; after that it stays higher */

static __noinline int trace_lower(__u32 stratum, __u32 hash)
{
	volatile __u32 *at = &shared.tracing.threshold[stratum & (NR_STRATA - 1)];

	for (int i = 0; i < THRESHOLD_TRIES; i++) {
		__u32 now = *at;

		if (hash >= now || __sync_val_compare_and_swap(at, now, hash) == now)
			break;
	}
	return 0;
}

static __always_inline __s32 trace_max_order(struct address_space *mapping)
{
	__u64 flags = READ(mapping, flags);

	if (bpf_core_enum_value_exists(enum mapping_flags, AS_FOLIO_ORDER_MAX))
		return flags >> bpf_core_enum_value(enum mapping_flags, AS_FOLIO_ORDER_MAX) & 31;
	if (bpf_core_enum_value_exists(enum mapping_flags, AS_LARGE_FOLIO_SUPPORT))
		return flags >> bpf_core_enum_value(enum mapping_flags, AS_LARGE_FOLIO_SUPPORT) & 1
			       ? 9
			       : 0;
	return 0;
}

/* Reports a newly chosen file to user space. */
static __noinline int trace_send_begin(struct live *l, __u64 inode_addr)
{
	struct inode *inode = CAST(inode, inode_addr);
	struct trace_pick *p = &l->note.pick;
	struct trace_record *r;
	__u32 events = 0;

	r = trace_room(l, inode, NOTE_BEGIN, &events);
	if (!r)
		return 0;
	r->kind = NOTE_BEGIN;
	r->time_ns = bpf_ktime_get_ns();
	r->size_bytes = READ(inode, i_size);
	r->io_pages = READ(inode, i_sb, s_bdi, io_pages);
	r->ra_pages = READ(inode, i_sb, s_bdi, ra_pages);
	r->begin.file = p->file;
	r->begin.cached_pages = READ(inode, i_mapping, nrpages);
	r->begin.hash = p->hash;
	r->begin.stratum = p->stratum;
	r->begin.max_order = trace_max_order(READ(inode, i_mapping));
	bpf_ringbuf_submit(r, trace_wakes(events));
	return 0;
}

/* Which place of the stratum is free, or has the highest hash; was: its word. A separate
 * function, because the verifier would walk the code after it for each of them; and a loop,
 * which unrolled would keep all addresses on the stack. */
GLOBAL int trace_place_of(__u32 stratum, __u64 *was)
{
	struct trace_place *places = shared.tracing.places[stratum & (NR_STRATA - 1)];
	__u64 highest = 0;
	int best = 0;

	if (!was)
		return 0;
#pragma clang loop unroll(disable)
	for (int i = 0; i < STRATUM_FILES; i++) {
		__u64 word = *(volatile __u64 *)&places[i].word;

		if (!word) {
			highest = 0;
			best = i;
			break;
		}
		if (word > highest) {
			highest = word;
			best = i;
		}
	}
	*was = highest;
	return best;
}

/* The previous file of a place: if the place belongs to another file already, nothing is done. */
static __always_inline void trace_push_out(const struct file_key *file, __u32 number)
{
	struct traced *t = bpf_map_lookup_elem(&traced, file);

	if (!t || t->number != number || t->state != TRACED_LIVE)
		return;
	t->state = TRACED_PUSHED;
	shared.tracing.ended = 1;
	__sync_fetch_and_add(&shared.tracing.filter[trace_slot(file->ino)], -1);
	__sync_fetch_and_add(&shared.tracing.live, -1);
}

/* Takes a place for the file: its number, or 0. */
static __noinline int trace_settle(struct live *l)
{
	__u32 number = __sync_fetch_and_add(&shared.tracing.numbers, 1) + 1;
	struct trace_pick *p = &l->note.pick;
	struct trace_place *place;
	__u32 free;
	__u64 was;

	free = trace_place_of(p->stratum, &p->was);
	place = &shared.tracing.places[p->stratum & (NR_STRATA - 1)][free & (STRATUM_FILES - 1)];
	was = p->was;
	p->before = place->file;
	if ((was && was >> 32 <= p->hash) || shared.tracing.burst >= TRACE_BURST_MAX ||
	    __sync_val_compare_and_swap(&place->word, was, (__u64)p->hash << 32 | number) != was) {
		trace_lower(p->stratum, p->hash);
		return 0;
	}
	place->file = p->file;
	if (was) {
		trace_lower(p->stratum, was >> 32);
		trace_push_out(&p->before, was);
	}
	return number;
}

/* The file's first event on this CPU, or the first again after other files. Called with a deep
 * stack: it and its callees must have small frames. */
GLOBAL int trace_choose(struct live *l, __u64 inode_addr)
{
	struct inode *inode = CAST(inode, inode_addr);
	struct trace_pick *p;
	__u32 slot;

	if (!l || !shared.tracing.on)
		return 0;
	p = &l->note.pick;
	file_key_of(inode, &p->file);
	p->hash = trace_hash(&p->file);
	p->stratum = trace_stratum(READ(inode, i_size));
	if (p->hash >= shared.tracing.threshold[p->stratum & (NR_STRATA - 1)] ||
	    bpf_map_lookup_elem(&traced, &p->file))
		return 0;
	p->entry.number = trace_settle(l);
	if (!p->entry.number)
		return 0;
	p->entry.state = TRACED_LIVE;
	p->entry.from_epoch = l->epoch;
	p->entry.events = 0;
	p->entry.quiet = 0;
	/* Done before the file can be found, because a program that finds it checks each of its
	 * reads. */
	slot = trace_slot(p->file.ino);
	__sync_fetch_and_add(&shared.tracing.filter[slot], 1);
	__sync_fetch_and_add(&shared.tracing.live, 1);
	if (!bpf_map_update_elem(&traced, &p->file, &p->entry, BPF_NOEXIST))
		return trace_send_begin(l, inode_addr);
	__sync_fetch_and_add(&shared.tracing.filter[slot], -1);
	__sync_fetch_and_add(&shared.tracing.live, -1);
	if (!bpf_map_lookup_elem(&traced, &p->file))
		trace_lower(p->stratum, p->hash);
	return 0;
}

/* The open file that the running call reads, as far as its registers show. */
static __always_inline void trace_file_of_call(struct live *l, struct inode *inode)
{
	__u64 mapping;

	if (l->note.file)
		return;
	mapping = addr_of(l, READ(inode, i_mapping));
	l->note.file = addr_of(l, file_of_call(l, inode, true));
	if (l->note.file && !trace_file_is(l->note.file, mapping))
		trace_file_below(l, mapping);
}

/* A call, or a part of one, that requests pos..end. */
GLOBAL int trace_read(struct live *l, __u64 inode_addr, __u64 pos, __u64 end, __u64 flags)
{
	struct inode *inode = CAST(inode, inode_addr);
	struct task_state *s;

	if (!l)
		return 0;
	s = &l->s;
	trace_file_of_call(l, inode);
	if (s->win_inode == inode_addr && !(s->win_kind & WIN_IN_FAULT) && s->win_lo <= s->win_hi)
		flags |= NOTE_AFTER;
	if (!l->note.file)
		flags |= NOTE_RANGE;
	return trace_send(l, inode_addr, NOTE(NOTE_READ, 0, 0, flags), pos, end - pos);
}

static __always_inline __u32 trace_order(__u64 pages)
{
	__u32 order = 0;

	for (int i = 0; i < 16; i++)
		order += pages >> i > 1;
	return order;
}

GLOBAL int trace_folio(struct live *l, __u64 inode_addr, __u64 what, __u64 first, __u64 pages)
{
	what |= (__u64)trace_order(pages) << 24;
	return l ? trace_send(l, inode_addr, what, first, pages) : 0;
}
#else
static __always_inline bool trace_may(struct inode *inode)
{
	return false;
}
static __always_inline bool trace_chooses(struct live *l)
{
	return false;
}
static __always_inline int trace_choose(struct live *l, __u64 inode_addr)
{
	return 0;
}
static __always_inline void trace_file_of_call(struct live *l, struct inode *inode)
{
}
static __always_inline int trace_send(struct live *l, __u64 inode_addr, __u64 what, __u64 pos,
				      __u64 len)
{
	return 0;
}
static __always_inline int trace_read(struct live *l, __u64 inode_addr, __u64 pos, __u64 end,
				      __u64 flags)
{
	return 0;
}
static __always_inline int trace_folio(struct live *l, __u64 inode_addr, __u64 what, __u64 first,
				       __u64 pages)
{
	return 0;
}
#endif

#endif
