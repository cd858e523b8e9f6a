/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <string.h>

#include "advisor/llm/quantity.h"

#define KI 1024.0
#define MI (KI * KI)
#define GI (MI * KI)
#define TI (GI * KI)

/* How a word is to be written. */
enum spelling { AS_IS, ANY_CASE, GLUED };

/* Kernel and tools call KiB "kB"; larger units are what they say. */
static const struct {
	const char *word;
	enum spelling spelling;
	enum dimension dim;
	double scale, other_scale;
} units[] = {
	{"B", AS_IS, DIM_BYTES, 1, 0},
	{"byte", ANY_CASE, DIM_BYTES, 1, 0},
	{"kB", AS_IS, DIM_BYTES, 1e3, KI},
	{"KB", AS_IS, DIM_BYTES, 1e3, KI},
	{"kb", AS_IS, DIM_BYTES, 1e3, KI},
	{"KiB", AS_IS, DIM_BYTES, KI, 0},
	{"kilobyte", ANY_CASE, DIM_BYTES, 1e3, KI},
	{"kibibyte", ANY_CASE, DIM_BYTES, KI, 0},
	{"MB", AS_IS, DIM_BYTES, 1e6, 0},
	{"MiB", AS_IS, DIM_BYTES, MI, 0},
	{"megabyte", ANY_CASE, DIM_BYTES, 1e6, 0},
	{"mebibyte", ANY_CASE, DIM_BYTES, MI, 0},
	{"GB", AS_IS, DIM_BYTES, 1e9, 0},
	{"GiB", AS_IS, DIM_BYTES, GI, 0},
	{"gigabyte", ANY_CASE, DIM_BYTES, 1e9, 0},
	{"gibibyte", ANY_CASE, DIM_BYTES, GI, 0},
	{"TB", AS_IS, DIM_BYTES, 1e12, 0},
	{"TiB", AS_IS, DIM_BYTES, TI, 0},
	{"terabyte", ANY_CASE, DIM_BYTES, 1e12, 0},
	{"tebibyte", ANY_CASE, DIM_BYTES, TI, 0},
	{"k", GLUED, DIM_BYTES, 1e3, KI},
	{"K", GLUED, DIM_BYTES, 1e3, KI},
	{"M", GLUED, DIM_BYTES, 1e6, MI},
	{"G", GLUED, DIM_BYTES, 1e9, GI},
	{"T", GLUED, DIM_BYTES, 1e12, TI},
	{"ns", AS_IS, DIM_TIME, 1e-9, 0},
	{"nanosecond", ANY_CASE, DIM_TIME, 1e-9, 0},
	{"us", AS_IS, DIM_TIME, 1e-6, 0},
	{"microsecond", ANY_CASE, DIM_TIME, 1e-6, 0},
	{"ms", AS_IS, DIM_TIME, 1e-3, 0},
	{"msec", ANY_CASE, DIM_TIME, 1e-3, 0},
	{"millisecond", ANY_CASE, DIM_TIME, 1e-3, 0},
	{"s", AS_IS, DIM_TIME, 1, 0},
	{"sec", ANY_CASE, DIM_TIME, 1, 0},
	{"second", ANY_CASE, DIM_TIME, 1, 0},
	{"min", ANY_CASE, DIM_TIME, 60, 0},
	{"minute", ANY_CASE, DIM_TIME, 60, 0},
	{"h", AS_IS, DIM_TIME, 3600, 0},
	{"hr", ANY_CASE, DIM_TIME, 3600, 0},
	{"hour", ANY_CASE, DIM_TIME, 3600, 0},
	{"day", ANY_CASE, DIM_TIME, 86400, 0},
	{"week", ANY_CASE, DIM_TIME, 7 * 86400.0, 0},
	{"%", AS_IS, DIM_RATIO, 0.01, 0},
	{"percent", ANY_CASE, DIM_RATIO, 0.01, 0},
	{"per cent", ANY_CASE, DIM_RATIO, 0.01, 0},
	{"pct", ANY_CASE, DIM_RATIO, 0.01, 0},
	{"percentage point", ANY_CASE, DIM_RATIO, 0.01, 0},
	{"x", GLUED, DIM_TIMES, 1, 0},
	{"X", GLUED, DIM_TIMES, 1, 0},
	{"fold", ANY_CASE, DIM_TIMES, 1, 0},
	{"times", ANY_CASE, DIM_TIMES, 1, 0},
	{"page", ANY_CASE, DIM_PAGES, 1, 0},
	{"sector", ANY_CASE, DIM_OTHER, 1, 0},
	{"block", ANY_CASE, DIM_OTHER, 1, 0},
	{"folio", ANY_CASE, DIM_OTHER, 1, 0},
	{"bit", ANY_CASE, DIM_OTHER, 1, 0},
	{"kbit", ANY_CASE, DIM_OTHER, 1, 0},
	{"Mbit", ANY_CASE, DIM_OTHER, 1, 0},
	{"Gbit", ANY_CASE, DIM_OTHER, 1, 0},
	{"IOPS", ANY_CASE, DIM_OTHER, 1, 0},
	{"Hz", ANY_CASE, DIM_OTHER, 1, 0},
	{"MHz", ANY_CASE, DIM_OTHER, 1, 0},
	{"GHz", ANY_CASE, DIM_OTHER, 1, 0},
	{"degree", ANY_CASE, DIM_OTHER, 1, 0},
	{"dollar", ANY_CASE, DIM_OTHER, 1, 0},
	{"euro", ANY_CASE, DIM_OTHER, 1, 0},
	{"year", ANY_CASE, DIM_OTHER, 1, 0},
	{"month", ANY_CASE, DIM_OTHER, 1, 0},
};

