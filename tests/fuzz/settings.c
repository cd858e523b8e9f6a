/* SPDX-License-Identifier: BSD-2-Clause */
/* Any text as the settings of a node: all of them are set, within their limits, or there is a
 * one-line error that names the file. */
#include "fuzz.h"

#include <errno.h>

#include "cachemon/daemon/node_config.h"
#include "cachemon/job/job_find.h"

/* The kinds of this fuzzer. */
const char *find_kind_name(enum find_kind kind)
{
	static const char *const names[] = {"slurm", "unit", "container", "pod", "vm", "cgroup"};

	return names[kind];
}

static void check_list(const struct node_list *l)
{
	MUST(l->nr <= 64);
	for (size_t i = 0; i < l->nr; i++)
		MUST(*l->of[i] && strlen(l->of[i]) <= 256);
}

static void check(const struct node_config *c)
{
	MUST(*c->database == '/' && *c->socket.path == '/');
	MUST(c->interval_ns >= 1000000000ULL && c->interval_ns <= 3600 * 1000000000ULL);
	MUST(c->budget_percent > 0 && c->budget_percent <= 100);
	MUST(!(c->jobs.kinds >> 5));
	check_list(&c->jobs.include);
	check_list(&c->jobs.exclude);
	MUST(!c->retention.age_ns || c->retention.age_ns >= 60 * 1000000000ULL);
	MUST(!c->retention.size_bytes || c->retention.size_bytes >= 16 << 20);
	MUST(c->retention.minutes_ns && c->retention.minutes_ns <= c->retention.quarters_ns);
	MUST(!c->metrics.textfile_directory || *c->metrics.textfile_directory == '/');
	MUST(!c->metrics.listen.ss_family || c->metrics.listen.ss_family == AF_INET ||
	     c->metrics.listen.ss_family == AF_INET6);
	MUST(!c->socket.admin_group || *c->socket.admin_group);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct errtext err = {""};
	struct node_config c;
	int e = node_config_parse("node.yaml", (const char *)data, size, &c, &err);

	MUST(e == 0 || e == -EINVAL || e == -ENOMEM);
	if (e)
		MUST(!strncmp(err.text, "node.yaml:", 10) && !strpbrk(err.text, "\n\r\x1b"));
	else
		check(&c);
	node_config_free(&c);
	return 0;
}
