/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stores a question to a language model about an earlier run, with its answer, as a row of the
 * database. Owns this only way of writing to a database of an earlier recording.
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

/* Migrates an older database to the newest schema. 0, or -errno with a text; then nothing is
 * written. -EACCES, -EROFS: it is not writable. */
int store_put_wording(const struct store_config *c, const struct store_wording *w,
		      struct errtext *err);

#endif
