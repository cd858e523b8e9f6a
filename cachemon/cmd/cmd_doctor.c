/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/doctor/doctor.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/capture/map_memory.h"
#include "cachemon/capture/probe_set.h"
#include "cachemon/cmd/cmd.h"
#include "cachemon/base/progress.h"
#include "cachemon/cmd/usage.h"
#include "cachemon/collector/calibrate.h"
#include "cachemon/plan/fs_cover.h"
#include "cachemon/plan/machine_plan.h"
#include "cachemon/base/escape.h"
#include "cachemon/access/access.h"

enum { OPT_JSON = 256 }; /* no short form */

struct options {
	const char *path;
	bool json;
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case OPT_JSON:
		o->json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (o->path)
			usage_error(state, "give one PATH");
		if (!*arg)
			usage_error(state, "PATH is empty");
		o->path = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* The plan that root would get on this kernel, as far as BTF alone shows. */
static int plan_with_privileges(const struct kernel_caps *caps, const struct plan_request *request,
				struct probe_plan *ret_plan)
{
	struct kernel_caps *root = malloc(sizeof(*root));

	if (!root)
		return -ENOMEM;
	*root = *caps;
	root->held = ~0ULL;
	root->kallsyms = CAPS_YES;
	for (int k = 0; k < HOOK_NR; k++)
		root->support[k].trial = TRIAL_WORKS;
	probe_plan_make(root, request, probe_table_own(), ret_plan);
	free(root);
	return 0;
}

/* < 0: this machine or this process cannot attach it. */
static double price_of_vfs_calls(const struct kernel_caps *caps)
{
	static const struct plan_request request = {.level = LEVEL_COLD, .vfs_calls = true};
	const struct probe_set_config config = {.caps = caps,
						.ram_bytes = caps->ram_bytes,
						.nr_cpus = caps->nr_cpus,
						.jobs = 1,
						.job_hierarchies = 1U << CGROUP_V2};
	struct probe_plan *plan = malloc(sizeof(*plan));
	struct probe_set *set = NULL;
	struct errtext ignored;
	double ns = -1;

	if (plan)
		probe_plan_make(caps, &request, probe_table_own(), plan);
	if (plan && probe_plan_has(plan, ROLE_VFS_CALLS) &&
	    !probe_set_new(&config, plan, &set, &ignored)) {
		probe_set_start(set);
		ns = calibrate_call(set, ROLE_VFS_CALLS);
	}
	probe_set_free(set);
	free(plan);
	return ns;
}

static int gather_facts(struct doctor *d, const char *path, struct errtext *err)
{
	static const struct plan_request everything = {LEVEL_FULL, true, true, true,
						       true,	   true, true, true};
	int ret = machine_plan_make(&everything, KERNEL_KINDS_ALL, &d->caps, &d->plan, err);

	if (ret)
		return ret;
	d->privileged =
		kernel_caps_holds(&d->caps, CAP_BPF) && kernel_caps_holds(&d->caps, CAP_PERFMON);
	if (!d->privileged)
		ret = plan_with_privileges(&d->caps, &everything, &d->with_privileges);
	if (ret)
		return errtext_set(err, ret, "out of memory");
	d->nr_maps = map_sizes(d->caps.ram_bytes, d->caps.page_size, d->caps.nr_cpus, d->maps,
			       DOCTOR_MAPS_MAX);
	if (d->nr_maps > DOCTOR_MAPS_MAX)
		d->nr_maps = DOCTOR_MAPS_MAX;
	d->memory_err = map_memory_check(map_memory_bytes(d->caps.ram_bytes, d->caps.nr_cpus, 0, 0),
					 d->caps.memlock_binds == CAPS_YES, false, &d->memory);
	d->vfs_call_ns = d->privileged ? price_of_vfs_calls(&d->caps) : -1;
	d->path = path;
	return 0;
}

static int look_at_path(struct doctor *d, const char *path, struct errtext *err)
{
	const struct probe_plan *plan = d->privileged ? &d->plan : &d->with_privileges;
	char shown[256], denied[ACCESS_DENIED_MAX] = "";
	struct access saved;
	struct invoker inv;
	int ret = invoker_current(&inv, err);

	if (ret)
		return ret;
	ret = access_enter(&inv, &saved);
	if (!ret) {
		ret = fs_support_read(path, fs_cover_direct(plan), &d->fs);
		access_denied(path, ret, denied);
		access_leave(&saved);
	}
	invoker_free(&inv);

	escape_inert_to(shown, sizeof(shown), path);
	return ret ? errtext_set(err, ret, "cannot examine %s: %s%s", shown, strerror(-ret), denied)
		   : 0;
}

/* Tries every type of program, which may take a while. */
static int examine_machine(struct doctor *d, const char *path, struct errtext *err)
{
	struct progress_show *progress = progress_show_begin();
	int ret;

	progress_at(progress_show_sink(progress), "testing kernel features", 0, 0);
	ret = gather_facts(d, path, err);
	if (!ret && path) {
		progress_at(progress_show_sink(progress), "examining the filesystem", 0, 0);
		ret = look_at_path(d, path, err);
	}
	progress_show_end(progress);
	return ret;
}

static const struct option_spec options[] = {
	OPTION("json", OPT_JSON, NULL, VALUE_NONE, "Print one JSON object"),
	OPTIONS_END,
};

static const struct example examples[] = {
	{"cachemon doctor", "Show what can be measured here, as far as your privileges allow"},
	{"sudo cachemon doctor /data",
	 "Show everything, and what can be measured on that filesystem"},
	{"cachemon doctor --json", "Print JSON for other programs"},
	{0},
};

const struct verb_spec doctor_spec = {
	.name = "doctor",
	.help = "show what this machine can measure, what is missing and how to get it",
	.operands = "[PATH]",
	.operand = VALUE_PATH,
	.examples = examples,
	.options = options,
	.notes = "Works without root; it then lists what it could not check. Exit status: 0 if "
		 "watch can run, 1 if not, 2 for wrong usage.",
	.run = cmd_doctor,
	.measures = true,
};

static int print_answer(const struct doctor *d, bool json, struct errtext *err)
{
	int ret = 0;

	if (json)
		ret = doctor_print_json(d);
	else
		doctor_print_text(d);
	return ret ? errtext_set(err, ret, "cannot write the result: %s", strerror(-ret)) : 0;
}

int cmd_doctor(int argc, char **argv)
{
	struct options o = {0};
	struct errtext err = {"out of memory"};
	struct doctor *d;
	int status = EXIT_FAILED;
	int ret = -ENOMEM;

	usage_parse(&doctor_spec, parse_option, argc, argv, 0, &o);
	libbpf_set_print(NULL); /* the plan words rejections, which are facts here */
	d = calloc(1, sizeof(*d));
	if (d)
		ret = examine_machine(d, o.path, &err);
	if (!ret)
		ret = print_answer(d, o.json, &err);
	if (ret)
		fprintf(stderr, "cachemon: %s\n", err.text);
	else
		status = d->plan.viable && !d->memory_err ? EXIT_DONE : EXIT_FAILED;
	free(d);
	return status;
}
