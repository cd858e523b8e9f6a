/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/doctor/doctor.h"

#include <inttypes.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cachemon/base/escape.h"
#include "cachemon/base/human.h"
#include "cachemon/base/terminal.h"
#include "cachemon/plan/probe_build.h"

const struct doctor_cap *doctor_caps(void)
{
	static const struct doctor_cap caps[] = {
		{CAP_BPF, "CAP_BPF", true, "making maps and loading the probes",
		 "without it no probe can be loaded and nothing can be measured"},
		{CAP_PERFMON, "CAP_PERFMON", true, "probes that read kernel memory",
		 "without it probes cannot read kernel memory and nothing can be measured"},
		{CAP_SYSLOG, "CAP_SYSLOG", false, "reading kernel addresses at the start",
		 "without it kernel addresses are hidden, and eviction causes that need a stack "
		 "are not measured"},
		{CAP_SYS_PTRACE, "CAP_SYS_PTRACE", false,
		 "reading the mounts of other users' processes, also under hidepid",
		 "without it the path of a file in another mount may be incomplete"},
		{CAP_SYS_ADMIN, "CAP_SYS_ADMIN", false,
		 "timing the probes; it includes CAP_BPF and CAP_PERFMON",
		 "without it the overhead is not known, and level auto does not use slices"},
		{CAP_SYS_RESOURCE, "CAP_SYS_RESOURCE", false,
		 "raising the limit of locked memory at the start",
		 "without it the maps must fit into that limit"},
		{0, NULL, false, NULL, NULL},
	};

	return caps;
}

const char *doctor_cap_remedy(void)
{
	return "run as root, or once: sudo setcap cap_bpf,cap_perfmon,cap_syslog+ep "
	       "\"$(command -v cachemon)\"";
}

const char *doctor_cap_spared(const struct kernel_caps *caps, int cap)
{
	switch (cap) {
	case CAP_SYSLOG:
		return caps->kallsyms == CAPS_YES ? "kernel addresses are readable anyway" : NULL;
	case CAP_SYS_ADMIN:
		return caps->bpf_stats == CAPS_YES ? "kernel.bpf_stats_enabled is 1, so the kernel "
						     "times the probes anyway"
						   : NULL;
	case CAP_SYS_RESOURCE:
		if (caps->memlock_binds == CAPS_NO)
			return "this kernel does not count maps as locked memory";
		return caps->memlock_bytes == UINT64_MAX ? "locked memory is unlimited" : NULL;
	default:
		return NULL;
	}
}

/* The effect of a kernel setting; NULL: nothing to report. */
static const char *lockdown_means(const struct kernel_caps *caps)
{
	if (!strcmp(caps->lockdown, "integrity"))
		return "integrity: nothing that cachemon does is forbidden";
	if (!strcmp(caps->lockdown, "confidentiality"))
		return "confidentiality: BPF programs may not read kernel memory, so watch cannot "
		       "run; integrity allows it";
	return NULL;
}

static const char *paranoid_means(const struct kernel_caps *caps)
{
	if (caps->kallsyms != CAPS_NO)
		return NULL;
	if (caps->kptr_restrict >= 2)
		return "addresses are hidden from everybody while kernel.kptr_restrict is 2";
	return "addresses are shown with CAP_SYSLOG, or if kernel.kptr_restrict is 0 and "
	       "kernel.perf_event_paranoid 1 or less";
}

static const char *unprivileged_means(const struct kernel_caps *caps)
{
	if (caps->unprivileged_bpf_disabled > 0)
		return "loading programs requires CAP_BPF; before Linux 5.19 using them does too, "
		       "so watch keeps the capability";
	return NULL;
}

#define INDENT 15

/* One line of facts "label   text", words wrapped below the text's column. */
static void __attribute__((format(printf, 3, 4)))
print_line(int indent, const char *label, const char *fmt, ...)
{
	char text[2048]; /* longer than any reason and list */
	const char *word = text;
	int column;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	column = printf("%-*s", indent, label);
	while (*word) {
		int len = (int)strcspn(word, " ");

		if (column > indent && column + 1 + len > terminal_text_width(stdout)) {
			printf("\n%*s", indent, "");
			column = indent;
		} else if (column > indent) {
			putchar(' ');
			column++;
		}
		printf("%.*s", len, word);
		column += len;
		word += len;
		word += strspn(word, " ");
	}
	putchar('\n');
}

static const char *flag(enum caps_flag f, const char *yes, const char *no)
{
	return f == CAPS_UNKNOWN ? "unknown" : f == CAPS_YES ? yes : no;
}

static const char *or_unknown(const char *text)
{
	return *text ? text : "unknown";
}

