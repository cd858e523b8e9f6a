/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: report account access */
/* Names that attack each output format. */
#include "fixtures/report/fixture.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <yaml.h>

#include "cachemon/base/errtext.h"
#include "cachemon/base/escape.h"
#include "cachemon/report/run/report.h"
#include "cachemon/report/runs/runs_report.h"

/* Paths, as bytes. Each is also the name of a job, a directory, and the file of an advice. */
static const char *const names[] = {
	"/<script>alert(1)</script>",
	"/\"><img src=x onerror='alert(1)'>&amp;",
	"/a|b`c`*d*_e_[f](http://evil.example/)~g~#$x$",
	"/x https://evil.example/ www.evil.example me@evil.example",
	"/line\nbreak\r\n# heading\n| table |",
	"/\x1b[31mred\x1b]0;title\x07\x9b",
	"/\xe2\x80\xae.fdp.exe\xe2\x81\xa6\xd8\x9c",
	"/bad\xff\xfe\\utf8",
	"/]]>--><!--",
	"/{{7*7}}${7*7}<%= 7*7 %>",
	"=cmd|'/C calc'!A0",
	"+1+1",
	"-1+1",
	"@SUM(A1)",
	"\t=1+1",
	"\r=1+1",
	"/comma,quote\"semicolon;tab\t",
	"yes",
	"- 1. x",
	"!!python/object:os.system",
};

enum { NR_NAMES = sizeof(names) / sizeof(names[0]) };

static void bind_name(struct fixture *f, const char *sql, int i)
{
	sqlite3_stmt *stmt = NULL;

	assert_int_equal(sqlite3_prepare_v2(f->sql, sql, -1, &stmt, NULL), SQLITE_OK);
	sqlite3_bind_int(stmt, 1, i);
	sqlite3_bind_blob(stmt, 2, names[i], (int)strlen(names[i]), SQLITE_STATIC);
	assert_int_equal(sqlite3_step(stmt), SQLITE_DONE);
	sqlite3_finalize(stmt);
}

static int begin(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	fixture_begin(f);
	fixture_run(f);
	for (int i = 0; i < NR_NAMES; i++) {
		bind_name(f,
			  "INSERT INTO job (run_id, slot, name, selector) VALUES (1, ?1 + 10, "
			  "CAST(?2 AS TEXT), CAST(?2 AS TEXT))",
			  i);
		bind_name(f, "INSERT INTO directory (job_id, path, misses) VALUES (1, ?2, ?1)", i);
		bind_name(f,
			  "INSERT INTO file (job_id, dev_major, dev_minor, ino, gen, fstype, path, "
			  "misses) VALUES (1, 1, 1, ?1, 0, CAST(?2 AS TEXT), ?2, ?1)",
			  i);
		bind_name(f,
			  "INSERT INTO advice (job_id, dev_major, dev_minor, ino, gen, path, kind, "
			  "call, calls) VALUES (1, 1, 1, ?1, 0, ?2, 'willneed', 'fadvise', 1)",
			  i);
		bind_name(f,
			  "INSERT INTO interference (job_id, cause, evictor_kind, evictor, "
			  "evictor_cgroup, evictor_path, owner_path, pages, exact) VALUES (1, "
			  "'other', 'others', CAST(?2 AS TEXT), ?2, ?2, ?2, ?1, 1)",
			  i);
		bind_name(f,
			  "INSERT INTO probe (run_id, role, hook, state, reason) VALUES (1, ?1, "
			  "CAST(?2 AS TEXT), 'live', CAST(?2 AS TEXT))",
			  i);
		bind_name(f,
			  "INSERT INTO unmeasured (run_id, counter, reason) VALUES "
			  "(1, ?1, CAST(?2 AS TEXT))",
			  i);
	}
	bind_name(f, "UPDATE run SET host = CAST(?2 AS TEXT), kernel = CAST(?2 AS TEXT)", 0);
	*state = f;
	return 0;
}

static char *report(struct fixture *f, enum report_format format, size_t *ret_len)
{
	struct report_options o = {.db = f->db, .run_id = 1, .format = format, .files = 100};
	struct errtext err = {""};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (report_show(&o, out, &err) < 0)
		fail_msg("%s", err.text);
	fclose(out);
	*ret_len = size;
	return text;
}

/* Valid UTF-8 without control characters, except those in allowed. */
static void assert_inert(const char *text, size_t len, const char *allowed)
{
	for (size_t i = 0; i < len;) {
		uint32_t cp = 0;
		size_t n = escape_decode(text + i, len - i, &cp);

		assert_true(n > 0);
		if (escape_is_unsafe(cp) && !(cp < 0x80 && cp && strchr(allowed, (int)cp)))
			fail_msg("character %x at %zu", cp, i);
		i += n;
	}
}

static void assert_none(const char *text, const char *part)
{
	const char *found = strstr(text, part);

	if (found)
		fail_msg("'%s' in '%.60s'", part, found);
}

