/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Histograms by size, of readahead windows and of read calls: what their bars are called, what is
 * in them, and what is said of them, for every picture of one run or of two.
 */
#ifndef REPORT_SIZES_H
#define REPORT_SIZES_H

#include "cachemon/model/model_detail.h"
#include "cachemon/base/human.h"

enum { WINDOW_SIZES = C_window_log2_15 - C_window_log2_0 + 1 };

/* "4 to 7" */
struct human sizes_window_name(int i);
/* The fewest bytes that a call of the bar asked for. */
struct human sizes_read_name(int i);
/* false: they were not measured. */
bool sizes_windows(const struct counts *c, double ret[WINDOW_SIZES]);
const char *sizes_windows_mark(const struct counts *c);
/* Of the files that were traced. */
void sizes_reads(const struct model_detail *d, double ret[READ_SIZES]);
void sizes_say_reads(const struct model_advice_calls *files, char *says, size_t size);
/* Of all that was counted of the calls to these files. */
const char *sizes_calls_mark(const struct model_advice_calls *files);

#endif