static void print_kernel(const struct kernel_caps *c)
{
	print_line(INDENT, "kernel", "%s %s, %" PRIu64 "-byte pages, %u CPUs, %s of memory",
		   or_unknown(c->release), or_unknown(c->arch), c->page_size, c->nr_cpus,
		   human_bytes(c->ram_bytes).text);
	if (!c->btf_err)
		print_line(INDENT, "BTF", "%s", KERNEL_BTF_PATH);
	else
		print_line(INDENT, "BTF",
			   "%s: %s; this needs a kernel built with CONFIG_DEBUG_INFO_BTF=y",
			   KERNEL_BTF_PATH, strerror(-c->btf_err));
	print_line(INDENT, "lockdown", "%s", lockdown_means(c) ?: or_unknown(c->lockdown));
}

static void print_privileges(const struct doctor *d)
{
	bool missing = false;

	for (const struct doctor_cap *c = doctor_caps(); c->name; c++) {
		const char *label = c == doctor_caps() ? "privileges" : "", *spared;

		spared = doctor_cap_spared(&d->caps, c->cap);
		if (kernel_caps_holds(&d->caps, c->cap)) {
			print_line(INDENT, label, "%s: %s", c->name, c->what);
		} else if (spared) {
			print_line(INDENT, label, "%s is not needed here: %s", c->name, spared);
		} else {
			missing = true;
			print_line(INDENT, label, "%s is missing (%s): %s", c->name, c->what,
				   c->without);
		}
	}
	if (missing)
		print_line(INDENT, "", "To get them: %s", doctor_cap_remedy());
}

static void print_cgroups(const struct kernel_caps *c)
{
	char v1[256] = "", v2[256] = "";

	if (*c->cgroup_v1_memory)
		escape_inert_to(v1, sizeof(v1), c->cgroup_v1_memory);
	if (*c->cgroup_v2)
		escape_inert_to(v2, sizeof(v2), c->cgroup_v2);
	print_line(INDENT, "cgroups", "%s", kernel_caps_cgroup(c));
	/* Not wrapped, because a path may contain blanks. */
	if (*v1)
		printf("%*sv1 memory controller at %s\n", INDENT, "", v1);
	if (*v2)
		printf("%*sv2 at %s\n", INDENT, "", v2);
}

static struct human setting(int value)
{
	struct human h;

	if (value < 0)
		snprintf(h.text, sizeof(h.text), "unknown");
	else
		snprintf(h.text, sizeof(h.text), "%d", value);
	return h;
}

static void print_settings(const struct kernel_caps *c)
{
	char text[128];

	print_line(INDENT, "settings", "BPF JIT %s, kernel addresses %s, delay accounting %s",
		   flag(c->jit, "on", "off"), flag(c->kallsyms, "readable", "hidden"),
		   flag(c->task_delayacct, "on", "off"));
	print_line(INDENT, "", "unprivileged_bpf_disabled %s%s%s",
		   setting(c->unprivileged_bpf_disabled).text, unprivileged_means(c) ? ": " : "",
		   unprivileged_means(c) ?: "");
	print_line(INDENT, "", "perf_event_paranoid %s, kptr_restrict %s%s%s",
		   setting(c->perf_event_paranoid).text, setting(c->kptr_restrict).text,
		   paranoid_means(c) ? ": " : "", paranoid_means(c) ?: "");
	print_line(INDENT, "", "locked memory %s%s",
		   c->memlock_bytes == UINT64_MAX ? "unlimited"
						  : human_bytes(c->memlock_bytes).text,
		   c->memlock_binds == CAPS_YES	 ? ", which applies to the maps"
		   : c->memlock_binds == CAPS_NO ? ", which does not apply to the maps"
						 : "");
	for (int k = 0; k < HOOK_NR; k++) {
		hook_support_text(&c->support[k], text, sizeof(text));
		print_line(INDENT, k ? "" : "programs", "%-10s %s", hook_kind_name(k), text);
	}
	if (c->support[HOOK_TP_BTF].trial == TRIAL_WORKS)
		print_line(INDENT, "", "in tracepoints, preemption is disabled by %s",
			   c->preemptible > 0	 ? "cachemon's programs"
			   : c->preemptible == 0 ? "the kernel"
			   : kernel_caps_must_hold(c)
				   ? "cachemon's programs (it is unknown whether the kernel does)"
				   : "the kernel (assumed: BTF does not show the counter)");
	print_line(INDENT, "", "kernel preemption: %s",
		   c->preempts == CAPS_UNKNOWN ? "unknown (the boot mode is not visible)"
					       : flag(c->preempts, "yes", "no"));
}

/* The most informative plan: without privileges nothing is live; with them BTF shows it. */
static const struct probe_plan *telling_plan(const struct doctor *d)
{
	return d->privileged ? &d->plan : &d->with_privileges;
}

