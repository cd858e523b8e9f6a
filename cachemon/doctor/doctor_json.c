/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/doctor/doctor.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/text_builder.h"
#include "cachemon/plan/probe_build.h"
#include "cachemon/base/escape.h"

/* Numbers are stored as text, because a double loses digits of 64 bits. */
static void add_u64(cJSON *o, const char *name, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, n);
	cJSON_AddRawToObject(o, name, text);
}

/* "" and NULL: unknown, or not applicable. */
static void add_text(cJSON *o, const char *name, const char *text)
{
	if (text && *text)
		cJSON_AddStringToObject(o, name, text);
	else
		cJSON_AddNullToObject(o, name);
}

static void add_flag(cJSON *o, const char *name, enum caps_flag f)
{
	if (f == CAPS_UNKNOWN)
		cJSON_AddNullToObject(o, name);
	else
		cJSON_AddBoolToObject(o, name, f == CAPS_YES);
}

static void add_setting(cJSON *o, const char *name, int value)
{
	if (value < 0)
		cJSON_AddNullToObject(o, name);
	else
		add_u64(o, name, (uint64_t)value);
}

/* Any bytes: see base/escape.h. */
static void add_path(cJSON *o, const char *name, const char *path)
{
	char flag[64];
	struct text_builder b;
	char *text;
	bool escaped;

	if (!path || !*path) {
		cJSON_AddNullToObject(o, name);
		return;
	}
	if (!text_begin(&b))
		return;
	escaped = escape_data(b.out, path, strlen(path));
	text = text_end(&b);
	if (text)
		cJSON_AddStringToObject(o, name, text);
	snprintf(flag, sizeof(flag), "%s_escaped", name);
	if (escaped)
		cJSON_AddTrueToObject(o, flag);
	free(text);
}

static cJSON *add_item(cJSON *array)
{
	cJSON *item = cJSON_CreateObject();

	cJSON_AddItemToArray(array, item);
	return item;
}

static void add_machine(cJSON *root, const struct kernel_caps *c)
{
	cJSON *o = cJSON_AddObjectToObject(root, "kernel");

	add_text(o, "release", c->release);
	add_text(o, "arch", c->arch);
	add_u64(o, "page_size_bytes", c->page_size);
	add_u64(o, "memory_bytes", c->ram_bytes);
	add_u64(o, "cpus", c->nr_cpus);
	o = cJSON_AddObjectToObject(root, "btf");
	cJSON_AddStringToObject(o, "path", KERNEL_BTF_PATH);
	cJSON_AddBoolToObject(o, "usable", !c->btf_err);
	add_text(o, "reason", c->btf_err ? strerror(-c->btf_err) : NULL);
	add_text(root, "lockdown", c->lockdown);
	o = cJSON_AddObjectToObject(root, "cgroup");
	cJSON_AddStringToObject(o, "layout", kernel_caps_cgroup(c));
	add_path(o, "v1_memory", c->cgroup_v1_memory);
	add_path(o, "v2", c->cgroup_v2);
	o = cJSON_AddObjectToObject(root, "settings");
	add_flag(o, "bpf_jit", c->jit);
	add_flag(o, "kernel_addresses_readable", c->kallsyms);
	add_flag(o, "task_delayacct", c->task_delayacct);
	add_setting(o, "unprivileged_bpf_disabled", c->unprivileged_bpf_disabled);
	add_setting(o, "perf_event_paranoid", c->perf_event_paranoid);
	add_setting(o, "kptr_restrict", c->kptr_restrict);
	add_flag(o, "bpf_stats_enabled", c->bpf_stats);
	add_flag(o, "memlock_binds", c->memlock_binds);
	cJSON_AddBoolToObject(o, "memlock_unlimited", c->memlock_bytes == UINT64_MAX);
	if (c->memlock_bytes == UINT64_MAX)
		cJSON_AddNullToObject(o, "memlock_bytes");
	else
		add_u64(o, "memlock_bytes", c->memlock_bytes);
}

static void add_privileges(cJSON *root, const struct kernel_caps *c)
{
	cJSON *array = cJSON_AddArrayToObject(root, "capabilities");
	char text[128];
	cJSON *o;

	for (const struct doctor_cap *cap = doctor_caps(); cap->name; cap++) {
		bool held = kernel_caps_holds(c, cap->cap);

		o = add_item(array);
		cJSON_AddStringToObject(o, "name", cap->name);
		cJSON_AddBoolToObject(o, "held", held);
		cJSON_AddBoolToObject(o, "required", cap->required);
		cJSON_AddStringToObject(o, "for", cap->what);
		cJSON_AddStringToObject(o, "without", cap->without);
		add_text(o, "not_needed", held ? NULL : doctor_cap_spared(c, cap->cap));
		add_text(o, "how",
			 held || doctor_cap_spared(c, cap->cap) ? NULL : doctor_cap_remedy());
	}
	array = cJSON_AddArrayToObject(root, "program_types");
	for (int k = 0; k < HOOK_NR; k++) {
		enum hook_trial trial = c->support[k].trial;

		o = add_item(array);
		cJSON_AddStringToObject(o, "kind", hook_kind_name(k));
		add_flag(o, "works",
			 trial == TRIAL_NONE	? CAPS_UNKNOWN
			 : trial == TRIAL_WORKS ? CAPS_YES
						: CAPS_NO);
		hook_support_text(&c->support[k], text, sizeof(text));
		add_text(o, "reason", trial == TRIAL_WORKS ? NULL : text);
	}
	/* The kernel may switch tasks inside a tracepoint's program. */
	add_flag(root, "preemptible_programs",
		 c->support[HOOK_TP_BTF].trial != TRIAL_WORKS || c->preemptible < 0 ? CAPS_UNKNOWN
		 : c->preemptible						    ? CAPS_YES
										    : CAPS_NO);
	add_flag(root, "preemptible_kernel", c->preempts);
}

