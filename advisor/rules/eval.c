/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/rules/eval.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/rules/eval_row.h"
#include "cachemon/base/vec.h"

/* More rows than this are too many to read. */
enum { ROWS_MAX = 100000 };

/* The line number of a byte of the query. */
static int line_at(const struct rule *rule, int offset)
{
	int line = rule->sql_line;

	for (int i = 0; i < offset && rule->sql[i]; i++)
		line += rule->sql[i] == '\n';
	return line;
}

static int rule_error(const struct rule *rule, const struct guard *g, int rc, struct errtext *err)
{
	int line = line_at(rule, sqlite3_error_offset(g->db));

	if (g->refused[0])
		return errtext_set(err, -EINVAL,
				   "%s:%d: a rule may only read: %s is not allowed; leave it out",
				   rule->file, line, g->refused);
	if (g->stopped == GUARD_DATABASE)
		return errtext_set(
			err, -EIO,
			"the analysis takes far too long for the size of the database, and was "
			"stopped: the database is damaged, or cachemon did not write it");
	if (rc == SQLITE_INTERRUPT && g->stopped == GUARD_TIME)
		return errtext_set(err, -EINVAL,
				   "%s:%d: took too long and was stopped; it must not scan a large "
				   "table repeatedly",
				   rule->file, rule->sql_line);
	if (g->stopped == GUARD_SEARCHES)
		return errtext_set(
			err, -EINVAL,
			"%s:%d: has more than %d calls of functions that search text, such as "
			"instr(), LIKE or trim() (each trim() counts as six); leave some out",
			rule->file, rule->sql_line, GUARD_SEARCHES_MAX);
	if (g->budget && (rc == SQLITE_INTERRUPT || rc == SQLITE_NOMEM))
		return errtext_set(err, -EINVAL,
				   "%s:%d: took more than %d MiB of memory and was stopped; it "
				   "must not collect the rows of a large table",
				   rule->file, rule->sql_line, GUARD_HEAP_MAX >> 20);
	if (g->budget && rc == SQLITE_TOOBIG)
		return errtext_set(
			err, -EINVAL,
			"%s:%d: built a text longer than %d KiB and was stopped; it must "
			"not join the rows of a large table into one text",
			rule->file, rule->sql_line, GUARD_LENGTH_MAX >> 10);
	if (rc == SQLITE_NOMEM)
		return -ENOMEM;
	if (rc == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_IOERR)
		return errtext_set(err, -EIO, "the database cannot be read: %s",
				   sqlite3_errmsg(g->db));
	return errtext_set(err, -EINVAL, "%s:%d: %s; docs/advisor.md shows what a rule looks like",
			   rule->file, line, sqlite3_errmsg(g->db));
}

/* After the query: only blanks, comments and a semicolon are allowed. */
static bool is_end(const char *tail)
{
	while (*tail) {
		if (tail[0] == '-' && tail[1] == '-')
			tail += strcspn(tail, "\n");
		else if (isspace((unsigned char)*tail) || *tail == ';')
			tail++;
		else
			return false;
	}
	return true;
}

/* The guard for a rule. Built-in rules are trusted and may read large tables. */
static int enter_guard(const struct eval *e, const struct rule *rule, struct guard *g,
		       struct errtext *err)
{
	struct guard_budget *budget = rule->builtin ? NULL : e->budget;
	int ret;

	if (budget && !budget->cpu_ns)
		return errtext_set(err, -EINVAL,
				   "%s:%d: was not run: the rules before it took too long",
				   rule->file, rule->sql_line);
	ret = guard_enter(g, e->db, e->steps ? e->steps : GUARD_STEPS_DEFAULT, budget);
	return ret ? errtext_set(err, ret, "%s: cannot be run: %s", rule->file,
				 sqlite3_errmsg(e->db))
		   : 0;
}

static int prepare_rule(const struct rule *rule, struct guard *g, sqlite3_stmt **ret_stmt,
			struct errtext *err)
{
	const char *tail = NULL;
	int rc = sqlite3_prepare_v2(g->db, rule->sql, -1, ret_stmt, &tail);

	if (rc != SQLITE_OK)
		return rule_error(rule, g, rc, err);
	if (!*ret_stmt || !sqlite3_column_count(*ret_stmt) || !sqlite3_stmt_readonly(*ret_stmt) ||
	    sqlite3_stmt_isexplain(*ret_stmt))
		return errtext_set(err, -EINVAL, "%s:%d: not a query; a rule is one SELECT",
				   rule->file, rule->sql_line);
	if (!is_end(tail))
		return errtext_set(err, -EINVAL, "%s:%d: a second statement; a rule is one SELECT",
				   rule->file, line_at(rule, (int)(tail - rule->sql)));
	return 0;
}

static int bind_params(const struct rule *rule, sqlite3_stmt *stmt, struct errtext *err)
{
	for (int i = 1; i <= sqlite3_bind_parameter_count(stmt); i++) {
		const char *name = sqlite3_bind_parameter_name(stmt, i);
		const struct rule_param *p =
			name && name[0] == ':' ? rule_param_find(rule, name + 1) : NULL;

		if (!p)
			return errtext_set(
				err, -EINVAL,
				"%s:%d: '%s' is not a parameter of the rule; declare it with "
				"'-- param NAME = VALUE UNIT -- why'",
				rule->file, rule->sql_line, name ? name : "?");
		if (p->is_integer)
			sqlite3_bind_int64(stmt, i, p->integer);
		else
			sqlite3_bind_double(stmt, i, p->real);
	}
	return 0;
}

