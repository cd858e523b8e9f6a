/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "advisor/analysis/analysis.h"
#include "cachemon/model/model_detail.h"
#include "cachemon/wording/pack_model.h"

static int add(struct redact *r, enum name_kind kind, const struct bytes *b)
{
	return b->data && b->len ? redact_add(r, kind, b->data, b->len) : 0;
}

/* What the paths of a job are below; a name without a slash is that of no place. */
static int add_path(struct redact *r, enum name_kind kind, const struct bytes *b)
{
	return b->data && memchr(b->data, '/', b->len) ? add(r, kind, b) : 0;
}

/* "command: python3 train.py", "cgroup: /a/b": what stands behind the kind. */
static int add_selector(struct redact *r, const struct bytes *b)
{
	const char *colon = b->data ? memchr(b->data, ':', b->len) : NULL;
	struct bytes rest;

	if (!colon || colon[1] != ' ')
		return 0;
	rest = (struct bytes){colon + 2, b->len - (size_t)(colon + 2 - b->data)};
	return add(r,
		   colon - b->data == 6 && !memcmp(b->data, "cgroup", 6) ? NAME_CGROUP
									 : NAME_COMMAND,
		   &rest);
}

/* People say "node17" for "node17.cluster.example". */
static int add_host(struct redact *r, const struct bytes *host)
{
	const char *dot = host->data ? memchr(host->data, '.', host->len) : NULL;
	int ret = add(r, NAME_HOST, host);

	return ret || !dot ? ret : redact_add(r, NAME_HOST, host->data, (size_t)(dot - host->data));
}

static int add_evictors(struct redact *r, const struct model_detail *d)
{
	int ret = 0;

	for (size_t i = 0; d && i < d->nr_evictions && !ret; i++) {
		const struct model_eviction *e = &d->evictions[i];

		ret = add(r, NAME_JOB, &e->job);
		ret = ret ? ret : add(r, NAME_COMMAND, &e->command);
		ret = ret ? ret : add(r, NAME_CGROUP, &e->cgroup);
		ret = ret ? ret : add_path(r, NAME_DIRECTORY, &e->directory);
		ret = ret ? ret : add_path(r, NAME_DIRECTORY, &e->owner_directory);
	}
	return ret;
}

static int add_places(struct redact *r, const struct model_job *job)
{
	int ret = 0;

	for (size_t i = 0; i < job->nr_files && !ret; i++)
		ret = add(r, NAME_PATH, &job->files[i].path);
	for (size_t i = 0; i < job->nr_directories && !ret; i++)
		ret = add_path(r, NAME_DIRECTORY, &job->directories[i].path);
	for (size_t i = 0; i < job->nr_advice && !ret; i++)
		ret = add(r, NAME_PATH, &job->advice[i].path);
	for (size_t i = 0; i < job->nr_filesystems && !ret; i++)
		ret = add_path(r, NAME_DIRECTORY, &job->filesystems[i].mount);
	return ret;
}

/* Evidence may name who did something; of which kind that is names nobody. */
static int add_named(struct redact *r, const struct finding *f)
{
	static const char kind[] = "_kind";
	int ret = 0;

	for (size_t i = 0; i < f->nr_evidence && !ret; i++) {
		const struct evidence *e = &f->evidence[i];
		size_t len = strlen(e->metric);

		if (!e->is_text || strcmp(e->unit, "name") != 0 ||
		    (len >= sizeof(kind) && !strcmp(e->metric + len - sizeof(kind) + 1, kind)))
			continue;
		ret = redact_add(r, NAME_COMMAND, e->value, strlen(e->value));
	}
	return ret;
}

static int add_finding(struct redact *r, const struct finding *f)
{
	enum name_kind kind = f->kind == SUBJECT_DIRECTORY ? NAME_DIRECTORY : NAME_PATH;
	int ret = add_path(r, kind, &f->subject);

	return ret ? ret : add_named(r, f);
}

/* What findings are about: files that the report does not list. */
static int add_subjects(struct redact *r, const struct analysis *a)
{
	int ret = 0;

	for (size_t j = 0; a && j < a->nr_jobs; j++)
		for (size_t i = 0; i < a->jobs[j].nr_findings && !ret; i++)
			for (const struct finding *f = &a->jobs[j].findings[i]; f && !ret;
			     f = f->merged)
				ret = add_finding(r, f);
	return ret;
}

int pack_names(struct redact *names, const struct model *m)
{
	int ret = add_host(names, &m->run.host);

	for (size_t i = 0; i < m->nr_jobs && !ret; i++) {
		const struct model_job *job = &m->jobs[i];

		if (!model_others(job))
			ret = add(names, NAME_JOB, &job->name);
		ret = ret ? ret : add_selector(names, &job->selector);
		ret = ret ? ret : add_places(names, job);
		ret = ret ? ret : add_evictors(names, job->detail);
	}
	return ret ? ret : add_subjects(names, m->analysis);
}
