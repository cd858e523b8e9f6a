/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Facts that are known only after a run has ended: the first statements of its report, and the
 * questions to a language model about it. Owns the only way of writing to a database that another
 * process recorded.
 */
#ifndef STORE_WORDING_H
#define STORE_WORDING_H

#include "cachemon/store/store.h"
#include "cachemon/base/optional.h"

struct store_wording {
	int64_t run_id, job_id, asked_ns, attempts, duration_ns, kept, dropped;
	const char *question; /* NULL: none */
	const char *prompt_sha256, *api, *host, *model, *outcome;
	const char *reason; /* NULL: answered */
	struct opt_i64 tokens_in, tokens_out;
	bool redacted;
	const char *answer; /* JSON */
};

/* The first statements of a job's report. */
struct store_head {
	int64_t job_id;
	const char *answer;
	const char *grade; /* overall; NULL: none */
	struct opt_f64 score;
	const char *finding, *title; /* of the first one; NULL: no finding */
};

/* Brings the database to the newest schema where it is older. 0, or -errno with a text; nothing is
 * written then. -EACCES, -EROFS: it cannot be written. */
int store_put_wording(const struct store_config *c, const struct store_wording *w,
		      struct errtext *err);
/* Stores the head of one job, in the same way. */
int store_put_head(const struct store_config *c, const struct store_head *h, struct errtext *err);

#endif
