/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From a report's model of a job to what a language model is told of it. Owns the choice: which
 * figures, in which order, and how many of them when room is short. Names become aliases here.
 */
#ifndef WORDING_PACK_MODEL_H
#define WORDING_PACK_MODEL_H

#include "advisor/llm/kb.h"
#include "advisor/llm/pack.h"
#include "advisor/llm/redact.h"
#include "cachemon/model/model.h"

struct pack_source {
	const struct model *model;
	const struct model_job *job;
	struct redact *names;
	struct kb *kb;	      /* NULL: no notes */
	const char *question; /* NULL: none */
};

/* How much is told: row 0 is all, each further one less. */
enum { PACK_ROWS = 6 };

/* 0 or -errno with a text. Free with pack_free(), also what failed. */
int pack_model(const struct pack_source *from, unsigned int row, struct pack *ret,
	       struct errtext *err);
void pack_free(struct pack *p);

/* Remembers all names that the model knows, of other jobs too. 0 or -ENOMEM. */
int pack_names(struct redact *names, const struct model *m);

#endif
