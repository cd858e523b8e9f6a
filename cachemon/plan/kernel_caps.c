/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/plan/kernel_caps.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cachemon/plan/btf_proto.h"
#include "cachemon/plan/memlock.h"
#include "cachemon/plan/preempt.h"
#include "cachemon/base/file.h"
#include "cachemon/access/mountinfo.h"
#include "cachemon/base/cleanup.h"

bool kernel_caps_holds(const struct kernel_caps *caps, int cap)
{
	uint64_t mask = 1ULL << cap;

	if (cap == CAP_BPF || cap == CAP_PERFMON)
		mask |= 1ULL << CAP_SYS_ADMIN;
	return caps->held & mask;
}

bool kernel_caps_must_hold(const struct kernel_caps *caps)
{
	if (caps->preemptible >= 0)
		return caps->preemptible;
	/* If programs cannot disable preemption on a kernel, its tracepoints still do. */
	return caps->can_hold && caps->preempts != CAPS_NO;
}

const char *kernel_caps_cgroup(const struct kernel_caps *caps)
{
	if (*caps->cgroup_v1_memory)
		return *caps->cgroup_v2 ? "hybrid" : "v1";
	return *caps->cgroup_v2 ? "v2" : "none";
}

const struct kernel_hook *kernel_caps_hook(const struct kernel_caps *caps, enum hook_kind kind,
					   const char *target)
{
	for (size_t i = 0; i < caps->nr_hooks; i++) {
		if (caps->hooks[i].kind == kind && !strcmp(caps->hooks[i].target, target))
			return &caps->hooks[i];
	}
	return NULL;
}

static uint64_t read_held(const char *root)
{
	_cleanup_fclose_ FILE *f = NULL;
	char path[PATH_MAX];
	char line[256];
	uint64_t held = 0;

	snprintf(path, sizeof(path), "%s/proc/self/status", root);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "CapEff:", 7))
			held = strtoull(line + 7, NULL, 16);
	}
	return held;
}

/* "none [integrity] confidentiality": the chosen one is in brackets. */
static void read_lockdown(const char *root, char ret_lockdown[32])
{
	char line[128];
	int err = file_line(root, "/sys/kernel/security/lockdown", line, sizeof(line));
	char *open = err ? NULL : strchr(line, '[');
	char *close = open ? strchr(open, ']') : NULL;

	if (close)
		*close = '\0';
	if (err == -ENOENT)
		snprintf(ret_lockdown, 32, "none");
	else if (close && close - open <= 31)
		snprintf(ret_lockdown, 32, "%s", open + 1);
}

static void read_cgroups(const char *root, struct kernel_caps *caps)
{
	char path[PATH_MAX];
	struct mountinfo mi;

	snprintf(path, sizeof(path), "%s/proc/self/mountinfo", root);
	if (mountinfo_read(path, &mi))
		return;
	/* The first mount of each wins: later ones are bind mounts of containers. */
	for (size_t i = 0; i < mi.nr; i++) {
		const struct mount *m = &mi.mounts[i];
		char *where = NULL;

		if (!strcmp(m->fstype, "cgroup2"))
			where = caps->cgroup_v2;
		else if (!strcmp(m->fstype, "cgroup") && mountinfo_has_option(m->options, "memory"))
			where = caps->cgroup_v1_memory;
		if (where && !*where)
			snprintf(where, PATH_MAX, "%s", m->point);
	}
	mountinfo_free(&mi);
}

/*
 * Hidden addresses all read as 0. The first few are 0 anyway on kernels that list per-CPU variables
 * by offset (x86 before 6.15: fixed_percpu_data).
 */
static enum caps_flag read_kallsyms(const char *root)
{
	_cleanup_fclose_ FILE *f = NULL;
	enum caps_flag res = CAPS_UNKNOWN;
	char path[PATH_MAX];
	char line[512];

	snprintf(path, sizeof(path), "%s/proc/kallsyms", root);
	f = fopen(path, "re");
	for (int i = 0; f && i < 64 && res != CAPS_YES && fgets(line, sizeof(line), f); i++)
		res = strtoull(line, NULL, 16) ? CAPS_YES : CAPS_NO;
	return res;
}

static enum caps_flag read_flag(const char *root, const char *path)
{
	long long n;

	if (file_number(root, path, &n))
		return CAPS_UNKNOWN;
	return n ? CAPS_YES : CAPS_NO;
}

/* -1: unknown. */
static int read_setting(const char *root, const char *path)
{
	long long n;

	return file_number(root, path, &n) ? -1 : (int)n;
}

