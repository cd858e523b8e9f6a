// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Faults of file mappings. A fault may fire both hooks, and each again on a retry. Events belong to
 * one fault while the task's fault counters stay the same; when they change, they show its type
 * (major, minor). Pages mapped around a fault are an upper bound of the used ones.
 */
#include "bpf/roles/hooks.bpf.h"
#include "bpf/kernel/folio.bpf.h"
#include "bpf/state/counts.bpf.h"
#include OF_BUILD(page_state.bpf.h)

/* The page of a fault that is known only by the pages mapped around it. */
#define NO_PAGE (~0ull)

/* True for a new fault. */
static __noinline int fault_open(struct live *l, struct inode *inode, __u64 index)
{
	struct task_struct *t = CAST(task_struct, l->task);
	struct task_state *s = &l->s;
	__u64 clock = fault_clock(t);

	if (s->fault_inode == (__u64)inode && s->fault_id == clock)
		return 0;
	fault_finish(l);
	s->fault_inode = (__u64)inode;
	s->fault_id = clock;
	s->fault_maj = READ(t, maj_flt);
	s->fault_index = index;
	file_key_of(inode, &s->fault_file);
	live_row(l, inode, 0, s->job);
	live_keep(l);
	return 1;
}

/* The mapping at the address of the current fault, if the fault is about it. */
static __noinline int trace_note_vma(struct live *l, __u64 mapping, __u64 first, __u64 last)
{
	struct vma_seen seen = {.l = l};
	struct trace_note *n = &l->note;
	__u64 address = l->s.fault_address, page;

	if (!address || vma_find(address, &seen) || !seen.file ||
	    (__u64)READ(CAST(file, seen.file), f_mapping) != mapping)
		return 0;
	page = seen.offset_pages + ((address - seen.start) >> page_shift);
	if (page < first || page > last)
		return 0;
	n->file = seen.file;
	n->vma = (struct trace_vma){seen.start, seen.end, seen.offset_pages, address};
	n->vma_flags = (seen.flags & VM_RAND_READ ? NOTE_VM_RANDOM : 0) |
		       (seen.flags & VM_SEQ_READ ? NOTE_VM_SEQUENTIAL : 0) |
		       (seen.flags & VM_EXEC ? NOTE_VM_EXEC : 0);
	return 0;
}

GLOBAL int trace_fault(struct live *l, __u64 mapping, __u64 index, __u64 flags)
{
	if (!l)
		return 0;
	trace_note_vma(l, mapping, index, index);
	return trace_send(l, addr_of(l, READ(CAST(address_space, mapping), host)),
			  NOTE(NOTE_FAULT, 0, 0, flags), index, 0);
}

GLOBAL int trace_mapped(struct live *l, __u64 mapping, __u64 first, __u64 pages)
{
	if (!l)
		return 0;
	trace_note_vma(l, mapping, first, first + pages - 1);
	return trace_send(l, addr_of(l, READ(CAST(address_space, mapping), host)),
			  NOTE(NOTE_MAP, 0, 0, 0), first, pages);
}

GLOBAL int fault(struct live *l, __u64 mapping_addr, __u64 index)
{
	struct address_space *mapping = CAST(address_space, mapping_addr);
	struct inode *inode = READ(mapping, host);
	__u64 first = 0, last = 0;
	struct task_state *s;
	bool again, waited;

	if (!l || !inode_counts(inode))
		return 0;
	s = &l->s;
	again = !fault_open(l, inode, index) && s->fault_index == index;
	s->fault_index = index;
	if (trace_may(inode))
		trace_fault(
			l, addr_of(l, mapping), index,
			(again ? NOTE_RETRY : 0) |
				(folio_span(l, mapping, index, &first, &last) ? 0 : NOTE_MISSING));
	if (!(__u32)shared.outstanding[outstanding_slot(READ(inode, i_ino))] &&
	    !(again && s->stalls))
		return 0;
	/* The retry of a fault that slept: if the page was prefetched, it came late. */
	waited = again && s->stalls && s->stall_kind == STALL_FAULT && s->stall_id == s->fault_id;
	settle(l, addr_of(l, inode), index, index, waited ? C_used_late : C_used);
	/* The folio is mapped as a whole, so the use of its other pages becomes invisible. */
	if (folio_span(l, mapping, index, &first, &last) && first != last)
		settle(l, addr_of(l, inode), first, last, C_untracked);
	settle_asked(l);
	return 0;
}

GLOBAL int map_pages(struct live *l, __u64 mapping, __u64 first, __u64 last)
{
	struct inode *inode = READ(CAST(address_space, mapping), host);
	struct file_row *row;
	__u64 eof;

	if (!l || !inode_counts(inode) || inode_in_memory(inode) || !READ(inode, i_size))
		return 0;
	fault_open(l, inode, NO_PAGE);
	eof = (READ(inode, i_size) - 1) >> page_shift;
	if (last > eof)
		last = eof;
	if (last < first)
		return 0;
	row = live_row(l, inode, 0, l->s.job);
	row_add(row, C_mapped_pages_upper_bound, last - first + 1);
	if (trace_may(inode))
		trace_mapped(l, mapping, first, last - first + 1);
	if ((__u32)shared.outstanding[outstanding_slot(READ(inode, i_ino))])
		settle(l, addr_of(l, inode), first, last, C_untracked);
	settle_asked(l);
	return 0;
}

SEC("?tp_btf/mm_filemap_fault")
int BPF_PROG(fault_tp, struct address_space *mapping, unsigned long index)
{
	return WITH_LIVE(l, EV_FAULT, fault(l, addr_of(l, mapping), index));
}

SEC("?tp_btf/mm_filemap_map_pages")
int BPF_PROG(map_pages_tp, struct address_space *mapping, unsigned long first, unsigned long last)
{
	return WITH_LIVE(l, EV_MAP, map_pages(l, addr_of(l, mapping), first, last));
}

static __noinline int fault_address(__u64 *ctx)
{
	struct live *l;
	__u32 zero = 0;

	if (!shared.tracing.live)
		return 0;
	alone_begin();
	l = bpf_map_lookup_elem(&lives, &zero);
	if (l && l->s.job != JOB_OTHERS && l->task == (__u64)current_task())
		l->s.fault_address = ctx[0];
	alone_end();
	return 0;
}

/* The address of a fault of the job, for the hooks above, which do not show it. It runs at each
 * fault of the machine, so the test comes first. */
SEC("?tp_btf/page_fault_user")
int fault_addr_tp(__u64 *ctx)
{
	if (!tally_may_be_own())
		return 0;
	return fault_address(ctx);
}

static __always_inline __u64 fault_mapping(struct live *l, __u64 vmf)
{
	l->s.fault_address = READ(CAST(vm_fault, vmf), address);
	return addr_of(l, READ(CAST(vm_fault, vmf), vma, vm_file, f_mapping));
}

static __always_inline int fault_of(struct live *l, __u64 vmf)
{
	return fault(l, fault_mapping(l, vmf), READ(CAST(vm_fault, vmf), pgoff));
}

ON_ENTRY(filemap_fault, fault, EV_FAULT, fault_of(l, ADDR(l, vmf)), struct vm_fault *vmf)

/* Counts even if the function then finds nothing to map, because its request is an upper bound
 * anyway. */
ON_ENTRY(filemap_map_pages, map_pages, EV_MAP,
	 map_pages(l, fault_mapping(l, ADDR(l, vmf)), first, last), struct vm_fault *vmf,
	 unsigned long first, unsigned long last)
