// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The programs of full/read_tp.bpf.c. A kernel of this build does not use them, because it lacks
 * the tracepoint.
 */
#include "bpf/roles/reads.bpf.h"

SEC("?tp_btf/mm_filemap_get_pages")
int BPF_PROG(read_tp, struct address_space *mapping, unsigned long index, unsigned long last)
{
	return WITH_LIVE_UNCOUNTED(l, read_any(l, addr_of(l, mapping), index, last));
}

/* No kernel of this build uses it. */
SEC("?tp_btf/mm_filemap_get_pages")
int read_alone_tp(__u64 *ctx)
{
	return 0;
}
