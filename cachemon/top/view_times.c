/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses a time that was typed. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "cachemon/top/view.h"
#include "cachemon/base/parse.h"

#define NS_PER_S INT64_C(1000000000)

/* h:mm:ss or m:ss. */
static int clock_time(const char *text, int64_t *ret_ns)
{
	int64_t seconds = 0;
	int64_t part = 0;
	int colons = 0;
	bool digit = false;

	for (const char *p = text;; p++) {
		if (isdigit((unsigned char)*p)) {
			part = part * 10 + (*p - '0');
			digit = true;
			if (part > INT32_MAX)
				return -EINVAL;
			continue;
		}
		if (!digit || (*p && *p != ':') || (colons && part > 59))
			return -EINVAL;
		seconds = seconds * 60 + part;
		if (!*p)
			break;
		if (++colons > 2)
			return -EINVAL;
		part = 0;
		digit = false;
	}
	*ret_ns = seconds * NS_PER_S;
	return 0;
}

/* The time of a wall clock in that zone; times before the start become the start. */
static int wall_time(const char *text, const struct top_around *around, int64_t *ret_ns)
{
	time_t s = (time_t)((around->started_ns + around->begin_ns) / NS_PER_S);
	int hour = 0, minute = 0, second = 0, end = -1;
	struct tm tm;

	if (!around->started_ns || !localtime_r(&s, &tm))
		return -EINVAL;
	if (sscanf(text, "%2d:%2d%n", &hour, &minute, &end) != 2 || end < 0)
		return -EINVAL;
	if (text[end] == ':') {
		text += end + 1;
		if (sscanf(text, "%2d%n", &second, &end) != 1)
			return -EINVAL;
	}
	if (text[end] || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 ||
	    second > 59)
		return -EINVAL;
	tm.tm_hour = hour;
	tm.tm_min = minute;
	tm.tm_sec = second;
	tm.tm_isdst = -1;
	*ret_ns = (int64_t)mktime(&tm) * NS_PER_S - around->started_ns;
	if (*ret_ns < 0)
		*ret_ns = 0;
	return 0;
}

static int since_start(const char *text, int64_t *ret_ns)
{
	uint64_t ns = 0;

	if (!clock_time(text, ret_ns))
		return 0;
	if (parse_duration(text, &ns) || ns > INT64_MAX)
		return -EINVAL;
	*ret_ns = (int64_t)ns;
	return 0;
}

int top_view_time(const char *text, const struct top_around *around, int64_t *ret_ns)
{
	int64_t ns = 0;
	int ret;

	if (*text == '@')
		return wall_time(text + 1, around, ret_ns);
	if (*text != '+' && *text != '-')
		return since_start(text, ret_ns);
	ret = since_start(text + 1, &ns);
	if (ret)
		return ret;
	if (__builtin_add_overflow(around->begin_ns, *text == '-' ? -ns : ns, &ns))
		return -EINVAL;
	*ret_ns = ns < 0 ? 0 : ns;
	return 0;
}
