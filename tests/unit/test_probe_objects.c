/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: collector plan account access */
/*
 * The embedded objects, compared with the table and with each other. One skeleton is used for all
 * builds, so programs, maps and the layout of variables must not differ.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <elf.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>

#include "build_name.h"
#include "bpf/cachemon.h"
#include "cachemon/capture/probe_set.h"
#include "cachemon/plan/probe_table.h"

static struct bpf_object *objects[BUILD_NR], *maps[BUILD_NR];

static int be_silent(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return 0;
}

static int open_all(void **state)
{
	libbpf_set_print(be_silent);
	for (int b = 0; b < BUILD_NR; b++) {
		size_t size = 0;
		const void *bytes = probe_set_object(b, &size);

		objects[b] = bpf_object__open_mem(bytes, size, NULL);
		bytes = probe_set_maps(b, &size);
		maps[b] = bpf_object__open_mem(bytes, size, NULL);
		if (!objects[b] || !maps[b])
			return -1;
	}
	return 0;
}

static int close_all(void **state)
{
	for (int b = 0; b < BUILD_NR; b++) {
		bpf_object__close(objects[b]);
		bpf_object__close(maps[b]);
	}
	return 0;
}

/* Three different builds. */
static void test_builds_differ(void **state)
{
	size_t sizes[BUILD_NR];
	const void *bytes[BUILD_NR];

	for (int b = 0; b < BUILD_NR; b++) {
		bytes[b] = probe_set_object(b, &sizes[b]);
		for (int k = 0; k < b; k++)
			assert_true(sizes[k] != sizes[b] || memcmp(bytes[k], bytes[b], sizes[b]));
	}
}

/* Each row of the table is a program in every build, on that hook, and not loaded by default. */
static void test_rows_are_programs(void **state)
{
	const struct probe_table *t = probe_table_own();
	char section[96];

	for (int b = 0; b < BUILD_NR; b++) {
		for (size_t i = 0; i < t->nr; i++) {
			const struct probe_candidate *c = &t->rows[i];
			struct bpf_program *prog =
				bpf_object__find_program_by_name(objects[b], c->program);

			if (!prog)
				fail_msg("build %s has no program %s", build_name(b), c->program);
			snprintf(section, sizeof(section), "%s/%s", hook_kind_name(c->kind),
				 c->target);
			assert_string_equal(bpf_program__section_name(prog), section);
			assert_false(bpf_program__autoload(prog));
		}
	}
}

/* Every program on a hook of the kernel is in the table, except the one that tests registers. */
static void test_programs_are_rows(void **state)
{
	const struct probe_table *t = probe_table_own();
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, objects[BUILD_DIRECT])
	{
		const char *section = bpf_program__section_name(prog);
		const char *name = bpf_program__name(prog);
		size_t i = 0;

		if (!strcmp(section, "syscall") || !strcmp(section, "iter/bpf_map_elem") ||
		    !strcmp(name, "regs_tp"))
			continue;
		while (i < t->nr && strcmp(t->rows[i].program, name))
			i++;
		if (i == t->nr)
			fail_msg("%s (%s) plays no role", name, section);
	}
}

static void test_same_programs(void **state)
{
	for (int b = 1; b < BUILD_NR; b++) {
		struct bpf_program *one = NULL, *other = NULL;

		while ((one = bpf_object__next_program(objects[0], one))) {
			other = bpf_object__find_program_by_name(objects[b],
								 bpf_program__name(one));
			if (!other)
				fail_msg("build %s has no program %s", build_name(b),
					 bpf_program__name(one));
			assert_int_equal(bpf_program__autoload(one), bpf_program__autoload(other));
			/* A build without a callable program walks the map instead. */
			if (!strcmp(bpf_program__section_name(one), "syscall") &&
			    b == BUILD_BASIC) {
				assert_string_equal(bpf_program__section_name(other),
						    "iter/bpf_map_elem");
				continue;
			}
			assert_string_equal(bpf_program__section_name(one),
					    bpf_program__section_name(other));
			assert_int_equal(bpf_program__type(one), bpf_program__type(other));
		}
		while ((other = bpf_object__next_program(objects[b], other)))
			assert_non_null(bpf_object__find_program_by_name(objects[0],
									 bpf_program__name(other)));
	}
}

