/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/base/parse.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

struct unit {
	const char *name;
	uint64_t factor;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Parses leading digits of s; strtoull would accept blanks, signs and wrap "-1". Sets *ret_end
 * to the end of the digits on -ERANGE too, so that the caller can distinguish garbage from
 * overflow. */
static int leading_digits(const char *s, uint64_t *ret_value, const char **ret_end)
{
	uint64_t value = 0;
	bool overflow = false;

	if (!is_digit(*s))
		return -EINVAL;
	for (; is_digit(*s); s++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*s - '0'), &value))
			overflow = true;
	}
	*ret_end = s;
	if (overflow)
		return -ERANGE;
	*ret_value = value;
	return 0;
}

static int with_unit(const char *s, const struct unit *units, uint64_t *ret_value)
{
	uint64_t value = 0;
	const char *end = NULL;
	int err = leading_digits(s, &value, &end);

	if (err == -EINVAL)
		return err;
	for (const struct unit *u = units; u->name; u++) {
		if (strcmp(end, u->name) != 0)
			continue;
		if (err || __builtin_mul_overflow(value, u->factor, &value))
			return -ERANGE;
		*ret_value = value;
		return 0;
	}
	return -EINVAL;
}

int parse_u64(const char *s, uint64_t *ret_value)
{
	static const struct unit units[] = {{"", 1}, {NULL, 0}};

	return with_unit(s, units, ret_value);
}

int parse_pid(const char *s, pid_t *ret_pid)
{
	uint64_t value = 0;
	int err = parse_u64(s, &value);

	if (err)
		return err;
	if (value == 0 || value > INT_MAX)
		return -ERANGE;
	*ret_pid = (pid_t)value;
	return 0;
}

/* The digits after a point; digits below one unit are dropped. */
static uint64_t fraction(const char *digits, const char *end, uint64_t unit)
{
	uint64_t value = 0;

	for (; digits < end && unit; digits++) {
		unit /= 10;
		value += (uint64_t)(*digits - '0') * unit;
	}
	return value;
}

int parse_duration(const char *s, uint64_t *ret_ns)
{
	static const struct unit units[] = {
		{"ms", 1000000ULL},	   {"s", 1000000000ULL},	{"", 1000000000ULL},
		{"m", 60 * 1000000000ULL}, {"h", 3600 * 1000000000ULL}, {NULL, 0},
	};
	const char *point, *end = NULL;
	uint64_t whole = 0, ns;
	int err = leading_digits(s, &whole, &end);

	if (err == -EINVAL)
		return err;
	point = end;
	if (*end == '.')
		do
			end++;
		while (is_digit(*end));
	if (*point == '.' && end == point + 1)
		return -EINVAL;
	for (const struct unit *u = units; u->name; u++) {
		if (strcmp(end, u->name) != 0)
			continue;
		if (err || __builtin_mul_overflow(whole, u->factor, &ns) ||
		    __builtin_add_overflow(ns, fraction(point + 1, end, u->factor), &ns) ||
		    ns == 0 || ns > INT64_MAX)
			return -ERANGE;
		*ret_ns = ns;
		return 0;
	}
	return -EINVAL;
}

int parse_age(const char *s, uint64_t *ret_ns)
{
	static const struct unit units[] = {{"d", 86400 * 1000000000ULL}, {NULL, 0}};
	uint64_t ns = 0;
	int err = with_unit(s, units, &ns);

	if (err == -EINVAL)
		return parse_duration(s, ret_ns);
	*ret_ns = err || ns > INT64_MAX ? INT64_MAX : ns;
	return 0;
}

int parse_bytes(const char *s, uint64_t *ret_bytes)
{
	static const struct unit units[] = {
		{"", 1},	   {"K", 1ULL << 10}, {"M", 1ULL << 20},
		{"G", 1ULL << 30}, {"T", 1ULL << 40}, {NULL, 0},
	};

	return with_unit(s, units, ret_bytes);
}

/* strtod would accept blanks, signs, hexadecimal, exponents, "inf", "nan" and the locale's
 * comma. Up to 15 digits, the digits and the power of ten are exact doubles, so their quotient
 * is the nearest double. */
int parse_percent(const char *s, double *ret_percent)
{
	uint64_t digits = 0;
	double scale = 1, percent;
	unsigned int nr = 0;

	if (!is_digit(*s))
		return -EINVAL;
	for (bool fraction = false;; s++) {
		if (is_digit(*s)) {
			/* A value with more than 15 digits is rejected below, so it need not be
			 * kept. */
			if (nr < 16 && (digits || *s != '0' || fraction))
				nr++;
			digits = nr <= 15 ? digits * 10 + (uint64_t)(*s - '0') : digits;
			scale *= fraction ? 10 : 1;
		} else if (*s == '.' && !fraction && is_digit(s[1])) {
			fraction = true;
		} else {
			break;
		}
	}
	if (*s == '%')
		s++;
	if (*s)
		return -EINVAL;
	percent = (double)digits / scale;
	if (nr > 15 || !(percent > 0) || percent > 100)
		return -ERANGE;
	*ret_percent = percent;
	return 0;
}

int parse_enum(const char *s, const char *const *names, size_t nr_names, size_t *ret_index)
{
	for (size_t i = 0; i < nr_names; i++) {
		if (strcmp(s, names[i]) == 0) {
			*ret_index = i;
			return 0;
		}
	}
	return -EINVAL;
}
