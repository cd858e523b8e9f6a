/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* No plain reads (see full/plain.bpf.h), because there is no tally for them. */
#ifndef BASIC_PLAIN_BPF_H
#define BASIC_PLAIN_BPF_H

#include "bpf/state/live.bpf.h"

static __always_inline bool read_plain_call(struct kiocb *iocb, struct iov_iter *iter, __u64 count)
{
	return false;
}

static __always_inline void read_expect(struct live *l, __u64 mapping)
{
}

#endif
