/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/model/sizes.h"

#include <stdio.h>

#include "cachemon/figures/show.h"

struct human sizes_window_name(int i)
{
	struct human ret = {.text = "1"};

	if (i == WINDOW_SIZES - 1)
		snprintf(ret.text, sizeof(ret.text), "%ld and more", 1L << i);
	else if (i > 0)
		snprintf(ret.text, sizeof(ret.text), "%ld to %ld", 1L << i, (2L << i) - 1);
	return ret;
}

struct human sizes_read_name(int i)
{
	return human_bytes(i ? UINT64_C(1) << (i - 1) : 0);
}

bool sizes_windows(const struct counts *c, double ret[WINDOW_SIZES])
{
	for (int i = 0; i < WINDOW_SIZES; i++) {
		struct opt_i64 n = counts_get(c, C_window_log2_0 + (enum counter)i);

		if (!n.known)
			return false;
		ret[i] = (double)n.value;
	}
	return true;
}

const char *sizes_windows_mark(const struct counts *c)
{
	return counts_lower_bound(c, C_window_log2_0) ? MARK_LEAST : NULL;
}

void sizes_reads(const struct model_detail *d, double ret[READ_SIZES])
{
	for (int i = 0; i < READ_SIZES; i++)
		ret[i] = (double)d->reads[i];
}

void sizes_say_reads(const struct model_advice_calls *files, char *says, size_t size)
{
	const struct opt_i64 nr = {files->files, true};
	const struct opt_i64 incomplete = {files->incomplete, true};
	int n = nr.value == 1 ? snprintf(says, size, "%s to the file that was traced",
					 incomplete.value ? "Calls" : "All calls")
			      : snprintf(says, size, "%s to the %s files that were traced",
					 incomplete.value ? "Calls" : "All calls",
					 show_count(nr, false).s);

	if (incomplete.value)
		n += snprintf(says + n, size - (size_t)n,
			      "; of %s%s not all are known, so that there may have been more",
			      nr.value == 1 ? "it" : show_count(incomplete, false).s,
			      nr.value == 1 ? "" : " of them");
	snprintf(says + n, size - (size_t)n, "; each bar reaches to the next one's bytes.");
}

const char *sizes_calls_mark(const struct model_advice_calls *files)
{
	return files->incomplete ? MARK_LEAST : NULL;
}
