/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The effect of other readahead settings, for people and programs. Owns the JSON object
 * (whatif_readahead_json.c), the words of 'whatif readahead' and the pictures
 * (whatif_readahead_text.c).
 */
#ifndef WHATIF_READAHEAD_SHOW_H
#define WHATIF_READAHEAD_SHOW_H

#include "advisor/readahead/whatif_readahead.h"
#include "cachemon/render/doc.h"
#include "cachemon/model/model.h"
#include "cachemon/render/tree.h"

/* Inside an open object. */
void whatif_readahead_json(struct tree *t, const struct whatif_readahead *w,
			   int64_t page_size_bytes);
/* A job's part of the document. */
void whatif_readahead_text(struct doc *d, const struct model_job *job,
			   const struct whatif_readahead *w, int64_t page_size_bytes);
/* The settings side by side, as pictures of a document: of files that are read, and of mapped ones.
 */
void whatif_readahead_picture(struct doc *d, const struct whatif_readahead *w);

#endif
