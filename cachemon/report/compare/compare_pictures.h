/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The pictures of a comparison: the same pictures of both runs, on the same scales, and one picture
 * of both. Owns their choice and scaling; every format shows these.
 */
#ifndef COMPARE_PICTURES_H
#define COMPARE_PICTURES_H

#include "cachemon/model/model.h"
#include "cachemon/render/picture.h"

/* A picture without points is not shown; absent has the reason. */
struct compare_picture {
	struct picture picture;
	const char *absent;
};

/* [0] before, [1] after. */
struct compare_pictures {
	struct picture answer; /* of compare_answer_make(); the others of compare_pictures_make() */
	struct compare_picture time[2], windows[2], reads[2];
	struct compare_picture curve;
	const char *no_curve[2]; /* why a run has no line in it; NULL: it has one */
};

/* For a job that both models (before, after) have with detail and analysis. at: index of the
 * comparison, for names on a page. The arena notes a failed allocation. */
void compare_pictures_make(struct arena *a, const struct model *model,
			   const struct model_job *const job[2], size_t at,
			   struct compare_pictures *ret);

/* The pictures of time; in compare_time.c. */
void compare_time_make(struct arena *a, const struct model_job *const job[2], size_t at,
		       struct compare_picture ret[2]);

/* "time-before", for the second job "time-before-b": unique on a page. NULL: no memory. */
const char *compare_id(struct arena *a, const char *name, size_t at);
/* The larger of both, for both. */
void compare_share_scales(struct picture *a, struct picture *b);

#endif
