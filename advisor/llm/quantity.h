/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A number of a text with its unit, and whether it is that of another figure, as far as its digits
 * say. Owns numbers in digits and the units; words.h has numbers in words. Pure.
 */
#ifndef LLM_QUANTITY_H
#define LLM_QUANTITY_H

#include <stdbool.h>
#include <stddef.h>

enum dimension {
	DIM_NONE,  /* a count, or nothing said */
	DIM_BYTES, /* in bytes */
	DIM_TIME,  /* in seconds */
	DIM_RATIO, /* 1 is the whole */
	DIM_TIMES, /* "3 times": a ratio, or a count */
	DIM_PAGES, /* never bytes: pages differ */
	DIM_OTHER, /* by the unit's word alone */
};

/* What a word may say: "kB" is 1000 bytes for some and 1024 for others. */
struct unit {
	enum dimension dim;
	double scale, other_scale; /* of the second reading; 0: there is none */
	bool per_second;
	const char *word; /* as it stands; DIM_OTHER is told apart by it */
	size_t len;
};

struct quantity {
	double value;	 /* as written, with what multiplies it */
	double step;	 /* what one more in the last digit would be */
	int significant; /* digits from the first that is not 0 */
	struct unit unit;
};

/*
 * The number that begins at text, and its unit, glued to it, behind a blank or a hyphen. before is
 * the character in front, '\0' at the beginning of a text. How much of the text it is; 0: no
 * number, or one that goes on in a way that is none ("1.2.3", "0x1f", "4abc").
 */
size_t quantity_parse(const char *text, char before, struct quantity *ret);
/* The unit at text; 0: there is none. glued: of a number, where "k" and "M" are units too. */
size_t unit_parse(const char *text, bool glued, struct unit *ret);
/* "of data per second", within a few words behind a number: makes a rate of its unit, or, per
 * something else, one that is none of ours. Whether it is there. */
bool unit_rate_behind(const char *text, struct unit *u);
/* The unit of a figure in a report, "kb" (KiB), "ratio", "pages/s". */
struct unit unit_of_figure(const char *name);
/* Whether the text says this figure: equal when rounded to as many digits as the text has, at least
 * two, or exactly. */
bool quantity_is(const struct quantity *said, double value, const struct unit *unit);
/* Whether both say the same. */
bool quantity_same(const struct quantity *said, const struct quantity *other);

#endif
