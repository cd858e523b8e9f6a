/* SPDX-License-Identifier: BSD-2-Clause */
#include "empties.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

static void attach_one(const struct scan_prog *p, struct empties *e)
{
	/* r0 = 0; exit: what an empty function compiles to. */
	static const struct bpf_insn body[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_RAW_TP,
		    .attach_btf_id = p->btf_id);
	int prog, link;

	prog = bpf_prog_load(BPF_PROG_TYPE_TRACING, p->name, "GPL", body, 2, &opts);
	if (prog < 0)
		bench_fail("the kernel refuses an empty program for %s: %s", p->name,
			   strerror(errno));
	link = bpf_raw_tracepoint_open(NULL, prog);
	if (link < 0)
		bench_fail("an empty program for %s does not attach: %s", p->name, strerror(errno));
	e->fds[e->nr++] = prog;
	e->fds[e->nr++] = link;
}

void empties_attach(const struct scan *like, struct empties *ret)
{
	ret->nr = 0;
	for (int i = 0; i < like->nr; i++)
		if (like->progs[i].tp_btf)
			attach_one(&like->progs[i], ret);
}

void empties_detach(struct empties *e)
{
	while (e->nr)
		close(e->fds[--e->nr]);
}