enum { NR_UNITS = sizeof(units) / sizeof(units[0]), WORDS_BEFORE_PER = 3 };

static bool is_word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* How much of text the unit's word is, its plural too; 0: another word stands there. */
static size_t word_at(size_t i, const char *text)
{
	size_t n = strlen(units[i].word);
	bool same = units[i].spelling == ANY_CASE ? strncasecmp(text, units[i].word, n) == 0
						  : strncmp(text, units[i].word, n) == 0;

	if (!same)
		return 0;
	if (units[i].spelling == ANY_CASE && (text[n] == 's' || text[n] == 'S'))
		n++;
	return *units[i].word != '%' && is_word_char(text[n]) ? 0 : n;
}

/* "/s", " per second", of a unit; 0: it is no rate, per something else: that is no unit of ours. */
static size_t rate_at(const char *text, bool *ret_foreign)
{
	static const char *const rates[] = {"/second",	    "/sec",	 "/s",
					    " per second",  " a second", " each second",
					    " every second"};

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		size_t n = strlen(rates[i]);

		if (strncasecmp(text, rates[i], n) == 0 && !is_word_char(text[n]))
			return n;
	}
	*ret_foreign = (*text == '/' && isalpha((unsigned char)text[1])) ||
		       strncasecmp(text, " per ", 5) == 0;
	return 0;
}

bool unit_rate_behind(const char *text, struct unit *u)
{
	for (int words = 0; words <= WORDS_BEFORE_PER; words++) {
		bool foreign = false;

		if (strncasecmp(text, " per ", 5) == 0) {
			u->per_second = rate_at(text, &foreign) > 0;
			if (foreign)
				u->dim = DIM_OTHER;
			return true;
		}
		if (*text != ' ' || !isalpha((unsigned char)text[1]))
			return false;
		for (text++; is_word_char(*text) || *text == '-';)
			text++;
	}
	return false;
}

size_t unit_parse(const char *text, bool glued, struct unit *ret)
{
	size_t best = 0, used, rate;
	bool foreign = false;

	for (size_t i = 0; i < NR_UNITS; i++) {
		used = units[i].spelling != GLUED || glued ? word_at(i, text) : 0;
		if (used <= best)
			continue;
		best = used;
		*ret = (struct unit){units[i].dim, units[i].scale, units[i].other_scale,
				     false,	   text,	   used};
	}
	if (!best)
		return 0;
	rate = rate_at(text + best, &foreign);
	ret->per_second = rate > 0;
	if (foreign)
		ret->dim = DIM_OTHER;
	return best + rate;
}

/* Others than those of the table are counts of what their name says. */
struct unit unit_of_figure(const char *name)
{
	struct unit u = {DIM_NONE, 1, 0, false, name, strcspn(name, "/")};
	bool rate = strcmp(name + u.len, "/s") == 0;

	if (!strcmp(name, "kb"))
		u = (struct unit){DIM_BYTES, KI, 0, false, name, u.len};
	else if (!strncmp(name, "ratio", u.len) && u.len == 5)
		u = (struct unit){DIM_RATIO, 1, 0, false, name, u.len};
	else if (u.len && strncmp(name, "count", u.len) != 0 && !unit_parse(name, false, &u))
		u.dim = DIM_OTHER;
	u.per_second = rate;
	return u;
}
