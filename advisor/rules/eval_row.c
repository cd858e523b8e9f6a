/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/rules/eval_row.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static const char *const names[ROW_NR] = {
	[ROW_JOB_ID] = "job_id",	 [ROW_SUBJECT_KIND] = "subject_kind",
	[ROW_SUBJECT] = "subject",	 [ROW_SEVERITY] = "severity",
	[ROW_CONFIDENCE] = "confidence", [ROW_EVIDENCE] = "evidence",
	[ROW_SUMMARY] = "summary",	 [ROW_GAIN_VALUE] = "gain_value",
	[ROW_GAIN_UNIT] = "gain_unit",	 [ROW_GAIN_METHOD] = "gain_method",
	[ROW_GAIN_CAUSE] = "gain_cause", [ROW_NOT_JUDGED] = "not_judged",
};

enum { ROW_NEEDED = ROW_EVIDENCE + 1, EVIDENCE_MAX = 64 };

int row_begin(struct row_reader *r, sqlite3_stmt *stmt, struct errtext *err)
{
	/* Integers stay exact: a JSON parser that uses doubles would round them. */
	static const char sql[] =
		"SELECT json_extract(value, '$.metric'), json_extract(value, '$.unit'), "
		"json_extract(value, '$.scope'), json_type(value, '$.value'), "
		"json_extract(value, '$.value') FROM json_each(?1) WHERE json_valid(?1)";
	int nr = sqlite3_column_count(stmt);

	r->stmt = stmt;
	for (int i = 0; i < ROW_NR; i++) {
		r->column[i] = -1;
		for (int c = 0; c < nr; c++)
			if (strcmp(sqlite3_column_name(stmt, c), names[i]) == 0)
				r->column[i] = c;
		if (i < ROW_NEEDED && r->column[i] < 0)
			return errtext_set(err, -EINVAL,
					   "%s:%d: the query has no column '%s'; name one with "
					   "AS %s",
					   r->rule->file, r->rule->sql_line, names[i], names[i]);
	}
	if (sqlite3_prepare_v2(r->db, sql, -1, &r->evidence, NULL) != SQLITE_OK)
		return errtext_set(err, -EIO, "%s: evidence cannot be read: %s", r->rule->file,
				   sqlite3_errmsg(r->db));
	return 0;
}

void row_end(struct row_reader *r)
{
	sqlite3_finalize(r->evidence);
	r->evidence = NULL;
}

static int wrong_row(const struct row_reader *r, enum row_column c, const char *want,
		     struct errtext *err)
{
	return errtext_set(err, -EINVAL, "%s:%d: a row's %s is not %s; fix the query",
			   r->rule->file, r->rule->sql_line, names[c], want);
}

static bool is_null(const struct row_reader *r, enum row_column c)
{
	return r->column[c] < 0 || sqlite3_column_type(r->stmt, r->column[c]) == SQLITE_NULL;
}

static struct bytes get_bytes(const struct row_reader *r, enum row_column c)
{
	const void *data;

	if (is_null(r, c))
		return (struct bytes){0};
	data = sqlite3_column_type(r->stmt, r->column[c]) == SQLITE_BLOB
		       ? sqlite3_column_blob(r->stmt, r->column[c])
		       : sqlite3_column_text(r->stmt, r->column[c]);
	return arena_bytes(r->arena, data, (size_t)sqlite3_column_bytes(r->stmt, r->column[c]));
}

static bool get_real(const struct row_reader *r, enum row_column c, double *ret)
{
	int type = is_null(r, c) ? SQLITE_NULL : sqlite3_column_type(r->stmt, r->column[c]);

	if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
		return false;
	*ret = sqlite3_column_double(r->stmt, r->column[c]);
	return isfinite(*ret);
}

/* The number of a word in list; -1: none of them. */
static int word_of(const struct row_reader *r, enum row_column c, const char *const list[], int nr)
{
	const char *word =
		is_null(r, c) ? NULL : (const char *)sqlite3_column_text(r->stmt, r->column[c]);

	for (int i = 0; word && i < nr; i++)
		if (strcmp(word, list[i]) == 0)
			return i;
	return -1;
}

static int read_gain(const struct row_reader *r, struct gain *ret, struct errtext *err)
{
	int unit;
	int method;

	if (is_null(r, ROW_GAIN_VALUE))
		return 0;
	if (!get_real(r, ROW_GAIN_VALUE, &ret->value) || ret->value < 0)
		return wrong_row(r, ROW_GAIN_VALUE, "a number of at least 0, or NULL", err);
	unit = word_of(r, ROW_GAIN_UNIT, gain_unit_names, GAIN_UNIT_NR);
	if (unit < 0)
		return wrong_row(r, ROW_GAIN_UNIT, "'s' or 'bytes'", err);
	method = word_of(r, ROW_GAIN_METHOD, gain_method_names, GAIN_METHOD_NR);
	if (method < 0)
		return wrong_row(r, ROW_GAIN_METHOD, "'measured', 'model' or 'bound'", err);
	ret->unit = (enum gain_unit)unit;
	ret->method = (enum gain_method)method;
	ret->known = true;
	return 0;
}

