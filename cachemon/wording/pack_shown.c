/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/figures/show.h"
#include "cachemon/wording/pack_impl.h"

static bool whole(const char *value)
{
	size_t digits = strspn(value, "0123456789");

	return digits && digits < 19 && !value[digits];
}

/* Whole numbers keep every digit, and large ones their whole part; others four. */
static struct shown number(const char *value)
{
	double v = strtod(value, NULL);
	struct shown ret = {0};

	if (whole(value))
		return show_count((struct opt_i64){strtoll(value, NULL, 10), true}, false);
	if (fabs(v) >= 1000 && fabs(v) < 9e15)
		return show_count((struct opt_i64){llround(v), true}, false);
	snprintf(ret.s, sizeof(ret.s), "%.4g", v);
	return ret;
}

static struct opt_i64 scaled(const char *value, double factor)
{
	double v = strtod(value, NULL) * factor;
	struct opt_i64 ret = {.known = v >= 0 && v < 9e18};

	if (ret.known)
		ret.value = (int64_t)(v + 0.5);
	return ret;
}

/* How much of a unit in the plural its singular is: "page" of "pages", "process" of "processes". */
static size_t singular(const char *unit)
{
	size_t len = strlen(unit);

	if (len > 4 && strcmp(unit + len - 4, "sses") == 0)
		return len - 2;
	return len > 2 && unit[len - 1] == 's' ? len - 1 : len;
}

static struct shown with_unit(const struct pack_figure *f)
{
	struct shown n = number(f->value);
	size_t len = strcmp(f->value, "1") ? strlen(f->unit) : singular(f->unit);
	struct shown ret = {0};

	snprintf(ret.s, sizeof(ret.s), "%.30s%s%.*s", n.s, *f->unit ? " " : "",
		 (int)(len < 14 ? len : 14), f->unit);
	return ret;
}

static struct shown of_unit(const struct pack_figure *f)
{
	static const struct shown no = {.s = "no"};
	static const struct shown yes = {.s = "yes"};
	static const struct {
		const char *unit;
		double to_ns, to_bytes;
	} scales[] = {
		{"ns", 1, 0}, {"s", 1e9, 0}, {"bytes", 0, 1}, {"KiB", 0, 1024}, {"kb", 0, 1024},
	};

	if (strcmp(f->unit, "ratio") == 0)
		return show_ratio((struct opt_f64){strtod(f->value, NULL), true}, false);
	if (strcmp(f->unit, "flag") == 0)
		return strcmp(f->value, "0") == 0 ? no : yes;
	for (size_t i = 0; i < sizeof(scales) / sizeof(scales[0]); i++) {
		if (strcmp(f->unit, scales[i].unit) != 0)
			continue;
		return scales[i].to_ns ? show_ns(scaled(f->value, scales[i].to_ns))
				       : show_bytes(scaled(f->value, scales[i].to_bytes), false);
	}
	return with_unit(f);
}

/* "1.2 MiB/s": the amount, and what it is of. */
static struct shown of_rate(const struct pack_figure *f)
{
	size_t len = strlen(f->unit);
	struct shown ret = {0};
	struct shown s;
	char unit[24];

	if (len < 3 || len >= sizeof(unit) || strcmp(f->unit + len - 2, "/s") != 0)
		return of_unit(f);
	snprintf(unit, sizeof(unit), "%.*s", (int)len - 2, f->unit);
	s = of_unit(&(struct pack_figure){.value = f->value, .unit = unit});
	snprintf(ret.s, sizeof(ret.s), "%.44s/s", s.s);
	return strcmp(s.s, "-") == 0 ? s : ret;
}

/* What a sentence must not lose of a figure. */
static const char *before(const char *quality)
{
	static const char *const words[][2] = {
		{"at most", "at most "},
		{"at least", "at least "},
		{"estimated", "about "},
	};

	for (size_t i = 0; quality && i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(quality, words[i][0]) == 0)
			return words[i][1];
	return "";
}

const char *pack_shown(struct arena *a, const struct pack_figure *f)
{
	char text[sizeof(((struct shown *)0)->s) + 16];
	struct shown s;

	if (!f->value)
		return "not measured";
	if (f->is_text)
		return arena_bytes(a, f->value, strlen(f->value)).data;
	s = of_rate(f);
	/* Less than nothing, or more than fits: as it is. */
	if (strcmp(s.s, "-") == 0)
		s = with_unit(f);
	snprintf(text, sizeof(text), "%s%s", before(f->quality), s.s);
	return arena_bytes(a, text, strlen(text)).data;
}
