/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables, columns and figures from the comments of the SQL files, and words from docs/glossary.md.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/gen/docs.h"

enum { TEXT_MAX = 2048 };

struct reader {
	FILE *out;
	char text[TEXT_MAX];   /* comment lines that belong to what follows */
	char column[TEXT_MAX]; /* a column whose comment may continue */
	char says[TEXT_MAX];
	bool in_table;
	bool bare; /* previous columns had no comment either */
};

/* The text of a comment, "" if none, and the length of the code before it. */
static const char *comment_of(const char *line, size_t *ret_code)
{
	const char *comment = strstr(line, "--");

	*ret_code = comment ? (size_t)(comment - line) : strlen(line);
	return comment ? comment + 2 : "";
}

static void append_words(char text[TEXT_MAX], const char *more, size_t len)
{
	size_t at = strlen(text);

	while (len && isspace((unsigned char)more[len - 1]))
		len--;
	while (len && isspace((unsigned char)*more))
		more++, len--;
	if (len)
		snprintf(text + at, TEXT_MAX - at, "%s%.*s", at ? " " : "", (int)len, more);
}

static void put_text(struct reader *r)
{
	if (!r->text[0])
		return;
	scd_text(r->out, r->text);
	fputs("\n\n", r->out);
	r->text[0] = 0;
}

/* Columns without a comment share one paragraph: their names explain them. */
static void put_column(struct reader *r)
{
	size_t name = strcspn(r->column, " ,");
	size_t len = strlen(r->column);

	if (!len)
		return;
	if (r->column[len - 1] == ',')
		r->column[len - 1] = 0;
	if (!r->says[0]) {
		fputs(r->bare ? ", *" : "*", r->out);
		scd_bytes(r->out, r->column, name);
		fputs("*", r->out);
	} else {
		fputs(r->bare ? "\n\n*" : "*", r->out);
		scd_bytes(r->out, r->column, name);
		fputs("*", r->out);
		scd_text(r->out, r->column + name);
		/* roff takes a line that begins with a quotation mark for a command. */
		fprintf(r->out, "\n\t%s", r->says[0] == '\'' ? "such as " : "");
		scd_text(r->out, r->says);
		fputs("\n\n", r->out);
	}
	r->bare = !r->says[0];
	r->column[0] = r->says[0] = 0;
}

static void end_columns(struct reader *r)
{
	put_column(r);
	if (r->bare)
		fputs("\n\n", r->out);
	r->bare = false;
}

static void read_in_table(struct reader *r, const char *line)
{
	size_t code;
	const char *comment = comment_of(line, &code);
	bool top = line[0] == '\t' && line[1] != '\t' && line[1] != ' ';

	if (line[0] == ')') {
		end_columns(r);
		put_text(r);
		r->in_table = false;
		return;
	}
	if (top && line[1] == '-') {
		/* Describes the following columns. */
		end_columns(r);
		append_words(r->text, comment, strlen(comment));
		put_text(r);
		return;
	}
	if (top && islower((unsigned char)line[1]))
		put_column(r);
	else if (top)
		end_columns(r); /* a constraint of the table */
	if (top && !islower((unsigned char)line[1]))
		return;
	append_words(r->column, line, code);
	append_words(r->says, comment, strlen(comment));
}

static void put_heading(struct reader *r, const char *name, const char *what)
{
	fputs("## ", r->out);
	scd_bytes(r->out, name, strcspn(name, " ("));
	fprintf(r->out, "%s\n\n", what);
	put_text(r);
}

/* "ALTER TABLE table ADD COLUMN column rest;" */
static void put_added(struct reader *r, const char *line)
{
	char table[64], column[64];

	if (sscanf(line, "ALTER TABLE %63s ADD COLUMN %63s", table, column) != 2)
		return;
	put_text(r);
	fputs("*", r->out);
	scd_text(r->out, table);
	fputs(".", r->out);
	scd_bytes(r->out, column, strcspn(column, ";"));
	fputs("*\n\n", r->out);
}

