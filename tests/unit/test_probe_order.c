/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: collector plan account access */
/*
 * Other CPUs read whose state a CPU holds while it changes. On an architecture with weak store
 * ordering the programs must order the stores, by atomic operations that return the old value. On
 * others, a task switch must not pay for them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <gelf.h>
#include <linux/bpf.h>
#include <string.h>

#include "cachemon/capture/probe_set.h"

#if defined(__x86_64__)
#define KEEPS_ORDER true
#else
#define KEEPS_ORDER false
#endif

static int swaps_among(const struct bpf_insn *insns, size_t nr)
{
	int swaps = 0;

	for (size_t i = 0; i < nr; i++)
		swaps += BPF_CLASS(insns[i].code) == BPF_STX &&
			 BPF_MODE(insns[i].code) == BPF_ATOMIC && insns[i].imm == BPF_XCHG;
	return swaps;
}

/* The number of such operations in a function of an object; -1: no such function. */
static int swaps_of(Elf *elf, const char *function)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr header;

	while ((scn = elf_nextscn(elf, scn)) && gelf_getshdr(scn, &header)) {
		Elf_Data *symbols = elf_getdata(scn, NULL);
		GElf_Sym sym;

		if (header.sh_type != SHT_SYMTAB)
			continue;
		for (int i = 0; gelf_getsym(symbols, i, &sym); i++) {
			const char *name = elf_strptr(elf, header.sh_link, sym.st_name);
			Elf_Data *code;

			if (!name || strcmp(name, function) != 0)
				continue;
			code = elf_getdata(elf_getscn(elf, sym.st_shndx), NULL);
			return swaps_among((const void *)((const char *)code->d_buf + sym.st_value),
					   sym.st_size / sizeof(struct bpf_insn));
		}
	}
	return -1;
}

/* Both before and after the switch: the state of the leaving task may be read too. */
static void test_switch(void **state)
{
	static const enum probe_build builds[] = {BUILD_DIRECT, BUILD_PROBE};

	elf_version(EV_CURRENT);
	for (size_t b = 0; b < sizeof(builds) / sizeof(builds[0]); b++) {
		size_t size = 0;
		const void *bytes = probe_set_object(builds[b], &size);
		Elf *elf = elf_memory((char *)bytes, size);
		int swaps;

		assert_non_null(elf);
		swaps = swaps_of(elf, "switched_told");
		if (KEEPS_ORDER)
			assert_int_equal(swaps, 0);
		else
			assert_true(swaps >= 2);
		elf_end(elf);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_switch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
