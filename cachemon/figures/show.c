/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/figures/show.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cachemon/base/human.h"

enum { NS_PER_S = 1000000000 };

static const struct shown absent = {.s = "-"};

static struct shown __attribute__((format(printf, 1, 2))) show_text(const char *fmt, ...)
{
	struct shown ret;
	va_list args;

	va_start(args, fmt);
	vsnprintf(ret.s, sizeof(ret.s), fmt, args);
	va_end(args);
	return ret;
}

struct shown show_count(struct opt_i64 v, bool estimated)
{
	if (!v.known)
		return absent;
	return show_text("%s%s", estimated ? "~" : "", human_exact(v.value).text);
}

struct shown show_marked(struct shown v, const char *mark)
{
	if (!mark || strcmp(v.s, absent.s) == 0)
		return v;
	return show_text("%s%s", mark, v.s);
}

struct shown show_least(struct shown v, bool lower_bound)
{
	return show_marked(v, lower_bound ? MARK_LEAST : NULL);
}

struct shown show_about(struct shown v, bool estimated)
{
	return show_marked(v, estimated ? MARK_ABOUT : NULL);
}

const char *show_plural(struct opt_i64 v, const char *one, const char *many)
{
	return v.known && v.value == 1 ? one : many;
}

struct shown show_bytes(struct opt_i64 v, bool estimated)
{
	if (!v.known || v.value < 0)
		return absent;
	return show_text("%s%s", estimated ? "~" : "", human_bytes((uint64_t)v.value).text);
}

struct shown show_ratio(struct opt_f64 v, bool estimated)
{
	const char *mark = estimated ? "~" : "";

	if (!v.known)
		return absent;
	if (v.value > 0 && v.value < 0.0005)
		return show_text("%s<0.1 %%", mark);
	if (v.value < 1 && v.value >= 0.9995)
		return show_text("%s>99.9 %%", mark);
	return show_text("%s%.1f %%", mark, v.value * 100);
}

struct shown show_ns(struct opt_i64 v)
{
	if (!v.known || v.value < 0)
		return absent;
	return show_text("%s", human_duration((uint64_t)v.value).text);
}

struct shown show_double(struct opt_f64 v, int decimals)
{
	if (!v.known)
		return absent;
	return show_text("%.*f", decimals, v.value);
}

/* v has the mark of an estimate. Ends that print like v are left out. */
static struct shown between(struct shown v, const char *low, const char *high)
{
	if (!strcmp(low, high) && !strncmp(v.s + strlen(MARK_ABOUT), low, strlen(low)))
		return v;
	return show_text("%.22s (%.20s to %.20s)", v.s, low, high);
}

struct shown show_read(const struct counts *c, enum read_estimate e)
{
	static const enum counter of[] = {
		[ESTIMATE_READ_CALLS] = C_read_calls,
		[ESTIMATE_LOOKUPS] = C_lookups,
		[ESTIMATE_DELAYED_HITS] = C_delayed_hits,
	};
	struct derived d;
	struct range r;
	struct opt_i64 v;

	if (e == ESTIMATE_HITS) {
		counts_derive(c, 0, &d);
		v = d.hits;
	} else {
		v = counts_get(c, of[e]);
	}
	if (!v.known || !counts_range(c, e, &r))
		return show_count(v, c->sliced);
	return between(show_count(v, true), show_count(opt_round(r.low), false).s,
		       show_count(opt_round(r.high), false).s);
}

struct shown show_read_bytes(const struct counts *c)
{
	struct opt_i64 v = counts_get(c, C_read_bytes);
	struct range r;

	if (!v.known || !counts_range(c, ESTIMATE_READ_BYTES, &r))
		return show_bytes(v, c->sliced);
	return between(show_bytes(v, true), show_bytes(opt_round(r.low), false).s,
		       show_bytes(opt_round(r.high), false).s);
}

/* "78.1", without the percent sign. */
static struct shown percent(struct opt_f64 v)
{
	struct shown ret = show_ratio(v, false);

	ret.s[strcspn(ret.s, " ")] = 0;
	return ret;
}

/* "~81.0 % (78.1 to 84.2)" */
static struct shown ratio_between(struct opt_f64 v, const struct range *r)
{
	return v.known ? between(show_ratio(v, true), percent(r->low).s, percent(r->high).s)
		       : absent;
}

struct shown show_hit_ratio(const struct counts *c, const struct derived *d)
{
	struct range r;

	if (!counts_range(c, ESTIMATE_HIT_RATIO, &r))
		return show_least(show_ratio(d->hit_ratio, c->sliced), c->bounds & BOUND_READS);
	return show_least(ratio_between(d->hit_ratio, &r), c->bounds & BOUND_READS);
}

struct shown show_range(struct opt_f64 v, const struct range *r)
{
	return r->low.known ? ratio_between(v, r) : show_ratio(v, false);
}

/* Seconds, and the rest, of a time that may be before 1970. */
static time_t split_seconds(int64_t realtime_ns, int64_t *ret_ns)
{
	int64_t s = realtime_ns / NS_PER_S;
	int64_t ns = realtime_ns % NS_PER_S;

	if (ns < 0) {
		ns += NS_PER_S;
		s--;
	}
	*ret_ns = ns;
	return (time_t)s;
}

struct shown show_rfc3339(int64_t realtime_ns)
{
	struct shown ret = {0};
	int64_t ns = 0;
	time_t s = split_seconds(realtime_ns, &ns);
	struct tm tm;
	size_t n = 0;

	gmtime_r(&s, &tm);
	n = strftime(ret.s, sizeof(ret.s), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(ret.s + n, sizeof(ret.s) - n, ".%09" PRId64 "Z", ns);
	return ret;
}

struct shown show_local(int64_t realtime_ns)
{
	struct shown ret = {0};
	int64_t ns = 0;
	time_t s = split_seconds(realtime_ns, &ns);
	struct tm tm;

	localtime_r(&s, &tm);
	strftime(ret.s, sizeof(ret.s), "%Y-%m-%d %H:%M", &tm);
	return ret;
}
