/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/compare/compare_pictures.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *compare_text(struct arena *a, const char *fmt, ...)
{
	char *text = NULL;
	const char *ret = NULL;
	va_list args;
	int len;

	va_start(args, fmt);
	len = vasprintf(&text, fmt, args);
	va_end(args);
	if (len < 0) {
		a->failed = true;
		return NULL;
	}
	ret = arena_bytes(a, text, (size_t)len).data;
	free(text);
	return ret;
}

const char *compare_id(struct arena *a, const char *name, size_t at)
{
	char letters[16];
	size_t n = sizeof(letters) - 1;

	letters[n] = '\0';
	if (!at)
		return compare_text(a, "%s", name);
	/* Letters, as ids have no digits: 1 is b, 25 is z, 26 is ba. */
	for (; at; at /= 26)
		letters[--n] = (char)('a' + at % 26);
	return compare_text(a, "%s-%s", name, letters + n);
}

/* 0: nothing is above 0. */
static double higher(double a, double b)
{
	double top = fmax(a, b);

	return top > 0 ? top : 0;
}

/* The panels are of the same kinds in the same order. */
static void share_panel(struct picture *a, struct picture *b, size_t at)
{
	struct picture_panel *pa = (struct picture_panel *)&a->panels[at];
	struct picture_panel *pb = (struct picture_panel *)&b->panels[at];

	pa->top = pb->top = higher(picture_top(pa, a->axis.nr), picture_top(pb, b->axis.nr));
	for (size_t i = 0; i < pa->nr_series; i++) {
		struct picture_series *sa = (struct picture_series *)&pa->series[i];
		struct picture_series *sb = (struct picture_series *)&pb->series[i];

		sa->top = sb->top = higher(picture_series_top(sa, a->axis.nr),
					   picture_series_top(sb, b->axis.nr));
	}
}

void compare_share_scales(struct picture *a, struct picture *b)
{
	if (!a->axis.nr || !b->axis.nr)
		return;
	if (a->axis.kind != AXIS_NAMES) {
		double end = fmax(picture_end(a), picture_end(b));

		a->axis.least = b->axis.least = 0;
		a->axis.most = b->axis.most = end;
	}
	for (size_t i = 0; i < a->nr_panels; i++)
		share_panel(a, b, i);
}

void compare_pictures_make(struct arena *a, const struct model model[2],
			   const struct model_job *const job[2], size_t at,
			   struct compare_pictures *ret)
{
	*ret = (struct compare_pictures){0};
	compare_time_make(a, job, at, ret->time);
	compare_windows_make(a, job, at, ret->windows);
	compare_reads_make(a, job, at, ret->reads);
	compare_curve_make(a, model, job, at, ret);
}
