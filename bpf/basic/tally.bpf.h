/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* No tallies (see full/tally.bpf.h): each event checks the state of its task. */
#ifndef BASIC_TALLY_BPF_H
#define BASIC_TALLY_BPF_H

#include "bpf/basic/cells.bpf.h"
#include "bpf/basic/tasks.bpf.h"

static __always_inline void tally_loaded(bool loaded, bool own)
{
}

static __always_inline void tally_settle(struct task_state *s)
{
}

static __always_inline void tally_close(void)
{
}

static __always_inline void tallies_close(void)
{
}

static __always_inline bool tally_may_be_own(void)
{
	return true;
}

static __always_inline bool tally_passes_switch(const __u64 *ctx)
{
	return false;
}

#endif
