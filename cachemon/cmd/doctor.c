/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/doctor.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/map_memory.h"
#include "cmd/cmd.h"
#include "cmd/usage.h"
#include "plan/fs_direct.h"
#include "plan/machine_plan.h"
#include "report/escape.h"

enum { OPT_JSON = 256 }; /* no short form */

struct options {
	const char *path;
	bool json;
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		usage_init(state);
		return 0;
	case OPT_JSON:
		o->json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (o->path)
			usage_error(state, "only one PATH at a time");
		if (!*arg)
			usage_error(state, "PATH is empty");
		o->path = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option argp_options[] = {
	{"json", OPT_JSON, NULL, 0, "Print one JSON object", 0},
	{0},
};

static const struct argp argp = {
	.options = argp_options,
	.parser = parse_option,
	.args_doc = "[PATH]",
	.doc = "Say what this machine can measure, what is missing and how to get it; with PATH "
	       "also "
	       "what can be seen of files there.\v"
	       "Works without root, and says then what it cannot know. Exit status: 0 if watch "
	       "could "
	       "run, 1 if not, 2 for wrong usage.\n\n"
	       "EXAMPLES\n"
	       "  cachemon doctor\n"
	       "  sudo cachemon doctor /data --json\n",
};

/* The same kernel as root would find it, as far as BTF alone tells. */
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

static int gather(struct doctor *d, const char *path)
{
	static const struct plan_request everything = {LEVEL_FULL, true, true};
	struct errtext text;
	int err = machine_plan_make(&everything, KERNEL_KINDS_ALL, &d->caps, &d->plan, &text);

	if (err)
		goto out;
	d->privileged =
		kernel_caps_holds(&d->caps, CAP_BPF) && kernel_caps_holds(&d->caps, CAP_PERFMON);
	if (!d->privileged)
		err = plan_with_privileges(&d->caps, &everything, &d->with_privileges);
	if (err)
		errtext_set(&text, err, "out of memory");
	d->nr_maps = map_sizes(d->caps.ram_bytes, d->caps.page_size, d->caps.nr_cpus, d->maps,
			       DOCTOR_MAPS_MAX);
	if (d->nr_maps > DOCTOR_MAPS_MAX)
		d->nr_maps = DOCTOR_MAPS_MAX;
	d->memory_err = map_memory_check(map_memory_bytes(d->caps.ram_bytes, d->caps.nr_cpus, 0, 0),
					 d->caps.memlock_binds == CAPS_YES, false, &d->memory);
	d->path = path;
out:
	if (err)
		fprintf(stderr, "cachemon: %s\n", text.text);
	return err;
}

int cmd_doctor(int argc, char **argv)
{
	struct options o = {0};
	struct doctor *d;
	char shown[256];
	int status = EXIT_FAILED;
	int err;

	usage_parse(&argp, "cachemon doctor", argc, argv, 0, &o);
	libbpf_set_print(NULL); /* refusals are facts here, worded in the plan */
	d = calloc(1, sizeof(*d));
	if (!d) {
		fprintf(stderr, "cachemon: out of memory\n");
		return EXIT_FAILED;
	}
	if (gather(d, o.path))
		goto out;
	if (o.path) {
		err = fs_support_read(
			o.path, fs_direct_of_plan(d->privileged ? &d->plan : &d->with_privileges),
			&d->fs);
		if (err) {
			escape_inert_to(shown, sizeof(shown), o.path);
			fprintf(stderr, "cachemon: cannot look at %s: %s\n", shown, strerror(-err));
			goto out;
		}
	}
	err = 0;
	if (o.json)
		err = doctor_print_json(d);
	else
		doctor_print_text(d);
	if (err)
		fprintf(stderr, "cachemon: cannot make the answer: %s\n", strerror(-err));
	else
		status = d->plan.viable && !d->memory_err ? EXIT_DONE : EXIT_FAILED;
out:
	free(d);
	return status;
}
