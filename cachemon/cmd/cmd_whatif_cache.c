/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/whatif/whatif_cache.h"

#include "cachemon/cmd/cmd_whatif.h"

static int load(sqlite3 *db, int64_t job_id, void *answer, struct errtext *err)
{
	return job_curve_load(db, job_id, answer, err);
}

static void forget(void *answer)
{
	job_curve_free(answer);
}

static void json(struct tree *t, const struct model_run *run, const void *answer)
{
	whatif_cache_json(t, answer);
}

static void text(struct doc *d, const struct model_run *run, const struct model_job *job,
		 const void *answer)
{
	whatif_cache_text(d, job, answer);
}

const struct whatif_kind *whatif_cache(void)
{
	static const struct whatif_kind kind = {
		.name = "cache",
		.title = "What if the cache had another size",
		.answer_size = sizeof(struct job_curve),
		.load = load,
		.free = forget,
		.json = json,
		.text = text,
	};

	return &kind;
}
