/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: access */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "cachemon/base/human.h"
#include "cachemon/base/parse.h"
#include "cachemon/base/quote.h"

#define NELEMS(a) (sizeof(a) / sizeof((a)[0]))
#define UNTOUCHED 0x5a5a5a5a5a5a5a5aULL

struct row {
	const char *s;
	int err;
	uint64_t value;
};

static void check(int (*parse)(const char *, uint64_t *), const struct row *rows, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		uint64_t value = UNTOUCHED;
		int err = parse(rows[i].s, &value);

		if (err != rows[i].err || value != (err ? UNTOUCHED : rows[i].value))
			fail_msg("'%s': %d, %ju", rows[i].s, err, (uintmax_t)value);
	}
}

static void u64(void **state)
{
	static const struct row rows[] = {
		{"0", 0, 0},
		{"007", 0, 7},
		{"9007199254740993", 0, 9007199254740993ULL},
		{"18446744073709551615", 0, UINT64_MAX},
		{"18446744073709551616", -ERANGE, 0},
		{"99999999999999999999999999", -ERANGE, 0},
		{"99999999999999999999999999x", -EINVAL, 0},
		{"", -EINVAL, 0},
		{"-1", -EINVAL, 0},
		{"+1", -EINVAL, 0},
		{" 1", -EINVAL, 0},
		{"1 ", -EINVAL, 0},
		{"1\n", -EINVAL, 0},
		{"0x10", -EINVAL, 0},
		{"1e3", -EINVAL, 0},
		{"1.0", -EINVAL, 0},
		{"abc", -EINVAL, 0},
		{"\xd9\xa1", -EINVAL, 0}, /* ARABIC-INDIC DIGIT ONE */
	};

	check(parse_u64, rows, NELEMS(rows));
}

static void durations(void **state)
{
	static const struct row rows[] = {
		{"1ms", 0, 1000000},
		{"500ms", 0, 500000000},
		{"5s", 0, 5000000000},
		{"2m", 0, 120000000000},
		{"1h", 0, 3600000000000},
		{"2562047h", 0, 2562047ULL * 3600000000000ULL},
		{"2562048h", -ERANGE, 0},
		{"0s", -ERANGE, 0},
		{"99999999999999999999s", -ERANGE, 0},
		{"18446744073709551615h", -ERANGE, 0},
		{"5", 0, 5000000000},
		{"0.5s", 0, 500000000},
		{"0.5", 0, 500000000},
		{"1.5m", 0, 90000000000},
		{"0.25h", 0, 900000000000},
		{"1.5s", 0, 1500000000},
		{"2.50ms", 0, 2500000},
		{"007s", 0, 7000000000},
		{"0.000000001s", 0, 1},
		{"1.0000000019s", 0, 1000000001}, /* fractions of a nanosecond are cut off */
		{"0.0000000001s", -ERANGE, 0},
		{"0.0s", -ERANGE, 0},
		{"0", -ERANGE, 0},
		{"2562047.789h", -ERANGE, 0},
		{"5.", -EINVAL, 0},
		{".5s", -EINVAL, 0},
		{"5.s", -EINVAL, 0},
		{"1,5s", -EINVAL, 0},
		{"1.5.5s", -EINVAL, 0},
		{"1.s5", -EINVAL, 0},
		{"1.-5s", -EINVAL, 0},
		{"s", -EINVAL, 0},
		{"", -EINVAL, 0},
		{"-5s", -EINVAL, 0},
		{"5 s", -EINVAL, 0},
		{"5S", -EINVAL, 0},
		{"5sec", -EINVAL, 0},
		{"5d", -EINVAL, 0},
		{"1m30s", -EINVAL, 0},
		{"99999999999999999999q", -EINVAL, 0},
	};

	check(parse_duration, rows, NELEMS(rows));
}

static void ages(void **state)
{
	static const struct row rows[] = {
		{"7d", 0, 7 * 86400000000000ULL},
		{"0d", 0, 0},
		{"12h", 0, 12 * 3600000000000ULL},
		{"90s", 0, 90000000000},
		{"106751d", 0, 106751 * 86400000000000ULL},
		{"106752d", 0, INT64_MAX},
		{"999999999999999999999d", 0, INT64_MAX},
		{"2562048h", -ERANGE, 0},
		{"0s", -ERANGE, 0},
		{"1.5d", -EINVAL, 0},
		{"d", -EINVAL, 0},
		{"-1d", -EINVAL, 0},
		{"7days", -EINVAL, 0},
		{"", -EINVAL, 0},
	};

	check(parse_age, rows, NELEMS(rows));
}

