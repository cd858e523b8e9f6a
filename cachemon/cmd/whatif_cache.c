/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/whatif_cache.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/whatif.h"
#include "report/data.h"
#include "report/escape.h"

void curve_marks(const struct job_curve *c, struct curve_mark ret[CURVE_MARKS])
{
	ret[0] = (struct curve_mark){'P', "present", "the job's pages in the cache, at most",
				     c->facts.counted.present_pages};
	ret[1] = (struct curve_mark){'L', "limit", "the limit of its memory cgroup",
				     c->facts.limit_pages};
	ret[2] = (struct curve_mark){'R', "memory", "the machine's memory", c->facts.memory_pages};
}

static void curves_free(struct job_curve *curves, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		job_curve_free(&curves[i]);
	free(curves);
}

/* Of all jobs, before anything is printed; "(others)" has none. */
static int load(sqlite3 *db, const struct model *m, struct job_curve **ret, char *err,
		size_t errlen)
{
	struct job_curve *curves = calloc(m->nr_jobs + 1, sizeof(*curves));
	struct errtext why = {0};

	if (!curves) {
		snprintf(err, errlen, "out of memory.");
		return -ENOMEM;
	}
	for (size_t i = 0; i < m->nr_jobs; i++) {
		int r = model_others(&m->jobs[i])
				? 0
				: job_curve_load(db, m->jobs[i].id, &curves[i], &why);

		if (r < 0) {
			snprintf(err, errlen, "%s.", why.text);
			curves_free(curves, i);
			return r;
		}
	}
	*ret = curves;
	return 0;
}

static int print_text(const struct model *m, const struct job_curve *curves, FILE *out)
{
	struct doc d = doc_text(out);

	doc_begin(&d, "What if the cache had another size: run %" PRId64, m->run.id);
	for (size_t i = 0; i < m->nr_jobs; i++)
		if (!model_others(&m->jobs[i]))
			whatif_cache_text(&d, &m->jobs[i], &curves[i]);
	return doc_end(&d);
}

static void print_job(struct tree *t, const struct model_job *job, const struct job_curve *c)
{
	tree_object(t, NULL);
	tree_bytes(t, "name", job->name.data, job->name.len);
	tree_bytes(t, "selector", job->selector.data, job->selector.len);
	whatif_cache_json(t, c);
	tree_end(t);
}

static int print_json(const struct model *m, const struct job_curve *curves, FILE *out)
{
	struct tree t;
	int ret = tree_json_begin(&t, out);

	if (ret < 0)
		return ret;
	tree_object(&t, NULL);
	tree_int(&t, "schema", 1);
	tree_string(&t, "cachemon", CACHEMON_VERSION);
	tree_string(&t, "whatif", "cache");
	tree_object(&t, "run");
	data_run_head(&t, &m->run);
	tree_end(&t);
	tree_array(&t, "jobs");
	for (size_t i = 0; i < m->nr_jobs; i++)
		if (!model_others(&m->jobs[i]))
			print_job(&t, &m->jobs[i], &curves[i]);
	tree_end(&t);
	tree_end(&t);
	return tree_finish(&t);
}

int whatif_cache(sqlite3 *db, const struct model *m, bool json, FILE *out, char *err, size_t errlen)
{
	struct job_curve *curves = NULL;
	int ret = load(db, m, &curves, err, errlen);

	if (ret < 0)
		return ret;
	ret = json ? print_json(m, curves, out) : print_text(m, curves, out);
	if (ret < 0)
		snprintf(err, errlen, "cannot write: %s.", strerror(-ret));
	curves_free(curves, m->nr_jobs);
	return ret;
}