static void text(void **state)
{
	size_t len = 0;
	char *out = report(*state, REPORT_TEXT, &len);

	assert_inert(out, len, "\n");
	assert_non_null(strstr(out, "/\\x1b[31mred\\x1b]0;title\\x07\\x9b"));
	assert_non_null(strstr(out, "/\\u202e.fdp.exe\\u2066\\u061c"));
	assert_non_null(strstr(out, "/bad\\xff\\xfe\\x5cutf8"));
	assert_none(out, "\n# heading");
	free(out);
}

static void markdown(void **state)
{
	static const char *const active[] = {"<script",	    "<img", "<!--",	"<%",
					     "\n# heading", "://",  "www.evil", "me@evil"};
	size_t len = 0;
	char *out = report(*state, REPORT_MARKDOWN, &len);

	assert_inert(out, len, "\n");
	for (size_t i = 0; i < sizeof(active) / sizeof(active[0]); i++)
		assert_none(out, active[i]);
	assert_non_null(strstr(out, "/a\\|b\\`c\\`\\*d\\*\\_e\\_\\[f\\](http&#58;//"));
	/* Every row of a table has as many cells as the line above it. */
	for (const char *line = out; *line;) {
		static int cells;
		const char *stop = strchr(line, '\n');
		int n = 0;

		for (const char *p = line; *line == '|' && p < stop; p++)
			n += *p == '|' && (p == line || p[-1] != '\\');
		if (n && cells)
			assert_int_equal(n, cells);
		cells = n;
		line = stop + 1;
	}
	free(out);
}

/* Only elements and attributes that the report itself writes. */
/* The page ends with its own script, the only one. */
static char *without_script(char *page)
{
	char *script = strstr(page, "<script>");

	assert_non_null(script);
	assert_null(strstr(script + 1, "<script"));
	assert_non_null(strstr(script, "</script>\n</body>\n</html>\n"));
	*script = '\0';
	return page;
}

static void html(void **state)
{
	static const char *const elements[] = {
		"!DOCTYPE",   "html",	 "head",  "meta", "title", "style",   "body",
		"main",	      "h1",	 "h2",	  "h3",	  "p",	   "div",     "table",
		"caption",    "thead",	 "tbody", "tr",	  "th",	   "td",      "span",
		"figure",     "svg",	 "text",  "rect", "line",  "details", "summary",
		"figcaption", "nav",	 "ul",	  "li",	  "a",	   "section", "article",
		"b",	      "i",	 "small", "pre",  "code",  "path",    "circle",
		"defs",	      "pattern", "wbr",	  "dl",	  "dt",	   "dd",      "ol",
		"br"};
	size_t len = 0;
	char *out = without_script(report(*state, REPORT_HTML, &len));

	assert_inert(out, strlen(out), "\n");
	assert_none(out, "onerror='");
	assert_none(out, "=\"http");
	assert_none(out, " style=");
	for (const char *p = strstr(out, "href"); p; p = strstr(p + 1, "href"))
		if (strncmp(p, "href=\"#", 7) != 0)
			fail_msg("a link to somewhere else: %.40s", p);
	assert_none(out, "src=\"");
	assert_non_null(strstr(out, "default-src 'none'"));
	assert_non_null(
		strstr(out, "/&quot;&gt;&lt;img src=x onerror=&#39;alert(1)&#39;&gt;&amp;amp;"));
	for (const char *p = strchr(out, '<'); p; p = strchr(p + 1, '<')) {
		const char *name = p[1] == '/' ? p + 2 : p + 1;
		size_t n = strcspn(name, " >");
		bool known = false;

		for (size_t i = 0; i < sizeof(elements) / sizeof(elements[0]); i++)
			known = known ||
				(strlen(elements[i]) == n && !memcmp(elements[i], name, n));
		if (!known)
			fail_msg("element '%.20s'", p);
	}
	free(out);
}

/* The form of each name in the formats for programs. */
static void want_of(const char *name, char *ret, size_t size)
{
	FILE *out = fmemopen(ret, size, "w");

	escape_data(out, name, strlen(name));
	putc('\0', out);
	fclose(out);
}

static void assert_evictor(const cJSON *job, int i, const char *want)
{
	const cJSON *evictions =
		cJSON_GetObjectItem(cJSON_GetObjectItem(job, "interference"), "evictions");
	const cJSON *e = cJSON_GetArrayItem(evictions, NR_NAMES - 1 - i);
	const cJSON *evictor = cJSON_GetObjectItem(e, "evictor");
	static const char *const keys[] = {"command", "cgroup", "directory"};

	for (int k = 0; k < 3; k++)
		assert_string_equal(cJSON_GetObjectItem(evictor, keys[k])->valuestring, want);
	assert_string_equal(cJSON_GetObjectItem(e, "owner_directory")->valuestring, want);
}

