/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: plan account access */
#include "plan_fixture.h"

#include <bpf/btf.h>
#include <dirent.h>
#include <errno.h>
#include <linux/capability.h>

#include "cachemon/plan/kernel_caps.h"
#include "cachemon/base/file.h"

#define CAP_BIT(cap) (1ULL << (cap))

static unsigned int tried; /* 1 << kind, by fake_try */

static struct hook_support fake_try(enum hook_kind kind, const struct btf *btf, const char *root)
{
	struct hook_support s = {TRIAL_WORKS, 0};

	assert_non_null(root);
	tried |= 1U << kind;
	if (kind == HOOK_FENTRY)
		s = (struct hook_support){TRIAL_NO_LOAD, -EPERM};
	else if (kind == HOOK_KPROBE)
		s = (struct hook_support){TRIAL_NO_ATTACH, -ENOENT};
	else if (kind == HOOK_ITER && !btf)
		s = (struct hook_support){TRIAL_NO_TARGET, 0};
	return s;
}

static int setup(void **state)
{
	static struct fake_root root;

	fake_root_make(&root);
	tried = 0;
	*state = &root;
	return 0;
}

static int teardown(void **state)
{
	fake_root_remove(*state);
	return 0;
}

static void gather(const struct fake_root *root, const struct kernel_hook *hooks, size_t nr,
		   struct kernel_caps *caps)
{
	struct kernel_env env = {root->dir, KERNEL_KINDS_ALL, fake_try, NULL};

	memset(caps, 0x5a, sizeof(*caps));
	assert_int_equal(kernel_caps_read(&env, hooks, nr, caps), 0);
}

static void test_empty_machine(void **state)
{
	struct kernel_hook hook = {.kind = HOOK_TP_BTF, .target = "sched_switch"};
	struct kernel_caps caps;

	gather(*state, &hook, 1, &caps);
	assert_string_equal(caps.release, "");
	assert_true(*caps.arch);
	assert_true(caps.page_size >= 4096 && caps.ram_bytes > caps.page_size && caps.nr_cpus > 0);
	assert_int_equal(caps.btf_err, -ENOENT);
	assert_int_equal(caps.nr_hooks, 1);
	assert_int_equal(caps.hooks[0].err, -ENOENT);
	assert_string_equal(caps.hooks[0].proto, "");
	assert_true(caps.held == 0);
	assert_int_equal(tried, 0);
	assert_int_equal(caps.support[HOOK_TP_BTF].trial, TRIAL_NONE);
	assert_string_equal(caps.lockdown, "none");
	assert_int_equal(caps.unprivileged_bpf_disabled, -1);
	assert_string_equal(kernel_caps_cgroup(&caps), "none");
	assert_int_equal(caps.task_delayacct, CAPS_UNKNOWN);
	assert_int_equal(caps.kallsyms, CAPS_UNKNOWN);
	assert_int_equal(caps.jit, CAPS_UNKNOWN);
}

static void test_settings(void **state)
{
	struct kernel_caps caps;

	fake_root_write(*state, "/proc/sys/kernel/osrelease", "6.18.44-x\n");
	fake_root_write(*state, "/proc/sys/kernel/unprivileged_bpf_disabled", "2\n");
	fake_root_write(*state, "/proc/sys/kernel/task_delayacct", "0\n");
	fake_root_write(*state, "/proc/sys/net/core/bpf_jit_enable", "1\n");
	fake_root_write(*state, "/proc/kallsyms", "ffffffff81000000 T _text\n");
	fake_root_write(*state, "/sys/kernel/security/lockdown",
			"none [integrity] confidentiality\n");
	gather(*state, NULL, 0, &caps);
	assert_string_equal(caps.release, "6.18.44-x");
	assert_int_equal(caps.unprivileged_bpf_disabled, 2);
	assert_int_equal(caps.task_delayacct, CAPS_NO);
	assert_int_equal(caps.jit, CAPS_YES);
	assert_int_equal(caps.kallsyms, CAPS_YES);
	assert_string_equal(caps.lockdown, "integrity");

	fake_root_write(*state, "/proc/sys/kernel/unprivileged_bpf_disabled", "2 3\n");
	fake_root_write(*state, "/proc/sys/kernel/task_delayacct", "");
	fake_root_write(*state, "/proc/sys/net/core/bpf_jit_enable", "yes\n");
	fake_root_write(*state, "/proc/kallsyms",
			"0000000000000000 A fixed_percpu_data\n0000000000000000 T _text\n");
	fake_root_write(*state, "/sys/kernel/security/lockdown", "none integrity\n");
	gather(*state, NULL, 0, &caps);
	assert_int_equal(caps.unprivileged_bpf_disabled, -1);
	assert_int_equal(caps.task_delayacct, CAPS_UNKNOWN);
	assert_int_equal(caps.jit, CAPS_UNKNOWN);
	assert_int_equal(caps.kallsyms, CAPS_NO);
	assert_string_equal(caps.lockdown, "");

	/* As for root on x86 before 6.15: the first symbol is at 0. */
	fake_root_write(
		*state, "/proc/kallsyms",
		"0000000000000000 A fixed_percpu_data\n0000000000001000 A cpu_debug_store\n");
	gather(*state, NULL, 0, &caps);
	assert_int_equal(caps.kallsyms, CAPS_YES);
	fake_root_write(*state, "/proc/kallsyms", "");
	gather(*state, NULL, 0, &caps);
	assert_int_equal(caps.kallsyms, CAPS_UNKNOWN);
}

