/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/whatif_readahead.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/whatif.h"
#include "report/data.h"

static void free_all(struct whatif_readahead *all, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		whatif_readahead_free(&all[i]);
	free(all);
}

/* Of all jobs, before anything is printed; "(others)" has none. */
static int load(sqlite3 *db, const struct model *m, struct whatif_readahead **ret, char *err,
		size_t errlen)
{
	struct whatif_readahead *all = calloc(m->nr_jobs + 1, sizeof(*all));
	struct errtext why = {0};

	if (!all) {
		snprintf(err, errlen, "out of memory.");
		return -ENOMEM;
	}
	for (size_t i = 0; i < m->nr_jobs; i++) {
		int r = 0;

		if (!model_others(&m->jobs[i]))
			r = whatif_readahead_load(db, m->jobs[i].id, &all[i], &why);
		if (r < 0) {
			snprintf(err, errlen, "%s.", why.text);
			free_all(all, i);
			return r;
		}
	}
	*ret = all;
	return 0;
}

static int print_text(const struct model *m, const struct whatif_readahead *all, FILE *out)
{
	struct doc d = doc_text(out);

	doc_begin(&d, "What if readahead had other settings: run %" PRId64, m->run.id);
	for (size_t i = 0; i < m->nr_jobs; i++)
		if (!model_others(&m->jobs[i]))
			whatif_readahead_text(&d, &m->jobs[i], &all[i],
					      m->run.page_size_bytes.value);
	return doc_end(&d);
}

static int print_json(const struct model *m, const struct whatif_readahead *all, FILE *out)
{
	struct tree t;
	int ret = tree_json_begin(&t, out);

	if (ret < 0)
		return ret;
	tree_object(&t, NULL);
	tree_int(&t, "schema", 1);
	tree_string(&t, "cachemon", CACHEMON_VERSION);
	tree_string(&t, "whatif", "readahead");
	tree_object(&t, "run");
	data_run_head(&t, &m->run);
	tree_end(&t);
	tree_array(&t, "jobs");
	for (size_t i = 0; i < m->nr_jobs; i++) {
		const struct model_job *job = &m->jobs[i];

		if (model_others(job))
			continue;
		tree_object(&t, NULL);
		tree_bytes(&t, "name", job->name.data, job->name.len);
		tree_bytes(&t, "selector", job->selector.data, job->selector.len);
		whatif_readahead_json(&t, &all[i], m->run.page_size_bytes.value);
		tree_end(&t);
	}
	tree_end(&t);
	tree_end(&t);
	return tree_finish(&t);
}

int whatif_readahead(sqlite3 *db, const struct model *m, bool json, FILE *out, char *err,
		     size_t errlen)
{
	struct whatif_readahead *all = NULL;
	int ret = load(db, m, &all, err, errlen);

	if (ret < 0)
		return ret;
	ret = json ? print_json(m, all, out) : print_text(m, all, out);
	if (ret < 0)
		snprintf(err, errlen, "cannot write: %s.", strerror(-ret));
	free_all(all, m->nr_jobs);
	return ret;
}
