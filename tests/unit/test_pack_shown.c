/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: wording report account access */
/* The text that replaces a placeholder, by unit, compared with text by hand; and the names with
 * an alias. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cachemon/wording/pack_impl.h"

static void shown(void **state)
{
	static const struct {
		const char *value, *unit, *shown;
		bool is_text;
	} rows[] = {
		{"0.921", "ratio", "92.1 %", false},
		{"1", "ratio", "100.0 %", false},
		{"0.99999", "ratio", ">99.9 %", false},
		{"28864", "pages", "28,864 pages", false},
		{"1", "pages", "1 page", false},
		{"1", "processes", "1 process", false},
		{"0", "pages", "0 pages", false},
		{"280076288", "bytes", "267 MiB", false},
		{"4096.4", "bytes", "4.00 KiB", false},
		{"4723790", "ns", "4.72 ms", false},
		{"4.09", "s", "4.09 s", false},
		{"0.0031491933333333334", "s", "3.15 ms", false},
		{"128", "KiB", "128 KiB", false},
		{"8192", "kb", "8.00 MiB", false},
		{"0", "flag", "no", false},
		{"1", "flag", "yes", false},
		{"1048576", "bytes/s", "1.00 MiB/s", false},
		{"1234.5678", "pages/s", "1,235 pages/s", false},
		{"30624.25", "pages/s", "30,624 pages/s", false},
		{"-1999.5", "pages", "-2,000 pages", false},
		{"9.87654", "tasks", "9.877 tasks", false},
		{"-0.83", "", "-0.83", false},
		{"-5", "bytes", "-5 bytes", false},
		{"9e30", "ns", "9e+30 ns", false},
		{"B", "grade", "B", true},
		{NULL, "pages", "not measured", false},
	};
	struct pack pack = {0};
	struct packer k = {.p = &pack};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct pack_evidence f = {
			.value = rows[i].value, .unit = rows[i].unit, .is_text = rows[i].is_text};

		assert_string_equal(pack_shown(&k, &f), rows[i].shown);
	}
	arena_free(&pack.arena);
}

/* A bound keeps its word, and an estimate is not a count. */
static void qualified(void **state)
{
	static const char *const rows[][2] = {
		{"at most", "at most 7.64 ms"},
		{"at least", "at least 7.64 ms"},
		{"estimated", "about 7.64 ms"},
		{"measured", "7.64 ms"},
		{"", "7.64 ms"},
	};
	struct pack pack = {0};
	struct packer k = {.p = &pack};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct pack_evidence f = {
			.value = "0.00764", .unit = "s", .quality = rows[i][0]};

		assert_string_equal(pack_shown(&k, &f), rows[i][1]);
	}
	arena_free(&pack.arena);
}

/* The user of a run is replaced, whoever sends the query; root exists on every machine. */
static void named(void **state)
{
	static const char *const rows[][2] = {
		{"alice", "<user-1> ran it, not bob or root"},
		{"root", "alice ran it, not bob or root"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		static const char text[] = "alice ran it, not bob or root";
		const struct model m = {.run.user = {rows[i][0], strlen(rows[i][0])}};
		struct redact *names = redact_new(true);
		struct arena a = {0};

		assert_non_null(names);
		pack_names(names, &m);
		assert_string_equal(redact_text(names, &a, text, strlen(text)), rows[i][1]);
		redact_free(names);
		arena_free(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shown),
		cmocka_unit_test(qualified),
		cmocka_unit_test(named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