static void test_capabilities(void **state)
{
	struct kernel_caps caps;

	fake_root_write(*state, "/proc/self/status",
			"Name:\tx\nCapPrm:\tffffffffffffffff\nCapEff:\t0000008000000004\n");
	gather(*state, NULL, 0, &caps);
	assert_true(caps.held == (CAP_BIT(CAP_BPF) | CAP_BIT(CAP_DAC_READ_SEARCH)));
	assert_true(kernel_caps_holds(&caps, CAP_BPF));
	assert_true(kernel_caps_holds(&caps, CAP_DAC_READ_SEARCH));
	assert_false(kernel_caps_holds(&caps, CAP_PERFMON));
	assert_false(kernel_caps_holds(&caps, CAP_SYSLOG));
	assert_int_equal(tried, 0); /* CAP_PERFMON is missing */

	fake_root_write(*state, "/proc/self/status", "CapEff:\t0000000000200000\n");
	gather(*state, NULL, 0, &caps);
	assert_true(kernel_caps_holds(&caps, CAP_BPF) && kernel_caps_holds(&caps, CAP_PERFMON));
	assert_false(kernel_caps_holds(&caps, CAP_DAC_READ_SEARCH));
	assert_int_equal(tried, KERNEL_KINDS_ALL);
	assert_int_equal(caps.support[HOOK_TP_BTF].trial, TRIAL_WORKS);
	assert_int_equal(caps.support[HOOK_FENTRY].err, -EPERM);
	assert_int_equal(caps.support[HOOK_ITER].trial, TRIAL_NO_TARGET);
}

static void test_only_asked_kinds_are_tried(void **state)
{
	struct fake_root *root = *state;
	struct kernel_env env = {root->dir, 1U << HOOK_TP_BTF | 1U << HOOK_ITER, fake_try, NULL};
	struct kernel_caps caps;

	fake_root_write(root, "/proc/self/status", "CapEff:\t000000c000000000\n");
	assert_int_equal(kernel_caps_read(&env, NULL, 0, &caps), 0);
	assert_int_equal(tried, env.kinds);
	assert_int_equal(caps.support[HOOK_RAW_TP].trial, TRIAL_NONE);
}

#define V1_MEMORY                                                                                  \
	"40 30 0:30 / /sys/fs/cgroup/memory rw,nosuid shared:9 - cgroup cgroup rw,memory\n"
#define V1_CPU	"41 30 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
#define V2	"42 30 0:32 / /sys/fs/cgroup/uni\\040fied rw - cgroup2 cgroup2 rw,nsdelegate\n"
#define V2_BIND "43 30 0:32 /sub /mnt rw - cgroup2 cgroup2 rw\n"

