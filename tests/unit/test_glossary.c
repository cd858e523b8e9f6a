/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: report */
/* The meaning of a word on a page is that in docs/glossary.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cachemon/render/doc.h"
#include "cachemon/render/glossary.h"

static void assert_means(const char *name, const char *want)
{
	char *text = glossary_find(name);

	if (want)
		assert_string_equal(text ? text : "not found", want);
	else
		assert_null(text);
	free(text);
}

/* Each entry of the file, read here line by line, is found by its term in small and large letters.
 */
static void every_term(void **state)
{
	FILE *in = fopen(SOURCE_DIR "/docs/glossary.md", "r");
	char line[256], term[64], want[1024] = "";
	int terms = 0;

	assert_non_null(in);
	for (bool more = true; more;) {
		more = fgets(line, sizeof(line), in);
		line[more ? strcspn(line, "\n") : 0] = '\0';
		if (more && *want && !strncmp(line, "  ", 2)) {
			strcat(strcat(want, " "), line + 2);
			continue;
		}
		if (*want) {
			size_t n = 0;

			for (const char *p = want; *p; p++)
				if (!strchr("*`", *p))
					want[n++] = *p;
			want[n] = '\0';
			assert_means(term, want);
			for (char *p = term; *p; p++)
				if (*p >= 'a' && *p <= 'z')
					*p = (char)(*p - 'a' + 'A');
			assert_means(term, want);
			terms++;
		}
		*want = '\0';
		sscanf(line, "- **%63[^*]**: %1023[^\n]", term, want);
	}
	fclose(in);
	assert_in_range(terms, 50, 200);
}

static void as_heads_have_them(void **state)
{
	static const char *const same[][2] = {{"HITS", "hit"},
					      {"misses", "miss"},
					      {"PREFETCHED", "prefetch"},
					      {"delayed hits", "delayed hit"},
					      {"refaults", "refault"},
					      {"stalls", "stall"}};

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		char *want = glossary_find(same[i][1]);

		assert_non_null(want);
		assert_means(same[i][0], want);
		free(want);
	}
	assert_means("", NULL);
	assert_means("s", NULL);
	assert_means("hit ratio of something", NULL);
	assert_means("hit**: a lookup", NULL);
}

static char *page(bool things)
{
	static const struct doc_column columns[] = {{"FILE", DOC_LEFT}, {"MISSES", DOC_RIGHT}};
	struct doc_table t = DOC_TABLE(NULL, columns);
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct doc d = doc_html(out);

	doc_begin(&d, "x");
	doc_cell(&t, "hits");
	doc_cell(&t, "1");
	t.things = things;
	doc_put_table(&d, &t);
	assert_int_equal(doc_end(&d), 0);
	fclose(out);
	return text;
}

/* A head has its meaning; a row that somebody named, such as a file, has none. */
static void in_a_table(void **state)
{
	static const char miss[] =
		"<th scope=\"col\" class=\"r\" title=\"a lookup whose page was not in the cache";
	static const char hits[] = "<th scope=\"row\" title=\"a lookup whose page was in the cache";
	char *own = page(false), *named = page(true);

	assert_non_null(strstr(own, miss));
	assert_non_null(strstr(own, hits));
	assert_non_null(strstr(named, miss));
	assert_null(strstr(named, hits));
	assert_non_null(strstr(named, "<th scope=\"row\">hits"));
	free(own);
	free(named);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_term),
		cmocka_unit_test(as_heads_have_them),
		cmocka_unit_test(in_a_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
