/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What other settings of readahead would have brought, as people and programs read it. Owns the
 * JSON object and the words of 'whatif readahead'.
 */
#ifndef CMD_WHATIF_READAHEAD_H
#define CMD_WHATIF_READAHEAD_H

#include "advisor/whatif_readahead.h"
#include "report/doc.h"
#include "report/model.h"
#include "report/tree.h"

/* Inside an open object. */
void whatif_readahead_json(struct tree *t, const struct whatif_readahead *w,
			   int64_t page_size_bytes);
/* A job's part of the document. */
void whatif_readahead_text(struct doc *d, const struct model_job *job,
			   const struct whatif_readahead *w, int64_t page_size_bytes);

#endif