static void test_cgroup_layout(void **state)
{
	static const struct {
		const char *mounts;
		const char *layout, *v1, *v2;
	} cases[] = {
		{V1_CPU V1_MEMORY, "v1", "/sys/fs/cgroup/memory", ""},
		{V2, "v2", "", "/sys/fs/cgroup/uni fied"},
		{V1_MEMORY V2 V2_BIND, "hybrid", "/sys/fs/cgroup/memory",
		 "/sys/fs/cgroup/uni fied"},
		{V1_CPU, "none", "", ""},
		{"", "none", "", ""},
	};
	struct kernel_caps caps;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fake_root_write(*state, "/proc/self/mountinfo", cases[i].mounts);
		gather(*state, NULL, 0, &caps);
		assert_string_equal(kernel_caps_cgroup(&caps), cases[i].layout);
		assert_string_equal(caps.cgroup_v1_memory, cases[i].v1);
		assert_string_equal(caps.cgroup_v2, cases[i].v2);
	}
}

static void test_damaged_btf(void **state)
{
	struct kernel_hook hook = {.kind = HOOK_TP_BTF, .target = "sched_switch"};
	struct kernel_caps caps;

	fake_root_write(*state, "/sys/kernel/btf/vmlinux", "this is no BTF, whatever it says");
	gather(*state, &hook, 1, &caps);
	assert_true(caps.btf_err < 0 && caps.btf_err != -ENOENT);
	assert_int_equal(caps.hooks[0].err, caps.btf_err);
}

static void test_bounds(void **state)
{
	struct fake_root *root = *state;
	struct kernel_env env = {root->dir, 0, fake_try, NULL};
	static struct kernel_hook many[KERNEL_HOOKS_MAX + 1];
	char deep[PATH_MAX];
	struct kernel_caps caps;

	for (size_t i = 0; i <= KERNEL_HOOKS_MAX; i++)
		many[i].target = "sched_switch";
	memset(&caps, 0x5a, sizeof(caps));
	assert_int_equal(kernel_caps_read(&env, many, KERNEL_HOOKS_MAX + 1, &caps), -E2BIG);
	memset(deep, 'x', sizeof(deep));
	deep[sizeof(deep) - 1] = '\0';
	env.root = deep;
	assert_int_equal(kernel_caps_read(&env, NULL, 0, &caps), -ENAMETOOLONG);
	for (size_t i = 0; i < sizeof(caps); i++) /* untouched on failure */
		assert_int_equal(((unsigned char *)&caps)[i], 0x5a);
	env.root = root->dir;
	assert_int_equal(kernel_caps_read(&env, many, KERNEL_HOOKS_MAX, &caps), 0);
	assert_int_equal(caps.nr_hooks, KERNEL_HOOKS_MAX);
}

static size_t count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t nr = 0;

	assert_non_null(dir);
	while (readdir(dir))
		nr++;
	closedir(dir);
	return nr;
}

/* Whatever this machine allows: every trial fails without its target, and leaves no file open. */
static void test_trials_leave_nothing(void **state)
{
	struct fake_root *root = *state;
	struct btf *btf = btf__parse_raw(KERNEL_BTF_PATH);
	size_t before = count_fds();
	struct hook_support s;

	for (int k = 0; k < HOOK_NR; k++) {
		s = hook_trial_run(k, btf, root->dir);
		assert_true(s.trial != TRIAL_NONE);
		assert_int_equal(s.err != 0,
				 s.trial == TRIAL_NO_LOAD || s.trial == TRIAL_NO_ATTACH);
		if (k == HOOK_KPROBE || k == HOOK_KRETPROBE)
			assert_int_equal(s.trial, TRIAL_NO_TARGET); /* no PMU in this root */
		if (k == HOOK_TP_BTF || k == HOOK_FENTRY || k == HOOK_FEXIT || k == HOOK_ITER)
			assert_int_equal(hook_trial_run(k, NULL, root->dir).trial, TRIAL_NO_TARGET);
	}
	assert_int_equal(count_fds(), before);
	btf__free(btf);
}

static void test_trial_words(void **state)
{
	static const struct {
		struct hook_support s;
		const char *text;
	} cases[] = {
		{{TRIAL_NONE, 0}, "not tried"},
		{{TRIAL_NO_TARGET, 0}, "not in this kernel"},
		{{TRIAL_NO_LOAD, -EPERM},
		 "refused at load: Operation not permitted (perhaps by a seccomp filter or "
		 "security module)"},
		{{TRIAL_NO_ATTACH, -ENOENT},
		 "loads, cannot be attached: No such file or directory"},
		{{TRIAL_WORKS, 0}, "works"},
	};
	char text[128];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		hook_support_text(&cases[i].s, text, sizeof(text));
		assert_string_equal(text, cases[i].text);
	}
	for (int k = 0; k < HOOK_NR; k++)
		assert_non_null(hook_kind_name(k));
}

