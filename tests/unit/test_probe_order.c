/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: capture plan account util */
/*
 * Whose state a CPU holds is read by others while it changes. Where the architecture does not keep
 * the order of stores the programs have to, by atomic operations that return what was there; where
 * it does, they cost a switch of tasks nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <string.h>

#include "capture/probe_object.h"

#if defined(__x86_64__)
#define KEEPS_ORDER true
#else
#define KEEPS_ORDER false
#endif

static int be_silent(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return 0;
}

static int swaps_of(const struct bpf_program *prog)
{
	const struct bpf_insn *insns = bpf_program__insns(prog);
	int swaps = 0;

	for (size_t i = 0; i < bpf_program__insn_cnt(prog); i++)
		swaps += BPF_CLASS(insns[i].code) == BPF_STX &&
			 BPF_MODE(insns[i].code) == BPF_ATOMIC && insns[i].imm == BPF_XCHG;
	return swaps;
}

static void test_switch(void **state)
{
	static const enum probe_build builds[] = {BUILD_DIRECT, BUILD_PROBE};

	libbpf_set_print(be_silent);
	for (size_t b = 0; b < sizeof(builds) / sizeof(builds[0]); b++) {
		size_t size = 0;
		const void *bytes = probe_object_bytes(builds[b], &size);
		struct bpf_object *obj = bpf_object__open_mem(bytes, size, NULL);
		struct bpf_program *prog;

		assert_non_null(obj);
		prog = bpf_object__find_program_by_name(obj, "switch_tp");
		assert_non_null(prog);
		/* Before the state is another task's and after: the task that leaves may be loaded
		 * too. */
		if (KEEPS_ORDER)
			assert_int_equal(swaps_of(prog), 0);
		else
			assert_true(swaps_of(prog) >= 2);
		bpf_object__close(obj);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_switch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