static void print_roles(const struct doctor *d)
{
	printf("\n%-22s%-9s%s\n", "ROLE", d->privileged ? "PLAN" : "AS ROOT", "HOOK");
	for (int r = 0; r < ROLE_NR; r++) {
		const struct probe_choice *c = &telling_plan(d)->choices[r];
		char label[40];

		snprintf(label, sizeof(label), "%-22s%-9s", probe_role_name(r),
			 probe_state_name(c->state));
		if (c->state == PROBE_LIVE && *c->instead)
			print_line(31, label, "%s. Better, but: %s.", c->hook, c->instead);
		else if (c->state == PROBE_LIVE)
			print_line(31, label, "%s", c->hook);
		else
			print_line(31, label, c->spare ? "%s." : "%s. Lost: %s.", c->reason,
				   probe_role_loss(r));
	}
	if (d->vfs_call_ns >= 0)
		print_line(0, "",
			   "vfs_calls adds %.0f ns to each system call of this machine while the "
			   "daemon uses it (metrics.vfs: calls).",
			   d->vfs_call_ns);
}

static void print_records(const struct doctor *d)
{
	const char *why;

	printf("\n%-22s%-9s%s\n", "RECORD", "", "FOR");
	for (int r = 0; r < RECORD_NR; r++) {
		char label[40];

		why = probe_record_absent(telling_plan(d), r);
		snprintf(label, sizeof(label), "%-22s%-9s", probe_record_name(r),
			 why ? "absent" : "yes");
		print_line(31, label, "%s%s%s", probe_record_use(r), why ? ". Not here: " : "",
			   why ?: "");
	}
}

static void print_maps(const struct doctor *d)
{
	uint64_t sum = 0;

	printf("\n%-22s%14s %12s\n", "MAP", "ENTRIES", "MEMORY");
	for (size_t i = 0; i < d->nr_maps; i++) {
		const struct map_size *m = &d->maps[i];

		printf("%-22s%14" PRIu64 " %12s\n", m->name, m->entries,
		       human_bytes(m->bytes).text);
		sum += m->bytes;
	}
	printf("%-22s%14s %12s\n", "together", "", human_bytes(sum).text);
}

static void print_filesystem(const struct doctor *d)
{
	char path[512], device[32], kb[32];

	if (!d->path)
		return;
	escape_inert_to(path, sizeof(path), d->path);
	snprintf(device, sizeof(device), "%u:%u", d->fs.major, d->fs.minor);
	snprintf(kb, sizeof(kb), "%lld KiB", d->fs.read_ahead_kb);
	putchar('\n');
	printf("%-*s%s\n", INDENT, "path", path);
	print_line(INDENT, "filesystem", "%s%s on device %s, read-ahead %s", or_unknown(d->fs.type),
		   d->fs.dax ? " with DAX" : "", device, d->fs.read_ahead_kb < 0 ? "unknown" : kb);
	if (*d->fs.mount) {
		escape_inert_to(path, sizeof(path), d->fs.mount);
		printf("%-*s%s\n", INDENT, "mounted at", path);
	}
	if (d->fs.trial == FS_TRIAL_CACHED)
		print_line(INDENT, "trial", "a read of this file went through the page cache");
	print_line(INDENT, "seen", "%s: %s", fs_cover_name(d->fs.cover), d->fs.why);
}

/* Measured or unmeasured groups, as "a, b, c"; empty: none. A rejected run measures none. */
static void list_groups(const struct probe_plan *plan, bool measured, char *buf, size_t size)
{
	size_t len = 0;

	buf[0] = '\0';
	for (int g = 0; g < GROUP_NR; g++) {
		if ((plan->measured[g] && plan->viable) == measured && len < size)
			len += (size_t)snprintf(buf + len, size - len, "%s%s", len ? ", " : "",
						counter_group_name(g));
	}
}

static void print_verdict(const struct doctor *d)
{
	const struct probe_plan *plan = telling_plan(d);
	char can[512], cannot[512], why[PLAN_REASON_MAX];

	putchar('\n');
	for (int g = 0; g < GROUP_NR; g++) {
		if (!plan->measured[g])
			print_line(INDENT, counter_group_name(g), "%s", plan->reason[g]);
	}
	for (int c = 0; c < C_NR; c++) {
		if (plan->measured[counter_group(c)] &&
		    !probe_plan_measures(plan, c, why, sizeof(why)))
			print_line(0, "", "%s: %s", counter_name(c), why);
	}
	list_groups(plan, true, can, sizeof(can));
	list_groups(plan, false, cannot, sizeof(cannot));
	if (!plan->viable)
		print_line(0, "", "watch cannot run on this kernel: it %s", plan->refusal);
	else if (!d->privileged)
		print_line(
			0, "",
			"watch cannot run without privileges; with privileges, according to BTF:");
	if (d->memory_err)
		print_line(0, "", "watch cannot run here: %s", d->memory.text);
	if (*cannot)
		print_line(0, "", "this machine can measure: %s; cannot: %s",
			   *can ? can : "nothing", cannot);
	else
		print_line(0, "", "this machine can measure everything: %s", can);
}

void doctor_print_text(const struct doctor *d)
{
	print_kernel(&d->caps);
	print_privileges(d);
	print_cgroups(&d->caps);
	print_settings(&d->caps);
	print_roles(d);
	print_records(d);
	print_maps(d);
	print_filesystem(d);
	print_verdict(d);
}