static void test_file_line(void **state)
{
	struct fake_root *root = *state;
	char line[8] = "before";
	long long n = 7;

	assert_int_equal(file_line(root->dir, "/absent", line, sizeof(line)), -ENOENT);
	fake_root_write(root, "/eight", "12345678\n");
	assert_int_equal(file_line(root->dir, "/eight", line, sizeof(line)), -E2BIG);
	assert_string_equal(line, "before");
	fake_root_write(root, "/two", "1234567\nsecond");
	assert_int_equal(file_line(root->dir, "/two", line, sizeof(line)), 0);
	assert_string_equal(line, "1234567");
	fake_root_write(root, "/bare", "x");
	assert_int_equal(file_line(root->dir, "/bare", line, sizeof(line)), 0);
	assert_string_equal(line, "x");
	assert_int_equal(file_number(root->dir, "/bare", &n), -EINVAL);
	fake_root_write(root, "/big", "99999999999999999999\n");
	assert_int_equal(file_number(root->dir, "/big", &n), -EINVAL);
	fake_root_write(root, "/long", "0000000000000000000000000000000000000000001\n");
	assert_int_equal(file_number(root->dir, "/long", &n), -EINVAL);
	assert_int_equal(n, 7);
	fake_root_write(root, "/minus", "-1\n");
	assert_int_equal(file_number(root->dir, "/minus", &n), 0);
	assert_int_equal(n, -1);
}

/* A function "int late_read(void)" in the BTF of a loaded module. */
static void load_module(const struct fake_root *root, const char *name)
{
	char path[256];
	struct btf *base, *own;
	const void *data;
	uint32_t size;
	int fd, proto;

	snprintf(path, sizeof(path), "%s" KERNEL_BTF_PATH, root->dir);
	base = btf__parse_raw(path);
	own = btf__new_empty_split(base);
	assert_true(base && own);
	proto = btf__add_func_proto(own, btf__find_by_name_kind(base, "int", BTF_KIND_INT));
	assert_true(proto > 0 && btf__add_func(own, "late_read", BTF_FUNC_STATIC, proto) > 0);
	data = btf__raw_data(own, &size);
	snprintf(path, sizeof(path), "/sys/kernel/btf/%s", name);
	fd = fake_root_open(root, path);
	assert_int_equal(write(fd, data, size), size);
	close(fd);
	btf__free(own);
	btf__free(base);
}

/* A function of a module exists only while the module is loaded. */
static void test_modules(void **state)
{
	static const struct kernel_hook hooks[] = {
		{.kind = HOOK_FENTRY, .target = "late_read", .module = "late"},
		{.kind = HOOK_FENTRY, .target = "late_read"},
		{.kind = HOOK_FENTRY, .target = "never_read", .module = "late"},
	};
	const struct fake_root *root = *state;
	struct kernel_caps *caps = calloc(1, sizeof(*caps));

	assert_non_null(caps);
	fake_root_btf(root, "6.12");
	gather(root, hooks, 3, caps);
	assert_int_equal(caps->hooks[0].err, -ENODEV);
	assert_int_equal(caps->hooks[1].err, -ENOENT);

	/* Loaded, but the kernel has no BTF of modules. */
	fake_root_write(root, "/sys/module/late/refcnt", "0\n");
	gather(root, hooks, 3, caps);
	assert_int_equal(caps->hooks[0].err, -ENOENT);

	load_module(root, "late");
	gather(root, hooks, 3, caps);
	assert_int_equal(caps->hooks[0].err, 0);
	assert_true(caps->hooks[0].in_module);
	assert_string_equal(caps->hooks[0].proto, "int()");
	assert_int_equal(caps->hooks[1].err, -ENOENT);
	assert_false(caps->hooks[1].in_module);
	assert_int_equal(caps->hooks[2].err, -ENOENT);
	free(caps);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_empty_machine), T(test_settings),
		T(test_capabilities),  T(test_only_asked_kinds_are_tried),
		T(test_cgroup_layout), T(test_damaged_btf),
		T(test_bounds),	       T(test_trials_leave_nothing),
		T(test_trial_words),   T(test_file_line),
		T(test_modules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
