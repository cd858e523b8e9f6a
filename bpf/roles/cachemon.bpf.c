// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The single object: all role files, compiled together. They share maps and subprograms, and the
 * linker of libbpf 1.1 cannot link two objects that call the same kernel function
 * (bpf_rdonly_cast): it fails to size the extern.
 */
#include "bpf/kernel/build.bpf.h"
#include "bpf/roles/job.bpf.c"
#include OF_BUILD(read_tp.bpf.c)
#include "bpf/roles/reads.bpf.c"
#include "bpf/roles/readahead.bpf.c"
#include "bpf/roles/pages.bpf.c"
#include "bpf/roles/faults.bpf.c"
#include "bpf/roles/advice.bpf.c"
#include "bpf/roles/direct.bpf.c"
#include "bpf/roles/scopes.bpf.c"
#include "bpf/roles/uring.bpf.c"
#include "bpf/roles/sockets.bpf.c"
#include "bpf/roles/vfs.bpf.c"
#include OF_BUILD(sweep.bpf.c)

char LICENSE[] SEC("license") = "Dual BSD/GPL";
