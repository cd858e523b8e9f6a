/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/base/human.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* value / base^k with three digits and the smallest k that gives less than base after rounding:
 * 1023.99 KiB is 1.00 MiB, never 1024 KiB. */
static struct human scale(uint64_t value, unsigned int base, const char *const *units)
{
	struct human h;
	double v = (double)value;
	int digits;

	if (value < base) {
		snprintf(h.text, sizeof(h.text), "%llu%s", (unsigned long long)value, units[0]);
		return h;
	}
	while (units[1] && v >= base - 0.5) {
		v /= base;
		units++;
	}
	digits = v < 9.995 ? 2 : v < 99.95 ? 1 : 0;
	snprintf(h.text, sizeof(h.text), "%.*f%s", digits, v, units[0]);
	return h;
}

static const char *const byte_units[] = {" B",	 " KiB", " MiB", " GiB",
					 " TiB", " PiB", " EiB", NULL};
static const char *const time_units[] = {" ns", " us", " ms", " s", NULL};

struct human human_bytes(uint64_t bytes)
{
	return scale(bytes, 1024, byte_units);
}

struct human human_count(uint64_t n)
{
	static const char *const units[] = {"", "k", "M", "G", "T", "P", "E", NULL};

	return scale(n, 1000, units);
}

struct human human_duration(uint64_t ns)
{
	const uint64_t second = 1000000000ULL;
	struct human h;
	uint64_t n;
	bool hours;

	if (!ns)
		return (struct human){"0 s"};
	/* 59.95 s would round to 60.0 s. */
	if (ns < 59 * second + 950000000)
		return scale(ns, 1000, time_units);
	n = ns / second + (ns % second >= second / 2);
	hours = n >= 3600;
	if (hours)
		n = n / 60 + (n % 60 >= 30);
	snprintf(h.text, sizeof(h.text), "%llu%c %02llu%c", (unsigned long long)n / 60,
		 hours ? 'h' : 'm', (unsigned long long)n % 60, hours ? 'm' : 's');
	return h;
}

static size_t unit_length(const char *text, const char *unit)
{
	size_t len = strlen(unit);

	if (strncmp(text, unit, len) || isalnum((unsigned char)text[len]) || text[len] == '_')
		return 0;
	return strncmp(text + len, "/s", 2) ? len : len + strlen("/s");
}

size_t human_unit(const char *text)
{
	size_t len = unit_length(text, "%");

	for (int i = 0; !len && byte_units[i]; i++)
		len = unit_length(text, byte_units[i] + 1);
	for (int i = 0; !len && time_units[i]; i++)
		len = unit_length(text, time_units[i] + 1);
	return len;
}

static bool is_number_at(const char *text, const char *at)
{
	return at == text || (at[-1] != '.' && at[-1] != '_' && !isalnum((unsigned char)at[-1]));
}

void human_group(char *text, size_t size)
{
	size_t used = strlen(text) + 1;

	for (char *at = text; *at;) {
		size_t digits = strspn(at, "0123456789");
		size_t left = digits;

		if (digits && (!is_number_at(text, at) || used + (digits - 1) / 3 > size))
			left = 0;
		for (; left > 3; used++) {
			left -= 3;
			memmove(at + left + 1, at + left, strlen(at + left) + 1);
			at[left] = ',';
		}
		at += strspn(at, "0123456789,");
		at += *at && !digits ? 1 : 0;
	}
}

struct human human_exact(int64_t n)
{
	struct human h;

	snprintf(h.text, sizeof(h.text), "%lld", (long long)n);
	human_group(h.text, sizeof(h.text));
	return h;
}
