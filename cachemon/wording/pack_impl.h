/* SPDX-License-Identifier: BSD-2-Clause */
/* A pack while it is filled, shared by the files that choose its contents. Room is limited; what
 * does not fit is left out, last things first. */
#ifndef WORDING_PACK_IMPL_H
#define WORDING_PACK_IMPL_H

#include "advisor/analysis/analysis.h"
#include "cachemon/wording/pack_model.h"

enum { PACK_EVIDENCE_MAX = 320, PACK_FACTS_MAX = 24 };

/* See the table in pack_model.c. */
struct pack_bounds {
	size_t findings, evidence_each, of_job, of_models, of_series, notes, summary_bytes;
};

struct packer {
	const struct pack_source *from;
	const struct model_job *job;
	const struct analysis_job *a; /* NULL: no result */
	const struct pack_bounds *bounds;
	struct pack *p;
};

/* Adds a figure, with a key and the text to show; its names become aliases. */
void packer_add(struct packer *k, const struct pack_evidence *e);
void packer_count(struct packer *k, const char *metric, struct opt_i64 v, const char *unit,
		  const char *scope, const char *quality);
void packer_real(struct packer *k, const char *metric, struct opt_f64 v, const char *unit,
		 const char *scope, const char *quality);
/* A text in the pack's arena; "" if out of memory, which the arena notes. */
#define packer_format(k, ...) (arena_print(&(k)->p->arena, __VA_ARGS__) ?: "")
/* A text with aliases, of at most this many bytes (0: unlimited), cut between words. */
const char *packer_text(struct packer *k, const char *text, size_t max_bytes);
#define packer_fact(k, ...) packer_put_fact(k, packer_format(k, __VA_ARGS__))
void packer_put_fact(struct packer *k, const char *text);

/* The parts. */
void pack_facts(struct packer *k);
void pack_of_job(struct packer *k);
void pack_of_models(struct packer *k);
void pack_of_series(struct packer *k);
void pack_findings(struct packer *k);
int pack_notes(struct packer *k, struct errtext *err);

/* The form of a value for people: "81.2 %", "28,864 pages", "at most 7.64 ms". */
const char *pack_shown(struct packer *k, const struct pack_evidence *e);

#endif
