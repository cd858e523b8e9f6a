// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The one object: the role files, compiled together. They share maps and subprograms, and the
 * linker of libbpf 1.1 cannot link two objects that call the same kernel function
 * (bpf_rdonly_cast): it fails to size the extern.
 */
#include "job.bpf.c"
#include "reads.bpf.c"
#include "readahead.bpf.c"
#include "pages.bpf.c"
#include "faults.bpf.c"
#include "advice.bpf.c"
#include "direct.bpf.c"
#include "scopes.bpf.c"
#include "uring.bpf.c"
#include "sweep.bpf.c"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
