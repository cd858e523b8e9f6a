/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/whatif_cache.h"

#include "cmd/whatif.h"

void curve_marks(const struct job_curve *c, struct curve_mark ret[CURVE_MARKS])
{
	ret[0] = (struct curve_mark){'P', "present", "the job's pages in the cache, at most",
				     c->facts.counted.present_pages};
	ret[1] = (struct curve_mark){'L', "limit", "the limit of its memory cgroup",
				     c->facts.limit_pages};
	ret[2] = (struct curve_mark){'R', "memory", "the machine's memory", c->facts.memory_pages};
}

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
