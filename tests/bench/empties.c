/* SPDX-License-Identifier: BSD-2-Clause */
#include "empties.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

static void attach_one(const char *name, const char *hook, uint32_t btf_id,
		       enum bpf_attach_type type, struct empties *e)
{
	/* r0 = 0; exit: the code of an empty function. */
	static const struct bpf_insn body[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = type,
		    .attach_btf_id = btf_id);
	int prog, link;

	prog = bpf_prog_load(BPF_PROG_TYPE_TRACING, name, "GPL", body, 2, &opts);
	if (prog < 0)
		bench_fail("the kernel refuses an empty program for %s: %s", hook, strerror(errno));
	link = bpf_raw_tracepoint_open(NULL, prog);
	if (link < 0)
		bench_fail("an empty program for %s does not attach: %s", hook, strerror(errno));
	e->fds[e->nr++] = prog;
	e->fds[e->nr++] = link;
}

void empties_attach(const struct scan *like, struct empties *ret)
{
	ret->nr = 0;
	for (int i = 0; i < like->nr; i++)
		if (like->progs[i].tp_btf)
			attach_one(like->progs[i].name, like->progs[i].name, like->progs[i].btf_id,
				   BPF_TRACE_RAW_TP, ret);
}

void empties_attach_hook(const char *hook, struct empties *ret)
{
	static const struct {
		const char *prefix;
		enum bpf_attach_type type;
	} kinds[] = {{"tp_btf:", BPF_TRACE_RAW_TP}, {"fentry:", BPF_TRACE_FENTRY}};

	ret->nr = 0;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t len = strlen(kinds[i].prefix);
		int id;

		if (strncmp(hook, kinds[i].prefix, len))
			continue;
		id = libbpf_find_vmlinux_btf_id(hook + len, kinds[i].type);
		if (id <= 0)
			bench_fail("the kernel has no %s", hook);
		attach_one("empty", hook, (uint32_t)id, kinds[i].type, ret);
		return;
	}
	bench_fail("no empty program for the hook '%s'", hook);
}

void empties_detach(struct empties *e)
{
	while (e->nr)
		close(e->fds[--e->nr]);
}
