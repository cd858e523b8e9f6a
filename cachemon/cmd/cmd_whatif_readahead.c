/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/whatif/whatif_readahead_show.h"

#include "cachemon/cmd/cmd_whatif.h"

static int load(sqlite3 *db, int64_t job_id, void *answer, struct errtext *err)
{
	return whatif_readahead_load(db, job_id, answer, err);
}

static void forget(void *answer)
{
	whatif_readahead_free(answer);
}

static void json(struct tree *t, const struct model_run *run, const void *answer)
{
	whatif_readahead_json(t, answer, run->page_size_bytes.value);
}

static void text(struct doc *d, const struct model_run *run, const struct model_job *job,
		 const void *answer)
{
	whatif_readahead_text(d, job, answer, run->page_size_bytes.value);
}

const struct whatif_kind *whatif_readahead(void)
{
	static const struct whatif_kind kind = {
		.name = "readahead",
		.title = "What if readahead had other settings",
		.answer_size = sizeof(struct whatif_readahead),
		.load = load,
		.free = forget,
		.json = json,
		.text = text,
	};

	return &kind;
}
