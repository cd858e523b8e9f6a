/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Turns a report's model of a job into the data for a language model. Owns the choice: which
 * figures, in which order, and how many if room is short. Names become aliases here.
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

/* The amount of data: row 0 is everything, each further row is less. */
enum { PACK_ROWS = 6 };

/* 0 or -errno with a text. Call pack_free() after an error too. */
int pack_model(const struct pack_source *from, unsigned int row, struct pack *ret,
	       struct errtext *err);
void pack_free(struct pack *p);

/* Remembers all names in the model, other jobs' included. */
void pack_names(struct redact *names, const struct model *m);

#endif
