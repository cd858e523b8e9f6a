/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/plan/preempt.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "cachemon/base/file.h"

static enum caps_flag mode_named(const char *name, size_t len)
{
	static const struct {
		const char *name;
		enum caps_flag preempts;
	} modes[] = {
		{"none", CAPS_NO},
		{"voluntary", CAPS_NO},
		{"full", CAPS_YES},
		{"lazy", CAPS_YES},
	};

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (len == strlen(modes[i].name) && !memcmp(name, modes[i].name, len))
			return modes[i].preempts;
	return CAPS_UNKNOWN;
}

/* "none voluntary (full)": the active one is in brackets. Only root sees it, and nobody in
 * lockdown. */
static enum caps_flag mode_in_force(const char *root)
{
	char line[128], *begin, *end;

	if (file_line(root, "/sys/kernel/debug/sched/preempt", line, sizeof(line)))
		return CAPS_UNKNOWN;
	begin = strchr(line, '(');
	end = begin ? strchr(begin, ')') : NULL;
	return end ? mode_named(begin + 1, (size_t)(end - begin - 1)) : CAPS_UNKNOWN;
}

/* The last preempt= of the command line. */
static enum caps_flag mode_at_boot(const char *root)
{
	enum caps_flag last = CAPS_UNKNOWN;
	char line[4096], *save = NULL;

	if (file_line(root, "/proc/cmdline", line, sizeof(line)))
		return CAPS_UNKNOWN;
	for (char *word = strtok_r(line, " ", &save); word; word = strtok_r(NULL, " ", &save))
		if (!strncmp(word, "preempt=", 8))
			last = mode_named(word + 8, strlen(word + 8));
	return last;
}

/* The default of the kernel's configuration. gzopen() reads plain text too. */
static enum caps_flag mode_built(const char *root, const char *path)
{
	enum caps_flag found = CAPS_UNKNOWN;
	char full[512], line[1024];
	gzFile f;

	if (snprintf(full, sizeof(full), "%s%s", root, path) >= (int)sizeof(full))
		return CAPS_UNKNOWN;
	f = gzopen(full, "re");
	if (!f)
		return CAPS_UNKNOWN;
	while (found == CAPS_UNKNOWN && gzgets(f, line, sizeof(line))) {
		if (!strcmp(line, "CONFIG_PREEMPT_NONE=y\n") ||
		    !strcmp(line, "CONFIG_PREEMPT_VOLUNTARY=y\n"))
			found = CAPS_NO;
		else if (!strcmp(line, "CONFIG_PREEMPT=y\n") ||
			 !strcmp(line, "CONFIG_PREEMPT_LAZY=y\n") ||
			 !strcmp(line, "CONFIG_PREEMPT_RT=y\n"))
			found = CAPS_YES;
	}
	gzclose(f);
	return found;
}

enum caps_flag preempt_mode(const char *root, const char *release)
{
	char version[256], config[128];
	enum caps_flag mode;

	if (file_line(root, "/proc/sys/kernel/version", version, sizeof(version)))
		return CAPS_UNKNOWN;
	if (!strstr(version, "PREEMPT"))
		return CAPS_NO;
	if (!strstr(version, "PREEMPT_DYNAMIC"))
		return CAPS_YES;
	snprintf(config, sizeof(config), "/boot/config-%s", release);
	mode = mode_in_force(root);
	if (mode == CAPS_UNKNOWN)
		mode = mode_at_boot(root);
	if (mode == CAPS_UNKNOWN)
		mode = mode_built(root, "/proc/config.gz");
	if (mode == CAPS_UNKNOWN)
		mode = mode_built(root, config);
	return mode;
}

#define TRIAL_TRACEPOINT "mm_filemap_get_pages"
#define PREEMPT_MASK	 0xff /* include/linux/preempt.h: the rest of the word are interrupts */

/* The place of the count: a per-CPU variable (x86), or else in the task. */
struct place {
	int32_t var; /* BTF id of the variable; 0: in the task */
	uint32_t offset;
};

/* Offset of a member, also of an unnamed struct or union. -ENOENT: no such member. */
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
static int load_trial(int32_t target, const struct place *place, int map_fd)
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

	memcpy(insns, place->var ? var : task, first);
	memcpy((char *)insns + first, rest, sizeof(rest));
	return hook_trial_load(BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP, target, insns,
			       (first + sizeof(rest)) / sizeof(insns[0]));
}

/* The page is cached, because the program runs from it. */
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

static int look_at_count(int prog_fd, int map_fd)
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

/* Kernels that never switch tasks inside the kernel may have no count either. */
static bool kernel_preempts(const char *root)
{
	char version[256];

	return file_line(root, "/proc/sys/kernel/version", version, sizeof(version)) ||
	       strstr(version, "PREEMPT");
}

int preempt_trial(const struct btf *btf, const char *root)
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
	prog_fd = load_trial(target, &place, map_fd);
	r = prog_fd < 0 ? prog_fd : look_at_count(prog_fd, map_fd);
	if (prog_fd >= 0)
		close(prog_fd);
	close(map_fd);
	return r;
}