static void read_line(struct reader *r, const char *line)
{
	if (r->in_table) {
		read_in_table(r, line);
	} else if (strncmp(line, "-- SPDX", 7) == 0) {
		return;
	} else if (strncmp(line, "--", 2) == 0) {
		append_words(r->text, line + 2, strlen(line + 2));
	} else if (strncmp(line, "CREATE TABLE ", 13) == 0) {
		put_heading(r, line + 13, "");
		r->in_table = true;
	} else if (strncmp(line, "CREATE VIEW ", 12) == 0) {
		put_heading(r, line + 12, " (view)");
	} else if (strncmp(line, "ALTER TABLE ", 12) == 0) {
		put_added(r, line);
	} else if (line[0] == '\n') {
		put_text(r);
	} else {
		/* Indexes, pragmas, the bodies of views: not part of the documented schema. */
		r->text[0] = 0;
	}
}

static int read_file(FILE *out, const char *path, void (*read)(struct reader *r, const char *line))
{
	struct reader r = {.out = out};
	FILE *in = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;

	if (!in)
		return -errno;
	while (getline(&line, &size, in) > 0)
		read(&r, line);
	read(&r, "\n");
	free(line);
	fclose(in);
	return 0;
}

int sql_tables(const struct docs *d)
{
	int ret = 0;

	for (char **path = d->files; !ret && *path; path++) {
		const char *name = strrchr(*path, '/') ? strrchr(*path, '/') + 1 : *path;

		fprintf(d->out, "# SCHEMA %d\n\n", atoi(name));
		ret = read_file(d->out, *path, read_line);
	}
	return ret;
}

/* The last word of a column's expression, which is its name. */
static void name_of(struct reader *r, const char *line, size_t code)
{
	size_t end = code, begin;

	while (end && (isspace((unsigned char)line[end - 1]) || line[end - 1] == ','))
		end--;
	begin = end;
	while (begin && (isalnum((unsigned char)line[begin - 1]) || line[begin - 1] == '_'))
		begin--;
	if (begin == end)
		return;
	r->column[0] = 0;
	append_words(r->column, line + begin, end - begin);
}

static void read_term(struct reader *r, const char *line)
{
	size_t code;
	const char *comment = comment_of(line, &code);

	if (line[0] == '-') {
		/* The meaning of the marks; the text before it describes the use in the build. */
		if (r->text[0] || strncmp(line, "-- ~", 4) == 0)
			append_words(r->text, line + 2, strlen(line + 2));
		return;
	}
	put_text(r);
	name_of(r, line, code);
	if (!*comment || !r->column[0])
		return;
	fputs("*", r->out);
	scd_text(r->out, r->column);
	fputs("*\n\t", r->out);
	append_words(r->says, comment, strlen(comment));
	scd_text(r->out, r->says);
	fputs("\n\n", r->out);
	r->column[0] = r->says[0] = 0;
}

static void put_word(struct reader *r)
{
	if (r->column[0]) {
		fputs("*", r->out);
		scd_text(r->out, r->column);
		fputs("*\n\t", r->out);
		scd_text(r->out, r->says);
		fputs("\n\n", r->out);
	}
	r->column[0] = r->says[0] = 0;
}

/* "- **word**: definition", with continuation lines that begin with a blank; and headings. */
static void read_word(struct reader *r, const char *line)
{
	const char *end = strncmp(line, "- **", 4) ? NULL : strstr(line, "**: ");
	char plain[TEXT_MAX];
	size_t len = 0;

	for (const char *c = end ? end + 4 : line; *c && len < sizeof(plain) - 1; c++)
		if (!strchr("`*", *c))
			plain[len++] = *c;
	plain[len] = 0;
	if (line[0] != ' ')
		put_word(r);
	if (end)
		append_words(r->column, line + 4, (size_t)(end - line) - 4);
	if (strncmp(line, "## ", 3) == 0)
		fprintf(r->out, "%s\n", line);
	else if (end || (line[0] == ' ' && r->column[0]))
		append_words(r->says, plain, len);
}

int md_words(const struct docs *d)
{
	return d->files[0] && d->files[1] ? read_file(d->out, d->files[1], read_word) : -EINVAL;
}

int sql_terms(const struct docs *d)
{
	return d->files[0] ? read_file(d->out, d->files[0], read_term) : -EINVAL;
}