static const char *column_text(const struct row_reader *r, int c)
{
	const void *text = sqlite3_column_text(r->evidence, c);

	return text ? arena_bytes(r->arena, text, (size_t)sqlite3_column_bytes(r->evidence, c)).data
		    : NULL;
}

static bool read_evidence_row(const struct row_reader *r, struct evidence *ret)
{
	const char *type = (const char *)sqlite3_column_text(r->evidence, 3);

	if (!type || strcmp(type, "array") == 0 || strcmp(type, "object") == 0)
		return false;
	ret->metric = column_text(r, 0);
	ret->unit = column_text(r, 1);
	ret->scope = column_text(r, 2);
	ret->is_text = strcmp(type, "text") == 0;
	if (strcmp(type, "true") == 0 || strcmp(type, "false") == 0)
		ret->value = arena_text(r->arena, type);
	else if (strcmp(type, "real") == 0)
		ret->value = arena_print(r->arena, "%.15g", sqlite3_column_double(r->evidence, 4));
	else
		ret->value = column_text(r, 4);
	return ret->metric && ret->unit && ret->scope;
}

static int read_evidence(struct row_reader *r, struct finding *f, struct errtext *err)
{
	static const char want[] = "a json_array() of objects with metric, value, unit and scope";
	struct bytes json = get_bytes(r, ROW_EVIDENCE);
	struct evidence list[EVIDENCE_MAX];
	int rc;

	if (!json.data)
		return r->arena->failed ? -ENOMEM : wrong_row(r, ROW_EVIDENCE, want, err);
	sqlite3_reset(r->evidence);
	sqlite3_bind_text(r->evidence, 1, json.data, (int)json.len, SQLITE_STATIC);
	while ((rc = sqlite3_step(r->evidence)) == SQLITE_ROW && f->nr_evidence < EVIDENCE_MAX) {
		list[f->nr_evidence] = (struct evidence){0};
		if (!read_evidence_row(r, &list[f->nr_evidence++]))
			return r->arena->failed ? -ENOMEM : wrong_row(r, ROW_EVIDENCE, want, err);
	}
	if (rc != SQLITE_DONE || !f->nr_evidence)
		return wrong_row(r, ROW_EVIDENCE, want, err);
	f->evidence = arena_copy(r->arena, list, f->nr_evidence * sizeof(*list));
	return f->evidence ? 0 : -ENOMEM;
}

int row_read_doubt(struct row_reader *r, struct finding *f, const char **ret_reason,
		   struct errtext *err)
{
	const char *reason = get_bytes(r, ROW_NOT_JUDGED).data;

	if (r->arena->failed)
		return -ENOMEM;
	if (reason && is_null(r, ROW_JOB_ID))
		return wrong_row(r, ROW_JOB_ID, "the id of a job", err);
	*ret_reason = reason;
	if (!reason)
		return 0;
	f->job_id = sqlite3_column_int64(r->stmt, r->column[ROW_JOB_ID]);
	return read_gain(r, &f->gain, err);
}

int row_read(struct row_reader *r, struct finding *f, struct errtext *err)
{
	int severity = word_of(r, ROW_SEVERITY, severity_names, SEVERITY_NR);
	int kind = word_of(r, ROW_SUBJECT_KIND, subject_names, SUBJECT_NR);
	struct bytes summary;
	int e;

	if (is_null(r, ROW_JOB_ID))
		return wrong_row(r, ROW_JOB_ID, "the id of a job", err);
	if (severity < 0)
		return wrong_row(r, ROW_SEVERITY, "info, low, medium or high", err);
	if (kind < 0)
		return wrong_row(r, ROW_SUBJECT_KIND, "job, file, directory or device", err);
	if (!get_real(r, ROW_CONFIDENCE, &f->confidence) || f->confidence < 0 || f->confidence > 1)
		return wrong_row(r, ROW_CONFIDENCE, "a number from 0 to 1", err);
	f->job_id = sqlite3_column_int64(r->stmt, r->column[ROW_JOB_ID]);
	f->severity = (enum severity)severity;
	f->kind = (enum subject_kind)kind;
	f->subject = get_bytes(r, ROW_SUBJECT);
	f->cause = get_bytes(r, ROW_GAIN_CAUSE).data;
	summary = get_bytes(r, ROW_SUMMARY);
	f->summary = summary.data ? summary.data : r->rule->title;
	e = read_gain(r, &f->gain, err);
	if (!e)
		e = read_evidence(r, f, err);
	return !e && r->arena->failed ? -ENOMEM : e;
}
