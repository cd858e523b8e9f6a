/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/series/epochs.h"

#include <stdlib.h>

/* The share of the first pass that another pass must read. */
#define PASS_SHARE 0.5
/* A last pass with at least this share counts too. */
#define LAST_SHARE 0.05
/* The share of a pass that may overlap with the previous or the next pass. */
#define OUT_OF_ORDER 0.05
/* If whole files are read one after the other, the unread rest of begun files stays below this
 * share of a pass. If files are read in many pieces, the order of the pieces is unknown, and
 * random reads would look like passes. */
#define BEGUN_SHARE 0.5

static const char once[] = "the job read its files only once, or more than twice per interval, or "
			   "later passes were not observed";

/* The number of passes, from what was read in each. */
static size_t count_passes(const double *amounts)
{
	size_t passes = 1;

	while (passes < EPOCHS_MAX && amounts[passes + 1] >= PASS_SHARE * amounts[1])
		passes++;
	if (passes >= 2 && passes < EPOCHS_MAX && amounts[passes + 1] > LAST_SHARE * amounts[1])
		passes++;
	return passes;
}

/* The largest unread rest of begun files after any interval. */
static double begun_rest(const struct epochs_row *rows, size_t nr, size_t pass)
{
	double rest = 0, most = 0;

	for (size_t i = 0; i < nr; i++) {
		if (rows[i].pass != pass)
			continue;
		rest += rows[i].whole - rows[i].amount;
		most = rest > most ? rest : most;
	}
	return most;
}

static const char *find_edge(const struct epochs_row *rows, size_t nr, bool in_order, size_t pass,
			     const double *amounts, size_t *ret_first)
{
	double begun = 0, late = 0, ends = 0, begins = 0;
	size_t i = 0, at;

	if (!in_order && begun_rest(rows, nr, pass + 1) > BEGUN_SHARE * amounts[1])
		return "the files were read in pieces, and the order of the pieces is not recorded";
	for (; i < nr; i++) {
		begun += rows[i].pass == pass + 1 ? rows[i].amount : 0;
		if (begun > OUT_OF_ORDER * amounts[pass + 1])
			break;
	}
	if (i == nr)
		return once;
	at = rows[i].interval;
	for (i = 0; i < nr; i++) {
		if (rows[i].pass <= pass && rows[i].interval > at)
			late += rows[i].amount;
		if (rows[i].interval == at && rows[i].pass == pass)
			ends += rows[i].amount;
		if (rows[i].interval == at && rows[i].pass == pass + 1)
			begins += rows[i].amount;
	}
	if (late > OUT_OF_ORDER * amounts[1])
		return "some files were read again before all others had been read";
	*ret_first = begins > ends ? at : at + 1;
	return NULL;
}

static const char *find_edges(const struct epochs_row *rows, size_t nr, bool in_order,
			      const double *amounts, size_t passes, size_t *ret_first)
{
	for (size_t pass = 1; pass < passes; pass++) {
		const char *why =
			find_edge(rows, nr, in_order, pass, amounts, &ret_first[pass - 1]);

		if (why)
			return why;
		if (ret_first[pass - 1] <= (pass > 1 ? ret_first[pass - 2] : 0))
			return "the intervals are too long: one contains more than one pass";
	}
	return NULL;
}

const char *epochs_find(const struct epochs_row *rows, size_t nr, bool in_order, size_t *ret_passes,
			size_t ret_first[EPOCHS_MAX])
{
	double *amounts = calloc(EPOCHS_MAX + 2, sizeof(*amounts));
	const char *why;

	*ret_passes = 0;
	if (!amounts)
		return "out of memory";
	for (size_t i = 0; i < nr; i++) {
		if (rows[i].pass <= EPOCHS_MAX)
			amounts[rows[i].pass] += rows[i].amount;
	}
	*ret_passes = count_passes(amounts);
	if (!(amounts[1] > 0) || *ret_passes < 2)
		why = once;
	else
		why = find_edges(rows, nr, in_order, amounts, *ret_passes, ret_first);
	free(amounts);
	return why;
}
