/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: llm */
/* Numbers in digits and in words with their units: what they say, what goes on in a way that is no
 * number, and which figures they are. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "advisor/llm/quantity.h"
#include "advisor/llm/words.h"

#define NR(a) (sizeof(a) / sizeof((a)[0]))

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fmax(1, fabs(b));
}

static const struct {
	const char *text;
	size_t used;
	double base; /* in the dimension's own unit */
	enum dimension dim;
	bool per_second;
} parse_table[] = {
	{"0", 1, 0, DIM_NONE, false},
	{"12 files", 2, 12, DIM_NONE, false},
	{"1,234", 5, 1234, DIM_NONE, false},
	{"1,234,567.25", 12, 1234567.25, DIM_NONE, false},
	{"0.5", 3, 0.5, DIM_NONE, false},
	{".5", 2, 0.5, DIM_NONE, false},
	{"-5", 2, -5, DIM_NONE, false},
	{"+5", 2, 5, DIM_NONE, false},
	{"1e3", 3, 1000, DIM_NONE, false},
	{"1.5E+3", 6, 1500, DIM_NONE, false},
	{"2e-3", 4, 0.002, DIM_NONE, false},
	{"5.", 1, 5, DIM_NONE, false},
	{"5, then", 1, 5, DIM_NONE, false},
	{"5: five", 1, 5, DIM_NONE, false},
	{"5-way", 1, 5, DIM_NONE, false},
	{"20 million", 10, 20e6, DIM_NONE, false},
	{"3 dozen", 7, 36, DIM_NONE, false},
	{"81.2%", 5, 0.812, DIM_RATIO, false},
	{"81.2 %", 6, 0.812, DIM_RATIO, false},
	{"81.2 percent", 12, 0.812, DIM_RATIO, false},
	{"81 per cent of", 11, 0.81, DIM_RATIO, false},
	{"81 percentage points", 20, 0.81, DIM_RATIO, false},
	{"4KiB", 4, 4096, DIM_BYTES, false},
	{"4 KiB", 5, 4096, DIM_BYTES, false},
	{"4-KiB", 5, 4096, DIM_BYTES, false},
	{"2 MB", 4, 2e6, DIM_BYTES, false},
	{"2 MiB", 5, 2097152, DIM_BYTES, false},
	{"2 gigabytes", 11, 2e9, DIM_BYTES, false},
	{"1 GiB/s", 7, 1073741824, DIM_BYTES, true},
	{"128k", 4, 128000, DIM_BYTES, false},
	{"3 ns", 4, 3e-9, DIM_TIME, false},
	{"3 us", 4, 3e-6, DIM_TIME, false},
	{"250 ms", 6, 0.25, DIM_TIME, false},
	{"3 s", 3, 3, DIM_TIME, false},
	{"3-second", 8, 3, DIM_TIME, false},
	{"2 min", 5, 120, DIM_TIME, false},
	{"2 hours", 7, 7200, DIM_TIME, false},
	{"7 pages", 7, 7, DIM_PAGES, false},
	{"7 pages/s", 9, 7, DIM_PAGES, true},
	{"7 pages per second", 18, 7, DIM_PAGES, true},
	{"7 pages per read", 7, 7, DIM_OTHER, false},
	{"7 files per second", 1, 7, DIM_NONE, true},
	{"7 per second", 1, 7, DIM_NONE, true},
	{"7 of the files per second", 1, 7, DIM_NONE, true},
	{"7 files per directory", 1, 7, DIM_OTHER, false},
	{"7 MiB of data per second", 5, 7340032, DIM_BYTES, true},
	{"7 files, read per second", 1, 7, DIM_NONE, false},
	{"7 files that are then read per second", 1, 7, DIM_NONE, false},
	{"7 pages/read", 7, 7, DIM_OTHER, false},
	{"2x", 2, 2, DIM_TIMES, false},
	{"3-fold", 6, 3, DIM_TIMES, false},
	{"3 times", 7, 3, DIM_TIMES, false},
	{"8 sectors", 9, 8, DIM_OTHER, false},
	{"8 Mbit/s", 8, 8, DIM_OTHER, true},
};