static void json(void **state)
{
	size_t len = 0;
	char *out = report(*state, REPORT_JSON, &len);
	cJSON *root = cJSON_Parse(out);
	const cJSON *jobs = cJSON_GetObjectItem(root, "jobs");

	assert_non_null(root);
	assert_inert(out, len, "\n");
	for (int i = 0; i < NR_NAMES; i++) {
		const cJSON *job = cJSON_GetArrayItem(jobs, i + 1);
		const cJSON *files = cJSON_GetObjectItem(cJSON_GetArrayItem(jobs, 0), "files");
		const cJSON *file = cJSON_GetArrayItem(files, NR_NAMES - 1 - i);
		bool bad = !escape_is_utf8(names[i], strlen(names[i]));
		char want[256];

		want_of(names[i], want, sizeof(want));
		assert_string_equal(cJSON_GetObjectItem(job, "name")->valuestring, want);
		assert_string_equal(cJSON_GetObjectItem(file, "path")->valuestring, want);
		assert_int_equal(cJSON_IsTrue(cJSON_GetObjectItem(file, "path_escaped")), bad);
		assert_int_equal(cJSON_HasObjectItem(file, "path_escaped"), bad);
		assert_evictor(cJSON_GetArrayItem(jobs, 0), i, want);
	}
	cJSON_Delete(root);
	free(out);
}

static void yaml(void **state)
{
	size_t len = 0;
	char *out = report(*state, REPORT_YAML, &len);
	yaml_parser_t parser;
	yaml_event_t event;
	int found[NR_NAMES] = {0};
	bool done = false;

	assert_inert(out, len, "\n");
	assert_int_equal(yaml_parser_initialize(&parser), 1);
	yaml_parser_set_input_string(&parser, (const unsigned char *)out, len);
	while (!done) {
		assert_int_equal(yaml_parser_parse(&parser, &event), 1);
		done = event.type == YAML_STREAM_END_EVENT;
		for (int i = 0; i < NR_NAMES && event.type == YAML_SCALAR_EVENT; i++) {
			char want[256];

			want_of(names[i], want, sizeof(want));
			if (strcmp((char *)event.data.scalar.value, want) != 0)
				continue;
			found[i]++;
			assert_int_equal(event.data.scalar.style, YAML_DOUBLE_QUOTED_SCALAR_STYLE);
			assert_null(event.data.scalar.tag);
		}
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
	for (int i = 0; i < NR_NAMES; i++)
		assert_int_equal(found[i], i ? 13 : 15); /* the first is also host and kernel */
	free(out);
}

/* Reads one cell of CSV; returns the rest. */
static const char *csv_cell(const char *p, char *ret, size_t size, bool *ret_quoted)
{
	size_t n = 0;

	*ret_quoted = *p == '"';
	p += *ret_quoted;
	while (*p && (*ret_quoted || (*p != ',' && *p != '\n'))) {
		if (*ret_quoted && *p == '"' && p[1] != '"')
			break;
		p += *ret_quoted && *p == '"';
		assert_true(n + 1 < size);
		ret[n++] = *p++;
	}
	ret[n] = '\0';
	return p + *ret_quoted;
}

static void csv(void **state)
{
	enum { PATH_COLUMN = 2 };
	size_t len = 0;
	char *out = report(*state, REPORT_CSV, &len);
	int found[NR_NAMES] = {0};
	int columns = 0;
	int column = 0;
	char cell[512];

	for (const char *p = out; *p; p++) {
		bool quoted = false;

		p = csv_cell(p, cell, sizeof(cell), &quoted);
		if (quoted && strchr("=+-@\t\r", cell[0]) && cell[0])
			fail_msg("formula: %s", cell);
		for (int i = 0; i < NR_NAMES && column == PATH_COLUMN; i++) {
			char want[256];

			want_of(names[i], want, sizeof(want));
			found[i] +=
				!strcmp(cell, want) || (cell[0] == '\'' && !strcmp(cell + 1, want));
		}
		column++;
		if (*p == '\n') {
			if (columns)
				assert_int_equal(column, columns);
			columns = column;
			column = 0;
		} else {
			assert_int_equal(*p, ',');
		}
	}
	for (int i = 0; i < NR_NAMES; i++)
		assert_int_equal(found[i], 2);	      /* a directory and a file */
	assert_int_equal(columns, 19 + C_NR + 2 * 9); /* two ends of each estimate */
	free(out);
}

/* The output on a terminal at the end of a run, and the list of runs. */
static void terminal(void **state)
{
	struct fixture *f = *state;
	const struct runs_options runs = {.db = f->db, .format = REPORT_TEXT};
	const struct report_options screen = {.db = f->db, .run_id = 1, .brief = true};

	for (int i = 0; i < NR_NAMES; i++) {
		char *want = escape_inert_copy(names[i], strlen(names[i]));
		struct errtext err = {""};
		char *text = NULL;
		size_t len = 0;
		FILE *out = open_memstream(&text, &len);

		bind_name(f,
			  "UPDATE job SET name = CAST(?2 AS TEXT), selector = CAST(?2 AS TEXT) "
			  "WHERE id = 1 AND ?1 >= 0",
			  i);
		assert_int_equal(report_show(&screen, out, &err), 0);
		assert_int_equal(runs_show(&runs, out, &err), 0);
		fclose(out);
		assert_inert(text, len, "\n");
		assert_non_null(strstr(text, want));
		free(text);
		free(want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(text, begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(markdown, begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(html, begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(json, begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(yaml, begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(terminal, begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(csv, begin, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