static void sizes(void **state)
{
	static const struct row rows[] = {
		{"0", 0, 0},
		{"4096", 0, 4096},
		{"64K", 0, 65536},
		{"10M", 0, 10485760},
		{"2G", 0, 2147483648},
		{"1T", 0, 1099511627776},
		{"16777215T", 0, 16777215ULL << 40},
		{"16777216T", -ERANGE, 0},
		{"1k", -EINVAL, 0},
		{"1GB", -EINVAL, 0},
		{"1.5G", -EINVAL, 0},
		{"1 G", -EINVAL, 0},
		{"-1", -EINVAL, 0},
		{"G", -EINVAL, 0},
	};

	check(parse_bytes, rows, NELEMS(rows));
}

static void pids(void **state)
{
	static const struct row rows[] = {
		{"1", 0, 1},	      {"2147483647", 0, INT_MAX}, {"2147483648", -ERANGE, 0},
		{"0", -ERANGE, 0},    {"-1", -EINVAL, 0},	  {"12x", -EINVAL, 0},
		{"self", -EINVAL, 0}, {"", -EINVAL, 0},
	};

	for (size_t i = 0; i < NELEMS(rows); i++) {
		pid_t pid = -7;

		assert_int_equal(parse_pid(rows[i].s, &pid), rows[i].err);
		assert_int_equal(pid, rows[i].err ? -7 : (pid_t)rows[i].value);
	}
}

static void percents(void **state)
{
	static const struct {
		const char *s;
		int err;
		double value;
	} rows[] = {
		{"1", 0, 1},
		{"1%", 0, 1},
		{"0.5", 0, 0.5},
		{"0.1%", 0, 0.1},
		{"33.3", 0, 33.3},
		{"100", 0, 100},
		{"100.000", 0, 100},
		{"000000000000000000001", 0, 1},
		{"0.000000000000001", 0, 1e-15},
		{"0.0000000000000001", -ERANGE, 0},
		{"0", -ERANGE, 0},
		{"0.0", -ERANGE, 0},
		{"100.1", -ERANGE, 0},
		{"18446744073709551617", -ERANGE, 0},
		{"1.00000000000000000000000000001", -ERANGE, 0},
		{"-1", -EINVAL, 0},
		{"+1", -EINVAL, 0},
		{"", -EINVAL, 0},
		{"%", -EINVAL, 0},
		{"1%%", -EINVAL, 0},
		{"1 %", -EINVAL, 0},
		{".5", -EINVAL, 0},
		{"5.", -EINVAL, 0},
		{"1.2.3", -EINVAL, 0},
		{"0,5", -EINVAL, 0},
		{"1e1", -EINVAL, 0},
		{"0x1", -EINVAL, 0},
		{"nan", -EINVAL, 0},
		{"inf", -EINVAL, 0},
	};

	for (size_t i = 0; i < NELEMS(rows); i++) {
		double value = -7;
		int err = parse_percent(rows[i].s, &value);

		/* The same double as the compiler's. */
		if (err != rows[i].err || value != (err ? -7 : rows[i].value))
			fail_msg("'%s': %d, %.17g", rows[i].s, err, value);
	}
}

static void enums(void **state)
{
	static const char *const levels[] = {"cold", "full", "auto"};
	size_t i = 7;

	assert_int_equal(parse_enum("auto", levels, 3, &i), 0);
	assert_int_equal(i, 2);
	assert_int_equal(parse_enum("Auto", levels, 3, &i), -EINVAL);
	assert_int_equal(parse_enum("au", levels, 3, &i), -EINVAL);
	assert_int_equal(parse_enum("", levels, 3, &i), -EINVAL);
	assert_int_equal(i, 2);
}