static void add_plan(cJSON *parent, const struct probe_plan *plan)
{
	cJSON *array = cJSON_AddArrayToObject(parent, "roles");
	char why[PLAN_REASON_MAX];
	cJSON *o;

	for (int r = 0; r < ROLE_NR; r++) {
		const struct probe_choice *c = &plan->choices[r];

		o = add_item(array);
		cJSON_AddStringToObject(o, "role", probe_role_name(r));
		cJSON_AddStringToObject(o, "state", probe_state_name(c->state));
		add_text(o, "hook", c->hook);
		add_text(o, "program", c->program);
		add_text(o, "reason", c->reason);
		add_text(o, "preferred_refused", c->state == PROBE_LIVE ? c->instead : NULL);
		cJSON_AddStringToObject(o, "lost_without", probe_role_loss(r));
	}
	array = cJSON_AddArrayToObject(parent, "groups");
	for (int g = 0; g < GROUP_NR; g++) {
		o = add_item(array);
		cJSON_AddStringToObject(o, "group", counter_group_name(g));
		cJSON_AddBoolToObject(o, "measured", plan->measured[g]);
		add_text(o, "reason", plan->reason[g]);
	}
	o = cJSON_AddObjectToObject(parent, "unmeasured");
	for (int c = 0; c < C_NR; c++) {
		if (!probe_plan_measures(plan, c, why, sizeof(why)))
			cJSON_AddStringToObject(o, counter_name(c), why);
	}
	array = cJSON_AddArrayToObject(parent, "records");
	for (int r = 0; r < RECORD_NR; r++) {
		const char *reason = probe_record_absent(plan, r);

		o = add_item(array);
		cJSON_AddStringToObject(o, "record", probe_record_name(r));
		cJSON_AddStringToObject(o, "for", probe_record_use(r));
		cJSON_AddBoolToObject(o, "recorded", !reason);
		add_text(o, "reason", reason);
	}
	o = cJSON_AddObjectToObject(parent, "watch");
	cJSON_AddBoolToObject(o, "possible", plan->viable);
	add_text(o, "reason", plan->refusal);
}

static void add_maps(cJSON *root, const struct doctor *d)
{
	cJSON *o = cJSON_AddObjectToObject(root, "maps");
	cJSON *array = cJSON_AddArrayToObject(o, "list");
	uint64_t sum = 0;

	for (size_t i = 0; i < d->nr_maps; i++) {
		cJSON *m = add_item(array);

		cJSON_AddStringToObject(m, "name", d->maps[i].name);
		add_u64(m, "entries", d->maps[i].entries);
		add_u64(m, "bytes_each", d->maps[i].bytes_each);
		add_u64(m, "bytes", d->maps[i].bytes);
		sum += d->maps[i].bytes;
	}
	add_u64(o, "bytes", sum);
	cJSON_AddBoolToObject(o, "fit", !d->memory_err);
	add_text(o, "reason", d->memory_err ? d->memory.text : NULL);
}

static void add_filesystem(cJSON *root, const struct doctor *d)
{
	char device[32];
	cJSON *o;

	if (!d->path) {
		cJSON_AddNullToObject(root, "filesystem");
		return;
	}
	o = cJSON_AddObjectToObject(root, "filesystem");
	add_path(o, "path", d->path);
	add_text(o, "type", d->fs.type);
	add_path(o, "mount", d->fs.mount);
	cJSON_AddBoolToObject(o, "dax", d->fs.dax);
	snprintf(device, sizeof(device), "%u:%u", d->fs.major, d->fs.minor);
	cJSON_AddStringToObject(o, "dev", device);
	if (d->fs.read_ahead_kb < 0)
		cJSON_AddNullToObject(o, "read_ahead_kb");
	else
		add_u64(o, "read_ahead_kb", (uint64_t)d->fs.read_ahead_kb);
	if (d->fs.trial == FS_TRIAL_NONE)
		cJSON_AddNullToObject(o, "trial_cached");
	else
		cJSON_AddBoolToObject(o, "trial_cached", d->fs.trial == FS_TRIAL_CACHED);
	cJSON_AddStringToObject(o, "seen", fs_cover_name(d->fs.cover));
	cJSON_AddStringToObject(o, "explanation", d->fs.why);
}

int doctor_print_json(const struct doctor *d)
{
	cJSON *root = cJSON_CreateObject();
	char *text;
	int err = 0;

	cJSON_AddNumberToObject(root, "schema", 1);
	cJSON_AddStringToObject(root, "cachemon", CACHEMON_VERSION);
	add_machine(root, &d->caps);
	add_privileges(root, &d->caps);
	add_plan(root, &d->plan);
	if (d->privileged)
		cJSON_AddNullToObject(root, "with_privileges");
	else
		add_plan(cJSON_AddObjectToObject(root, "with_privileges"), &d->with_privileges);
	if (d->vfs_call_ns < 0)
		cJSON_AddNullToObject(root, "vfs_call_ns");
	else
		cJSON_AddNumberToObject(root, "vfs_call_ns", d->vfs_call_ns);
	add_maps(root, d);
	add_filesystem(root, d);
	text = cJSON_Print(root);
	if (text)
		puts(text);
	else
		err = -ENOMEM;
	cJSON_free(text);
	cJSON_Delete(root);
	return err;
}