static void read_settings(const char *root, struct kernel_caps *caps)
{
	struct utsname uts;
	int cpus = libbpf_num_possible_cpus();

	if (file_line(root, "/proc/sys/kernel/osrelease", caps->release, sizeof(caps->release)))
		caps->release[0] = '\0';
	caps->preempts = preempt_mode(root, caps->release);
	if (!uname(&uts))
		snprintf(caps->arch, sizeof(caps->arch), "%.15s", uts.machine);
	caps->page_size = (uint64_t)sysconf(_SC_PAGESIZE);
	caps->ram_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * caps->page_size;
	caps->nr_cpus = cpus > 0 ? (unsigned int)cpus : (unsigned int)sysconf(_SC_NPROCESSORS_CONF);
	caps->held = read_held(root);
	read_lockdown(root, caps->lockdown);
	caps->unprivileged_bpf_disabled =
		read_setting(root, "/proc/sys/kernel/unprivileged_bpf_disabled");
	caps->perf_event_paranoid = read_setting(root, "/proc/sys/kernel/perf_event_paranoid");
	caps->kptr_restrict = read_setting(root, "/proc/sys/kernel/kptr_restrict");
	caps->bpf_stats = read_flag(root, "/proc/sys/kernel/bpf_stats_enabled");
	caps->memlock_binds = CAPS_UNKNOWN;
	caps->memlock_bytes = memlock_bytes();
	read_cgroups(root, caps);
	caps->task_delayacct = read_flag(root, "/proc/sys/kernel/task_delayacct");
	caps->jit = read_flag(root, "/proc/sys/net/core/bpf_jit_enable");
	caps->kallsyms = read_kallsyms(root);
}

/* A function in the BTF of the module; the kernel's own BTF does not have it. */
static void read_module_hook(const char *root, struct btf *btf, struct kernel_hook *h)
{
	char path[PATH_MAX];
	struct btf *own;

	snprintf(path, sizeof(path), "%s/sys/module/%s", root, h->module);
	if (access(path, F_OK)) {
		h->err = -ENODEV;
		return;
	}
	snprintf(path, sizeof(path), "%s/sys/kernel/btf/%s", root, h->module);
	own = btf__parse_split(path, btf);
	if (!own)
		return;
	h->err = btf_proto_text(own, h->kind, h->target, h->proto, sizeof(h->proto));
	h->in_module = !h->err;
	btf__free(own);
}

static void read_hooks(const char *root, struct btf *btf, const struct kernel_hook *wanted,
		       size_t nr, struct kernel_caps *caps)
{
	for (size_t i = 0; i < nr; i++) {
		struct kernel_hook *h = &caps->hooks[i];

		h->kind = wanted[i].kind;
		h->target = wanted[i].target;
		h->err = btf ? btf_proto_text(btf, h->kind, h->target, h->proto, sizeof(h->proto))
			     : caps->btf_err;
		h->module = wanted[i].module;
		h->in_module = false;
		if (btf && h->module && h->err == -ENOENT)
			read_module_hook(root, btf, h);
	}
	caps->nr_hooks = nr;
}

static bool has_function(const struct btf *btf, const char *name)
{
	return btf && btf__find_by_name_kind(btf, name, BTF_KIND_FUNC) > 0;
}

/* A member of a struct, or of an anonymous part of it. */
static bool has_member(const struct btf *btf, int32_t id, const char *name)
{
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
	const struct btf_member *m = type && btf_is_composite(type) ? btf_members(type) : NULL;

	for (uint16_t i = 0; m && i < btf_vlen(type); i++, m++) {
		const char *found = btf__name_by_offset(btf, m->name_off);

		if ((found && !strcmp(found, name)) ||
		    has_member(btf, btf__resolve_type(btf, m->type), name))
			return true;
	}
	return false;
}

/* The kernel counts the misses of kprobe programs since bpf_link_info reports them. */
static enum caps_flag read_kprobe_misses(const struct btf *btf)
{
	if (!btf)
		return CAPS_UNKNOWN;
	return has_member(btf, btf__find_by_name_kind(btf, "bpf_link_info", BTF_KIND_STRUCT),
			  "missed")
		       ? CAPS_YES
		       : CAPS_NO;
}

static void try_kinds(const struct kernel_env *env, const struct btf *btf, struct kernel_caps *caps)
{
	if (!kernel_caps_holds(caps, CAP_BPF) || !kernel_caps_holds(caps, CAP_PERFMON))
		return;
	for (int k = 0; k < HOOK_NR; k++) {
		if (env->kinds & 1U << k)
			caps->support[k] = env->try_hook(k, btf, env->root);
	}
	if (btf && env->try_preempt)
		caps->preemptible = env->try_preempt(btf, env->root);
}

int kernel_caps_read(const struct kernel_env *env, const struct kernel_hook *wanted, size_t nr,
		     struct kernel_caps *ret_caps)
{
	char path[PATH_MAX];
	struct kernel_caps *caps;
	struct btf *btf;

	if (nr > KERNEL_HOOKS_MAX)
		return -E2BIG;
	if (snprintf(path, sizeof(path), "%s%s", env->root, KERNEL_BTF_PATH) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	caps = calloc(1, sizeof(*caps));
	if (!caps)
		return -ENOMEM;
	read_settings(env->root, caps);
	btf = btf__parse_raw(path);
	if (!btf)
		caps->btf_err = -errno;
	caps->kprobe_misses = read_kprobe_misses(btf);
	caps->drops_behind = has_function(btf, "folio_unmap_invalidate");
	caps->can_hold = has_function(btf, "bpf_preempt_disable");
	caps->build = btf ? probe_build_choose(btf) : BUILD_DIRECT;
	read_hooks(env->root, btf, wanted, nr, caps);
	try_kinds(env, btf, caps);
	*ret_caps = *caps;
	btf__free(btf);
	free(caps);
	return 0;
}
