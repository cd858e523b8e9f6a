// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The per-read hook on a tracepoint. A plain read is handled by the program's first instructions.
 */
#include "bpf/roles/reads.bpf.h"
#include "bpf/full/plain.bpf.h"

/* The hook is attached before read_on is set: on a busy machine, attaching takes tens of
 * milliseconds. Plain reads need no check, because no tally is open while the hook is off. */
static __noinline int read_not_plain(__u64 *ctx)
{
	struct live *l;
	__u64 mapping, index, last;

	if (!shared.read_on)
		return 0;
	l = live_now();
	if (!l)
		return 0;
	mapping = addr_of(l, (void *)ctx[0]);
	index = ctx[1];
	last = ctx[2];
	if (read_plain_long(l, mapping, index, last))
		return 0;
	read_any(l, mapping, index, last);
	read_expect(l, mapping);
	return 0;
}

static __always_inline void read_event_tp(__u64 *ctx)
{
	if (!read_plain(&ctx[0], &ctx[2]))
		read_not_plain(ctx);
}

/* Two programs, for preemptible and non-preemptible tracepoints: a check at run time would cost
 * every read. Arguments are loaded where they are needed. */
SEC("?tp_btf/mm_filemap_get_pages")
int read_tp(__u64 *ctx)
{
	read_event_tp(ctx);
	return 0;
}

SEC("?tp_btf/mm_filemap_get_pages")
int read_alone_tp(__u64 *ctx)
{
	bpf_preempt_disable();
	read_event_tp(ctx);
	bpf_preempt_enable();
	return 0;
}
