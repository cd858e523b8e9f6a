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
#include "cachemon/db/job_head.h"

struct store_wording {
	int64_t run_id, job_id, asked_ns, attempts, duration_ns, kept, dropped;
	const char *question; /* NULL: none */
	const char *prompt_sha256, *api, *host, *model, *outcome;
	const char *reason; /* NULL: answered */
	struct opt_i64 tokens_in, tokens_out;
	bool redacted;
	const char *answer; /* JSON */
};

/* Brings the database to the newest schema where it is older. 0, or -errno with a text; nothing is
 * written then. -EACCES, -EROFS: it cannot be written. */
int store_put_wording(const struct store_config *c, const struct store_wording *w,
		      struct errtext *err);
/* The same, of the heads of a run's jobs. */
int store_put_heads(const struct store_config *c, const struct job_head *heads, size_t nr,
		    struct errtext *err);

#endif