static double gain_value(const struct finding *f)
{
	return f->gain.known ? f->gain.value : -1;
}

/* A job has limited room: a new finding replaces the one with the smallest gain. */
static void keep_finding(struct finding *list, size_t *nr, const struct finding *f)
{
	size_t least = 0;
	size_t of_job = 0;

	for (size_t i = 0; i < *nr; i++) {
		if (list[i].job_id != f->job_id)
			continue;
		if (!of_job++ || gain_value(&list[i]) < gain_value(&list[least]))
			least = i;
	}
	if (of_job < EVAL_ROWS_MAX)
		list[(*nr)++] = *f;
	else if (gain_value(f) > gain_value(&list[least]))
		list[least] = *f;
}

struct found {
	struct finding *list;
	size_t nr, room;
};

static int take_rule_row(const struct eval *e, struct row_reader *r, struct found *found,
			 struct errtext *err)
{
	struct finding f = {.rule = r->rule};
	const char *doubt = NULL;
	int ret = row_read_doubt(r, &f, &doubt, err);

	if (!ret && !doubt)
		ret = row_read(r, &f, err);
	if (ret || (e->wants && !e->wants(e->arg, f.job_id)))
		return ret;
	if (doubt) {
		if (e->doubts)
			e->doubts(e->arg, &f, doubt);
		return 0;
	}
	if (vec_reserve(found->list, found->room, found->nr + 1))
		return -ENOMEM;
	keep_finding(found->list, &found->nr, &f);
	return 0;
}

/* Whether there is room for the texts of a row, which are kept; evidence is also kept as parsed
 * parts. */
static bool has_room(struct guard_budget *budget, sqlite3_stmt *stmt)
{
	size_t bytes = 0;

	for (int i = 0; i < sqlite3_column_count(stmt); i++) {
		int type = sqlite3_column_type(stmt, i);

		if (type == SQLITE_TEXT || type == SQLITE_BLOB)
			bytes += 2 * (size_t)sqlite3_column_bytes(stmt, i);
	}
	if (bytes > budget->text_bytes)
		return false;
	budget->text_bytes -= bytes;
	return true;
}

static int run_rule(const struct eval *e, const struct rule *rule, struct guard *g,
		    struct found *found, struct errtext *err)
{
	sqlite3_stmt *stmt = NULL;
	struct row_reader reader = {.rule = rule, .db = e->db, .arena = e->arena};
	int rc = SQLITE_DONE;
	int ret = prepare_rule(rule, g, &stmt, err);

	if (!ret)
		ret = bind_params(rule, stmt, err);
	if (!ret)
		ret = row_begin(&reader, stmt, err);
	for (int i = 0; !ret && (rc = sqlite3_step(stmt)) == SQLITE_ROW; i++) {
		if (i == ROWS_MAX)
			ret = errtext_set(err, -EINVAL,
					  "%s:%d: more than %d rows; raise its thresholds",
					  rule->file, rule->sql_line, ROWS_MAX);
		else if (g->budget && !has_room(g->budget, stmt))
			ret = errtext_set(
				err, -EINVAL,
				"%s:%d: returned more than %d MiB of text and was stopped; "
				"raise its thresholds",
				rule->file, rule->sql_line, GUARD_TEXT_MAX >> 20);
		else
			ret = take_rule_row(e, &reader, found, err);
		/* The lookups of the reason were stopped too, whatever they returned. */
		if (ret && g->stopped)
			ret = rule_error(rule, g, SQLITE_INTERRUPT, err);
	}
	if (!ret && rc != SQLITE_DONE)
		ret = rule_error(rule, g, rc, err);
	row_end(&reader);
	sqlite3_finalize(stmt);
	return ret;
}

int eval_check(const struct eval *e, const struct rule *rule, struct errtext *err)
{
	struct row_reader reader = {.rule = rule, .db = e->db, .arena = e->arena};
	sqlite3_stmt *stmt = NULL;
	struct guard g = {0};
	int ret = enter_guard(e, rule, &g, err);

	if (!ret)
		ret = prepare_rule(rule, &g, &stmt, err);
	if (!ret)
		ret = bind_params(rule, stmt, err);
	if (!ret)
		ret = row_begin(&reader, stmt, err);
	row_end(&reader);
	sqlite3_finalize(stmt);
	guard_leave(&g);
	return ret;
}

int eval_rule(const struct eval *e, const struct rule *rule, const struct note *note,
	      struct finding **ret_list, size_t *ret_nr, struct errtext *err)
{
	struct found found = {0};
	struct guard g = {0};
	struct finding *list = NULL;
	int ret = enter_guard(e, rule, &g, err);

	if (!ret)
		ret = run_rule(e, rule, &g, &found, err);
	guard_leave(&g);
	for (size_t i = 0; i < found.nr; i++)
		found.list[i].note = note;
	if (!ret && found.nr) {
		list = arena_copy(e->arena, found.list, found.nr * sizeof(*list));
		ret = list ? 0 : -ENOMEM;
	}
	free(found.list);
	if (ret)
		return ret;
	*ret_list = list;
	*ret_nr = found.nr;
	return 0;
}
