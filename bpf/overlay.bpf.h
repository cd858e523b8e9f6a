/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The file below a file of an overlay: the cache and the readahead state are that one's. Owns the
 * way to it, for traces.
 */
#ifndef OVERLAY_BPF_H
#define OVERLAY_BPF_H

#include "names.bpf.h"

#ifdef CACHEMON_TRACES
static __always_inline bool trace_file_is(__u64 file, __u64 mapping)
{
	return file && (__u64)READ(CAST(file, file), f_mapping) == mapping;
}

/*
 * Its private data is the address of it; from 6.14 on that of a pair: of the layer that it was
 * opened on, and of the upper one where it was copied up since. What leads to the cache is the one.
 */
GLOBAL int trace_file_below(struct live *l, __u64 mapping)
{
	__u64 at, file;

	if (!l)
		return 0;
	at = addr_of(l, READ(CAST(file, l->note.file), private_data));
	if (trace_file_is(at, mapping)) {
		l->note.file = at;
		return 0;
	}
	file = load_ptr(at);
	if (!trace_file_is(file, mapping))
		file = load_ptr(at + sizeof(file));
	if (trace_file_is(file, mapping))
		l->note.file = file;
	return 0;
}

#endif

#endif
