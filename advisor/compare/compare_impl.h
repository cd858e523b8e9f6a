/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by the comparison of two runs (compare.c) and that of several a side (compare_groups.c):
 * what a figure is, what matters, and the verdict. The functions are in compare.c.
 */
#ifndef COMPARE_IMPL_H
#define COMPARE_IMPL_H

#include "advisor/compare/compare.h"

size_t compare_nr_metrics(void);
/* The first one that measures what all of these runs did. */
enum compare_work compare_choose_work(const struct compare_run *runs, size_t nr,
				      enum compare_per per);
double compare_total_work(const struct compare_run *run, enum compare_work work);
/* In seconds, as its intervals have it. */
double compare_duration(const struct compare_run *run);
/* From num / den to the metric's unit. */
double compare_scale(const struct compare_result *r, const struct compare_metric *m);
/* false: the ratio is none, or too much of it is not known. */
bool compare_is_figure(const struct compare_run *run, const struct compare_metric *m, double ratio);
/* The least difference that matters. */
double compare_relevant(const struct compare_result *r, const struct compare_row *row,
			double page_bytes);
/* Of stalls, when the rows have their values. */
void compare_relate_to_time(struct compare_result *r);
/* The outcome by p_adjusted, the difference and what is relevant. */
void compare_judge_row(struct compare_row *row);
void compare_give_verdict(struct compare_result *r);

#endif
