/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by the comparison of two runs (compare.c) and of several runs per side (compare_groups.c):
 * figures, relevance, and the verdict. The functions are in compare.c.
 */
#ifndef COMPARE_IMPL_H
#define COMPARE_IMPL_H

#include "advisor/compare/compare.h"

size_t compare_nr_metrics(void);
/* The first unit of work that fits all of these runs. */
enum compare_work compare_choose_work(const struct compare_run *runs, size_t nr,
				      enum compare_per per);
double compare_total_work(const struct compare_run *run, enum compare_work work);
/* In seconds, by its intervals. */
double compare_duration(const struct compare_run *run);
/* From num / den to the metric's unit. */
double compare_scale(const struct compare_result *r, const struct compare_metric *m);
/* false: the ratio is undefined, or too much of it is unknown. */
bool compare_is_figure(const struct compare_run *run, const struct compare_metric *m, double ratio);
/* The smallest difference that matters. */
double compare_relevant(const struct compare_result *r, const struct compare_row *row,
			double page_bytes);
/* The same for stalls; the rows must have their values. */
void compare_relate_to_time(struct compare_result *r);
/* The outcome from p_adjusted, the difference and its relevance. */
void compare_judge_row(struct compare_row *row);
void compare_give_verdict(struct compare_result *r);

#endif