/* The name of a variable map begins with its object's name; the skeleton finds it by the ending. */
static const char *map_ending(const struct bpf_map *map)
{
	const char *dot = strchr(bpf_map__name(map), '.');

	return dot ? dot : bpf_map__name(map);
}

static const struct bpf_map *find_map(const struct bpf_object *obj, const char *ending)
{
	const struct bpf_map *map;

	bpf_object__for_each_map(map, obj)
	{
		if (!strcmp(map_ending(map), ending))
			return map;
	}
	return NULL;
}

static void compare_map(const struct bpf_map *map, const struct bpf_map *other)
{
	assert_int_equal(bpf_map__type(map), bpf_map__type(other));
	assert_int_equal(bpf_map__key_size(map), bpf_map__key_size(other));
	assert_int_equal(bpf_map__value_size(map), bpf_map__value_size(other));
	assert_int_equal(bpf_map__map_flags(map), bpf_map__map_flags(other));
	assert_int_equal(bpf_map__max_entries(map), bpf_map__max_entries(other));
}

static void test_same_maps(void **state)
{
	const struct bpf_map *map, *other;

	for (int b = 1; b < BUILD_NR; b++) {
		bpf_object__for_each_map(map, objects[b])
			assert_non_null(find_map(objects[0], map_ending(map)));
		bpf_object__for_each_map(map, objects[0])
		{
			other = find_map(objects[b], map_ending(map));
			if (!other)
				fail_msg("build %s has no map %s", build_name(b),
					 bpf_map__name(map));
			/* Tables made by the compiler, which user space does not access. */
			if (!strcmp(map_ending(map), ".rodata"))
				continue;
			/* The state of a task is in its task storage, or, in a build that cannot
			 * use that, in a hash table. */
			if (!strcmp(bpf_map__name(map), "tasks") && b == BUILD_BASIC) {
				assert_int_equal(bpf_map__type(map), BPF_MAP_TYPE_TASK_STORAGE);
				assert_int_equal(bpf_map__type(other), BPF_MAP_TYPE_HASH);
				continue;
			}
			compare_map(map, other);
		}
	}
}

/* The maps that are created before the programs are exactly those that the programs use. */
static void test_maps_of_programs(void **state)
{
	const struct bpf_map *map, *other;

	for (int b = 0; b < BUILD_NR; b++) {
		assert_null(bpf_object__next_program(maps[b], NULL));
		bpf_object__for_each_map(map, maps[b])
			assert_non_null(find_map(objects[b], map_ending(map)));
		bpf_object__for_each_map(map, objects[b])
		{
			other = find_map(maps[b], map_ending(map));
			if (!strcmp(map_ending(map), ".rodata")) {
				assert_null(other);
				continue;
			}
			if (!other)
				fail_msg("build %s: %s is not created", build_name(b),
					 bpf_map__name(map));
			compare_map(map, other);
		}
	}
}

static const struct btf_type *find_section(const struct btf *btf, const char *name)
{
	int id = btf__find_by_name_kind(btf, name, BTF_KIND_DATASEC);

	return id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
}

static void compare_types(const struct btf *a, uint32_t ida, const struct btf *b, uint32_t idb,
			  int depth);

static void compare_members(const struct btf *a, const struct btf_type *ta, const struct btf *b,
			    const struct btf_type *tb, int depth)
{
	for (uint32_t i = 0; i < btf_vlen(ta); i++) {
		const struct btf_member *ma = &btf_members(ta)[i], *mb = &btf_members(tb)[i];

		assert_string_equal(btf__name_by_offset(a, ma->name_off),
				    btf__name_by_offset(b, mb->name_off));
		assert_int_equal(ma->offset, mb->offset);
		compare_types(a, ma->type, b, mb->type, depth + 1);
	}
}

