/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/plan/preempt_trial.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "cachemon/base/file.h"

#define TRIAL_TRACEPOINT "mm_filemap_get_pages"
#define PREEMPT_MASK	 0xff /* include/linux/preempt.h: the rest of the word are interrupts */

/* Where the kernel keeps the count: in a variable of each CPU (x86), or else in the task. */
struct place {
	int32_t var; /* BTF id of the variable; 0: in the task */
	uint32_t offset;
};

/* Bytes from the beginning of a struct to a member, also of a struct or union without a name in it.
 * -ENOENT: it has none. */
static int member_offset(const struct btf *btf, const struct btf_type *type, const char *name,
			 const struct btf_type **ret_type)
{
	const struct btf_member *m = btf_members(type);

	for (uint16_t i = 0; i < btf_vlen(type); i++, m++) {
		const char *found = btf__name_by_offset(btf, m->name_off);
		const struct btf_type *inner =
			btf__type_by_id(btf, (uint32_t)btf__resolve_type(btf, m->type));
		int at = (int)btf_member_bit_offset(type, i) / 8, in;

		if (found && !strcmp(found, name)) {
			*ret_type = inner;
			return at;
		}
		if ((found && *found) || !inner || !btf_is_composite(inner))
			continue;
		in = member_offset(btf, inner, name, ret_type);
		if (in >= 0)
			return at + in;
	}
	return -ENOENT;
}

static const struct btf_type *find_struct(const struct btf *btf, const char *name)
{
	int32_t id = btf__find_by_name_kind(btf, name, BTF_KIND_STRUCT);

	return id < 0 ? NULL : btf__type_by_id(btf, (uint32_t)id);
}

static int find_place(const struct btf *btf, struct place *ret)
{
	const struct btf_type *type, *in;
	int first, second;

	*ret = (struct place){.var = btf__find_by_name_kind(btf, "__preempt_count", BTF_KIND_VAR)};
	if (ret->var > 0)
		return 0;
	type = find_struct(btf, "pcpu_hot");
	ret->var = btf__find_by_name_kind(btf, "pcpu_hot", BTF_KIND_VAR);
	if (type && ret->var > 0) {
		first = member_offset(btf, type, "preempt_count", &in);
		ret->offset = (uint32_t)first;
		return first < 0 ? first : 0;
	}
	ret->var = 0;
	type = find_struct(btf, "task_struct");
	first = type ? member_offset(btf, type, "thread_info", &in) : -ENOENT;
	second = first >= 0 ? member_offset(btf, in, "preempt_count", &type) : -ENOENT;
	ret->offset = (uint32_t)(first + second);
	return second < 0 ? second : 0;
}

/* A program that writes 1 + the count to the map's element. BPF_IMM, BPF_ADD and BPF_K are 0. */
static int load(int32_t target, const struct place *place, int map_fd)
{
	const struct bpf_insn var[] = {
		{.code = BPF_LD | BPF_DW,
		 .dst_reg = BPF_REG_1,
		 .src_reg = BPF_PSEUDO_BTF_ID,
		 .imm = place->var},
		{0},
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_this_cpu_ptr},
	};
	const struct bpf_insn task[] = {
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_get_current_task_btf},
	};
	const struct bpf_insn rest[] = {
		{.code = BPF_LDX | BPF_MEM | BPF_W,
		 .dst_reg = BPF_REG_2,
		 .src_reg = BPF_REG_0,
		 .off = (int16_t)place->offset},
		{.code = BPF_ALU64 | BPF_AND | BPF_K, .dst_reg = BPF_REG_2, .imm = PREEMPT_MASK},
		{.code = BPF_ALU64, .dst_reg = BPF_REG_2, .imm = 1},
		{.code = BPF_LD | BPF_DW,
		 .dst_reg = BPF_REG_1,
		 .src_reg = BPF_PSEUDO_MAP_VALUE,
		 .imm = map_fd},
		{0},
		{.code = BPF_STX | BPF_MEM | BPF_W, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_2},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	struct bpf_insn insns[sizeof(var) / sizeof(var[0]) + sizeof(rest) / sizeof(rest[0])];
	size_t first = place->var ? sizeof(var) : sizeof(task);
	struct bpf_prog_load_opts opts = {
		.sz = sizeof(opts),
		.expected_attach_type = BPF_TRACE_RAW_TP,
		.attach_btf_id = (uint32_t)target,
	};
	int fd;

	memcpy(insns, place->var ? var : task, first);
	memcpy((char *)insns + first, rest, sizeof(rest));
	fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "cachemon_try", "Dual BSD/GPL", insns,
			   (first + sizeof(rest)) / sizeof(insns[0]), &opts);
	return fd < 0 ? -errno : fd;
}

/* The page is in the cache: the program runs from it. */
static int read_a_page(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), r = 0;
	char c;

	if (fd < 0)
		return -errno;
	if (pread(fd, &c, 1, 0) != 1)
		r = -EIO;
	close(fd);
	return r;
}

static int look(int prog_fd, int map_fd)
{
	int link = bpf_raw_tracepoint_open(NULL, prog_fd), r;
	uint32_t zero = 0, seen = 0;

	if (link < 0)
		return -errno;
	r = read_a_page();
	close(link);
	if (!r && bpf_map_lookup_elem(map_fd, &zero, &seen))
		r = -errno;
	if (r)
		return r;
	return seen ? seen == 1 : -ENODATA;
}

/* Kernels that never switch tasks inside of the kernel may keep no count either. */
static bool kernel_preempts(const char *root)
{
	char version[256];

	return file_line(root, "/proc/sys/kernel/version", version, sizeof(version)) ||
	       strstr(version, "PREEMPT");
}

int preempt_trial_run(const struct btf *btf, const char *root)
{
	int32_t target =
		btf__find_by_name_kind(btf, "btf_trace_" TRIAL_TRACEPOINT, BTF_KIND_TYPEDEF);
	struct place place;
	int map_fd, prog_fd, r;

	if (target < 0 || !kernel_preempts(root))
		return 0;
	r = find_place(btf, &place);
	if (r)
		return r;
	map_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "cachemon_try", sizeof(uint32_t),
				sizeof(uint32_t), 1, NULL);
	if (map_fd < 0)
		return -errno;
	prog_fd = load(target, &place, map_fd);
	r = prog_fd < 0 ? prog_fd : look(prog_fd, map_fd);
	if (prog_fd >= 0)
		close(prog_fd);
	close(map_fd);
	return r;
}
