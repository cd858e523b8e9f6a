/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/capture/probe_object.h"

#include "bpf/shared.h"

#include "cachemon.skel.h"
#include "cachemon_basic.skel.h"
#include "cachemon_probe.skel.h"

const void *probe_object_bytes(enum probe_build build, size_t *ret_size)
{
	switch (build) {
	case BUILD_PROBE:
		return cachemon_probe_bpf__elf_bytes(ret_size);
	case BUILD_BASIC:
		return cachemon_basic_bpf__elf_bytes(ret_size);
	default:
		return cachemon_bpf__elf_bytes(ret_size);
	}
}