static void test_parse(void **state)
{
	for (size_t i = 0; i < NR(parse_table); i++) {
		struct quantity q = {0};
		size_t used = quantity_parse(parse_table[i].text, '\0', &q);

		if (used != parse_table[i].used ||
		    !near(q.value * q.unit.scale, parse_table[i].base) ||
		    q.unit.dim != parse_table[i].dim ||
		    q.unit.per_second != parse_table[i].per_second)
			fail_msg("'%s': %zu bytes, %g of %d%s", parse_table[i].text, used,
				 q.value * q.unit.scale, (int)q.unit.dim,
				 q.unit.per_second ? " per second" : "");
	}
}

static void test_no_number(void **state)
{
	static const char *const table[] = {
		"",	     "x",
		"-",	     ".",
		"1.2.3",     "0x1f",
		"4abc",	     "1_000",
		"1'234",     "1,23",
		"12:30",     "3/4",
		"1,2345",    "5m",
		"10^6",	     "2nd",
		"1st",	     "6.12.9-amd64",
		"1e",	     "9p",
		"81pt",	     "5KIB",
		"1.2,3",     "12/2024",
		"1.5e3.2",   "1e3250",
		"1e-400",    "1e31",
		"01",	     "0,234",
		"007 pages", "11111111111111111111111111111111111111111111111111",
	};

	for (size_t i = 0; i < NR(table); i++) {
		struct quantity q;
		size_t used = quantity_parse(table[i], '\0', &q);

		if (used)
			fail_msg("'%s': %zu bytes, %g", table[i], used, q.value);
	}
}

/* What a statement may say of a figure. */
static const struct {
	const char *text;
	double value;
	const char *unit;
	bool is;
} is_table[] = {
	{"81.2 %", 0.812, "ratio", true},
	{"81 %", 0.812, "ratio", true},
	{"0.81", 0.812, "ratio", true},
	{"0.812", 0.812, "ratio", true},
	{"82 %", 0.812, "ratio", false},
	{"80 %", 0.812, "ratio", false},
	{"0.8", 0.812, "ratio", false},
	{"81.3 %", 0.812, "ratio", false},
	{"81", 0.812, "ratio", false},
	{"0.81 %", 0.812, "ratio", false},
	{"812 MiB", 0.812, "ratio", false},
	{"81 % per second", 0.812, "ratio", false},
	{"267 MiB", 279969792, "bytes", true},
	{"280 MB", 279969792, "bytes", true},
	{"0.27 GiB", 279969792, "bytes", false},
	{"0.26 GiB", 279969792, "bytes", true},
	{"279969792 bytes", 279969792, "bytes", true},
	{"279969792 B", 279969792, "bytes", true},
	{"279,969,792 bytes", 279969792, "bytes", true},
	{"279969792", 279969792, "bytes", false},
	{"267 MB", 279969792, "bytes", false},
	{"267 KiB", 279969792, "bytes", false},
	{"267 pages", 279969792, "bytes", false},
	{"68352 pages", 279969792, "bytes", false},
	{"267 MiB/s", 279969792, "bytes", false},
	{"128 KiB", 128, "kb", true},
	{"128 kB", 128, "kb", true},
	{"128k", 128, "kb", true},
	{"131072 bytes", 128, "kb", true},
	{"0.125 MiB", 128, "kb", true},
	{"128", 128, "kb", false},
	{"128 bytes", 128, "kb", false},
	{"128 MiB", 128, "kb", false},
	{"3.2 s", 3215000000.0, "ns", true},
	{"3.22 s", 3215000000.0, "ns", true},
	{"3215 ms", 3215000000.0, "ns", true},
	{"3 s", 3215000000.0, "ns", false},
	{"3.3 s", 3215000000.0, "ns", false},
	{"3.2 ms", 3215000000.0, "ns", false},
	{"3.2 min", 3215000000.0, "ns", false},
	{"3215000000 ns", 3215000000.0, "ns", true},
	{"5 min", 300, "s", true},
	{"1234 pages", 1234, "pages", true},
	{"1,234", 1234, "pages", true},
	{"1.2 thousand pages", 1234, "pages", true},
	{"1200 pages", 1234, "pages", false},
	{"1234 KiB", 1234, "pages", false},
	{"1234 sectors", 1234, "pages", false},
	{"1234 %", 1234, "pages", false},
	{"1234 pages/s", 1234, "pages", false},
	{"513 pages/s", 512.5, "pages/s", true},
	{"512.5 pages per second", 512.5, "pages/s", true},
	{"513 pages", 512.5, "pages/s", false},
	{"513", 512.5, "pages/s", false},
	{"12", 12, "count", true},
	{"12", 12, "", true},
	{"12 times", 12, "count", true},
	{"12x", 12, "count", true},
	{"13", 12, "count", false},
	{"12 %", 12, "count", false},
	{"12 s", 12, "count", false},
	{"3", 3, "count", true},
	{"3", 3.2, "count", false},
	{"12", 12.4, "count", true},
	{"2.5x", 2.5, "ratio", true},
	{"250 %", 2.5, "ratio", true},
	{"-25 %", -0.25, "ratio", true},
	{"25 %", -0.25, "ratio", false},
	{"0", 0, "count", true},
	{"0 %", 0.0004, "ratio", false},
	{"0.0 %", 0.0004, "ratio", false},
	{"0.04 %", 0.0004, "ratio", true},
	{"0.040 %", 0.0004, "ratio", true},
	{"20 million", 20000000, "pages", true},
	{"20e6", 20000000, "pages", true},
	{"12 reads", 12, "reads", true},
	{"12 sectors", 12, "sectors", true},
	{"12 blocks", 12, "sectors", false},
};