static void human_figures(void **state)
{
	assert_string_equal(human_bytes(0).text, "0 B");
	assert_string_equal(human_bytes(1023).text, "1023 B");
	assert_string_equal(human_bytes(1024).text, "1.00 KiB");
	assert_string_equal(human_bytes(1536).text, "1.50 KiB");
	assert_string_equal(human_bytes(1048575).text, "1.00 MiB");
	assert_string_equal(human_bytes(10239).text, "10.0 KiB");
	assert_string_equal(human_bytes(312ULL << 20).text, "312 MiB");
	assert_string_equal(human_bytes(UINT64_MAX).text, "16.0 EiB");
	assert_string_equal(human_count(999).text, "999");
	assert_string_equal(human_count(999499).text, "999k");
	assert_string_equal(human_count(999500).text, "1.00M");
	assert_string_equal(human_count(12345).text, "12.3k");
	assert_string_equal(human_duration(0).text, "0 s");
	assert_string_equal(human_duration(1250).text, "1.25 us");
	assert_string_equal(human_duration(43000000).text, "43.0 ms");
	assert_string_equal(human_duration(59949999999).text, "59.9 s");
	assert_string_equal(human_duration(59950000000).text, "1m 00s");
	assert_string_equal(human_duration(187000000000).text, "3m 07s");
	assert_string_equal(human_duration(3599600000000).text, "1h 00m");
	assert_string_equal(human_duration(7500000000000).text, "2h 05m");
	assert_string_equal(human_exact(0).text, "0");
	assert_string_equal(human_exact(999).text, "999");
	assert_string_equal(human_exact(-1234567).text, "-1,234,567");
	assert_string_equal(human_exact(INT64_MIN).text, "-9,223,372,036,854,775,808");
}

static void grouping(void **state)
{
	static const struct {
		const char *before;
		const char *after;
	} rows[] = {
		{"", ""},
		{"no number", "no number"},
		{"999 of 1000", "999 of 1,000"},
		{"12345678", "12,345,678"},
		{"0.12345 and 1234.5678 s", "0.12345 and 1,234.5678 s"},
		{"seq_4096 and p4096 stay", "seq_4096 and p4096 stay"},
		{"1,234 is done", "1,234 is done"},
		{"1 and 2, 3333 ends: 4444", "1 and 2, 3,333 ends: 4,444"},
	};
	char text[64];
	char full[8] = "1234567";

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(text, sizeof(text), "%s", rows[i].before);
		human_group(text, sizeof(text));
		assert_string_equal(text, rows[i].after);
	}
	human_group(full, sizeof(full));
	assert_string_equal(full, "1234567");
}

static void quoting(void **state)
{
	static const struct {
		const char *word;
		const char *text;
	} rows[] = {
		{"train.py", "train.py"},
		{"--lr=1e-3", "--lr=1e-3"},
		{"", "''"},
		{"a b", "'a b'"},
		{"it's", "'it'\\''s'"},
		{"$(rm x)", "'$(rm x)'"},
		{"~", "'~'"},
		{"t\xc3\xa4st", "'t\xc3\xa4st'"},
		{"\033[2J", "$'\\x1b[2J'"},
		{"a\nb'\\", "$'a\\x0ab\\'\\\\'"},
		{"\xff", "$'\\xff'"},
		{"\xc0\xaf", "$'\\xc0\\xaf'"},		/* overlong '/' */
		{"\xed\xa0\x80", "$'\\xed\\xa0\\x80'"}, /* surrogate */
		{"\xf4\x90\x80\x80", "$'\\xf4\\x90\\x80\\x80'"},
		{"\xc2\x9b", "$'\\xc2\\x9b'"}, /* C1 control: CSI */
		{"\xe2\x82", "$'\\xe2\\x82'"}, /* cut short */
	};
	char *const argv[] = {"sh", "-c", "a b", NULL};
	char *text = NULL;

	for (size_t i = 0; i < NELEMS(rows); i++) {
		assert_int_equal(quote_word(rows[i].word, &text), 0);
		assert_string_equal(text, rows[i].text);
		free(text);
	}
	assert_int_equal(quote_words(argv, 11, &text), 0);
	assert_string_equal(text, "sh -c 'a b'");
	free(text);
	assert_int_equal(quote_words(argv, 10, &text), 0);
	assert_string_equal(text, "sh -c ...");
	free(text);
	assert_int_equal(quote_words(argv, 1, &text), 0);
	assert_string_equal(text, "...");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(u64),	   cmocka_unit_test(durations),
		cmocka_unit_test(ages),	   cmocka_unit_test(sizes),
		cmocka_unit_test(pids),	   cmocka_unit_test(percents),
		cmocka_unit_test(enums),   cmocka_unit_test(grouping),
		cmocka_unit_test(quoting), cmocka_unit_test(human_figures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
