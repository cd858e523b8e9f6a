/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* No references (see full/references.bpf.h): recording needs a loop, which only a helper makes. */
#ifndef BASIC_REFERENCES_BPF_H
#define BASIC_REFERENCES_BPF_H

#include "bpf/state/maps.bpf.h"

static __always_inline void references_looked_up(struct file_key *file, __u64 first, __u64 last,
						 __u32 at_epoch)
{
}

#endif