static void test_is(void **state)
{
	for (size_t i = 0; i < NR(is_table); i++) {
		struct unit unit = unit_of_figure(is_table[i].unit);
		struct quantity q;

		assert_true(quantity_parse(is_table[i].text, '\0', &q) > 0);
		if (quantity_is(&q, is_table[i].value, &unit) != is_table[i].is)
			fail_msg("'%s' %s %.12g %s", is_table[i].text,
				 is_table[i].is ? "is not" : "is", is_table[i].value,
				 is_table[i].unit);
	}
}

static const struct {
	const char *text;
	enum words_kind kind;
	size_t used;
	double base;
	enum dimension dim;
} words_table[] = {
	{"page", WORDS_NONE, 4, 0, DIM_NONE},
	{"often", WORDS_NONE, 5, 0, DIM_NONE},
	{"tension", WORDS_NONE, 7, 0, DIM_NONE},
	{"weight", WORDS_NONE, 6, 0, DIM_NONE},
	{"someone", WORDS_NONE, 7, 0, DIM_NONE},
	{"none", WORDS_NONE, 4, 0, DIM_NONE},
	{"no", WORDS_NONE, 2, 0, DIM_NONE},
	{"first", WORDS_NONE, 5, 0, DIM_NONE},
	{"second", WORDS_NONE, 6, 0, DIM_NONE},
	{"once", WORDS_NONE, 4, 0, DIM_NONE},
	{"one of", WORDS_NONE, 3, 0, DIM_NONE},
	{"one job", WORDS_NONE, 3, 0, DIM_NONE},
	{"third party", WORDS_NONE, 11, 0, DIM_NONE},
	{"third-party code", WORDS_NONE, 11, 0, DIM_NONE},
	{"one page", WORDS_NUMBER, 8, 1, DIM_PAGES},
	{"one percent", WORDS_NUMBER, 11, 0.01, DIM_RATIO},
	{"zero", WORDS_NUMBER, 4, 0, DIM_NONE},
	{"two", WORDS_NUMBER, 3, 2, DIM_NONE},
	{"Two of", WORDS_NUMBER, 3, 2, DIM_NONE},
	{"TWELVE", WORDS_NUMBER, 6, 12, DIM_NONE},
	{"twenty-five", WORDS_NUMBER, 11, 25, DIM_NONE},
	{"twenty five pages", WORDS_NUMBER, 17, 25, DIM_PAGES},
	{"one hundred and five", WORDS_NUMBER, 20, 105, DIM_NONE},
	{"two hundred thousand and seven", WORDS_NUMBER, 30, 200007, DIM_NONE},
	{"a", WORDS_NONE, 1, 0, DIM_NONE},
	{"hundred", WORDS_NUMBER, 7, 100, DIM_NONE},
	{"three million pages", WORDS_NUMBER, 19, 3e6, DIM_PAGES},
	{"a dozen", WORDS_NONE, 1, 0, DIM_NONE},
	{"dozen", WORDS_NUMBER, 5, 12, DIM_NONE},
	{"two dozen", WORDS_NUMBER, 9, 24, DIM_NONE},
	{"ten seconds", WORDS_NUMBER, 11, 10, DIM_TIME},
	{"ten-second", WORDS_NUMBER, 10, 10, DIM_TIME},
	{"fifty percent", WORDS_NUMBER, 13, 0.5, DIM_RATIO},
	{"half", WORDS_NUMBER, 4, 0.5, DIM_RATIO},
	{"half a second", WORDS_NUMBER, 13, 0.5, DIM_TIME},
	{"third", WORDS_NUMBER, 5, 1 / 3.0, DIM_RATIO},
	{"two-thirds", WORDS_NUMBER, 10, 2 / 3.0, DIM_RATIO},
	{"three quarters of", WORDS_NUMBER, 14, 0.75, DIM_RATIO},
	{"one third", WORDS_NUMBER, 9, 1 / 3.0, DIM_RATIO},
	{"double", WORDS_NUMBER, 6, 2, DIM_TIMES},
	{"doubled", WORDS_NUMBER, 7, 2, DIM_TIMES},
	{"doubles", WORDS_NUMBER, 7, 2, DIM_TIMES},
	{"twice", WORDS_NUMBER, 5, 2, DIM_TIMES},
	{"thrice", WORDS_NUMBER, 6, 3, DIM_TIMES},
	{"threefold", WORDS_NUMBER, 9, 3, DIM_TIMES},
	{"tenfold", WORDS_NUMBER, 7, 10, DIM_TIMES},
	{"two-fold", WORDS_NUMBER, 8, 2, DIM_TIMES},
	{"three times", WORDS_NUMBER, 11, 3, DIM_TIMES},
	{"halved", WORDS_NUMBER, 6, 0.5, DIM_TIMES},
	{"couple", WORDS_NUMBER, 6, 2, DIM_NONE},
	{"dozens", WORDS_VAGUE, 6, 0, DIM_NONE},
	{"thousands of", WORDS_VAGUE, 9, 0, DIM_NONE},
	{"two point five", WORDS_VAGUE, 3, 0, DIM_NONE},
	{"five five", WORDS_VAGUE, 4, 0, DIM_NONE},
	{"fortyfour", WORDS_VAGUE, 9, 0, DIM_NONE},
	{"fiftypercent", WORDS_VAGUE, 12, 0, DIM_NONE},
	{"twothirds", WORDS_VAGUE, 9, 0, DIM_NONE},
};

static void test_words(void **state)
{
	for (size_t i = 0; i < NR(words_table); i++) {
		struct quantity q = {0};
		size_t used = 0;
		enum words_kind kind = words_parse(words_table[i].text, &q, &used);

		if (kind != words_table[i].kind || used != words_table[i].used)
			fail_msg("'%s': kind %d, %zu bytes", words_table[i].text, (int)kind, used);
		if (kind == WORDS_NUMBER && (!near(q.value * q.unit.scale, words_table[i].base) ||
					     q.unit.dim != words_table[i].dim))
			fail_msg("'%s': %g of %d", words_table[i].text, q.value * q.unit.scale,
				 (int)q.unit.dim);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_no_number),
		cmocka_unit_test(test_is),
		cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