/* Of the same size, with the same members at the same offsets. */
static void compare_types(const struct btf *a, uint32_t ida, const struct btf *b, uint32_t idb,
			  int depth)
{
	const struct btf_type *ta = btf__type_by_id(a, (uint32_t)btf__resolve_type(a, ida));
	const struct btf_type *tb = btf__type_by_id(b, (uint32_t)btf__resolve_type(b, idb));

	assert_in_range(depth, 0, 15);
	assert_true(ta && tb);
	assert_int_equal(btf_kind(ta), btf_kind(tb));
	assert_int_equal(btf__resolve_size(a, ida), btf__resolve_size(b, idb));
	if (btf_is_array(ta)) {
		assert_int_equal(btf_array(ta)->nelems, btf_array(tb)->nelems);
		compare_types(a, btf_array(ta)->type, b, btf_array(tb)->type, depth + 1);
	} else if (btf_is_composite(ta)) {
		assert_int_equal(btf_vlen(ta), btf_vlen(tb));
		compare_members(a, ta, b, tb, depth);
	}
}

static void compare_variables(const struct btf *a, const struct btf *b, const char *section)
{
	const struct btf_type *sa = find_section(a, section), *sb = find_section(b, section);

	assert_non_null(sa);
	assert_non_null(sb);
	assert_true(btf_vlen(sa) > 0);
	assert_int_equal(sa->size, sb->size);
	assert_int_equal(btf_vlen(sa), btf_vlen(sb));
	for (uint32_t i = 0; i < btf_vlen(sa); i++) {
		const struct btf_var_secinfo *va = &btf_var_secinfos(sa)[i];
		const struct btf_var_secinfo *vb = &btf_var_secinfos(sb)[i];
		const struct btf_type *na = btf__type_by_id(a, va->type);
		const struct btf_type *nb = btf__type_by_id(b, vb->type);

		assert_string_equal(btf__name_by_offset(a, na->name_off),
				    btf__name_by_offset(b, nb->name_off));
		assert_int_equal(va->offset, vb->offset);
		assert_int_equal(va->size, vb->size);
		assert_true(va->size > 0);
		compare_types(a, na->type, b, nb->type, 0);
	}
}

static void test_same_variables(void **state)
{
	static const char *const sections[] = {".bss", ".rodata.config"};
	const struct btf *first = bpf_object__btf(objects[0]);

	for (size_t s = 0; s < sizeof(sections) / sizeof(sections[0]); s++) {
		for (int b = 0; b < BUILD_NR; b++) {
			compare_variables(first, bpf_object__btf(objects[b]), sections[s]);
			compare_variables(first, bpf_object__btf(maps[b]), sections[s]);
		}
	}
}

/* What programs may use on 5.10: of the atomic operations only an add without result, and only
 * the helpers of that kernel (the next one was BPF_FUNC_task_storage_get). */
static void check_insn(const char *section, const struct bpf_insn *insn)
{
	if (BPF_CLASS(insn->code) == BPF_STX && BPF_MODE(insn->code) == BPF_ATOMIC && insn->imm)
		fail_msg("%s has atomic operation 0x%x", section, (unsigned int)insn->imm);
	if (insn->code == (BPF_JMP | BPF_CALL) && !insn->src_reg &&
	    insn->imm > BPF_FUNC_redirect_peer)
		fail_msg("%s calls helper %d", section, insn->imm);
}

static void test_basic_operations(void **state)
{
	/* A tracepoint of newer kernels. */
	static const char later[] = "?tp_btf/io_uring_submit_req";
	size_t size = 0, checked = 0;
	const char *elf = probe_set_object(BUILD_BASIC, &size);
	const Elf64_Ehdr *head = (const void *)elf;
	const Elf64_Shdr *sections = (const void *)(elf + head->e_shoff);
	const char *names = elf + sections[head->e_shstrndx].sh_offset;

	for (int i = 0; i < head->e_shnum; i++) {
		const struct bpf_insn *insns = (const void *)(elf + sections[i].sh_offset);
		const char *name = names + sections[i].sh_name;

		if (!(sections[i].sh_flags & SHF_EXECINSTR) || !strcmp(name, later))
			continue;
		for (size_t k = 0; k < sections[i].sh_size / sizeof(*insns); k++, checked++)
			check_insn(name, &insns[k]);
	}
	assert_true(checked > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_builds_differ),	  cmocka_unit_test(test_rows_are_programs),
		cmocka_unit_test(test_programs_are_rows), cmocka_unit_test(test_same_programs),
		cmocka_unit_test(test_same_maps),	  cmocka_unit_test(test_maps_of_programs),
		cmocka_unit_test(test_same_variables),	  cmocka_unit_test(test_basic_operations),
	};

	return cmocka_run_group_tests(tests, open_all, close_all);
}
