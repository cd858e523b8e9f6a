/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/store/store_wording.h"

#include <errno.h>
#include <stdio.h>

#include "cachemon/store/migrate.h"
#include "cachemon/store/store_impl.h"

static void bind_opt(struct binder *b, struct opt_i64 v)
{
	bind_known(b, v.known, v.value);
}

static void insert_wording(struct store *st, const struct store_wording *w)
{
	struct binder b = bind_first(st, S_WORDING);

	bind_int(&b, w->run_id);
	bind_int(&b, w->job_id);
	bind_int(&b, w->asked_ns);
	bind_text(&b, w->question);
	bind_text(&b, w->prompt_sha256);
	bind_text(&b, w->api);
	bind_text(&b, w->host);
	bind_text(&b, w->model);
	bind_text(&b, w->outcome);
	bind_text(&b, w->reason);
	bind_opt(&b, w->tokens_in);
	bind_opt(&b, w->tokens_out);
	bind_int(&b, w->attempts);
	bind_int(&b, w->duration_ns);
	bind_int(&b, w->redacted);
	bind_int(&b, w->kept);
	bind_int(&b, w->dropped);
	bind_text(&b, w->answer);
	bind_run(&b);
}

/* A writer of an older schema could not read its own summary if the schema changed below it. */
static int check_writer(struct store *st, struct errtext *err)
{
	static const char sql[] = "SELECT (SELECT user_version FROM pragma_user_version) < ?1 "
				  "AND EXISTS (SELECT 1 FROM run WHERE state = 'open')";
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(st->file->db, sql, -1, &stmt, NULL);
	bool older = false;

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int(stmt, 1, SCHEMA_NEWEST);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	older = rc == SQLITE_ROW && sqlite3_column_int(stmt, 0);
	sqlite3_finalize(stmt);
	if (rc != SQLITE_ROW)
		return store_fail(st->file->db, st->file->path, rc, "read", NULL, err);
	if (!older)
		return 0;
	return errtext_set(err, -EBUSY, "an older cachemon may still be writing a run of %s",
			   st->file->path);
}

static void update_head(struct store *st, const struct job_head *h)
{
	struct binder b = bind_first(st, S_HEAD);

	bind_int(&b, h->job_id);
	bind_text(&b, h->answer);
	bind_text(&b, h->grade);
	bind_real(&b, h->score.known ? h->score.value : -1);
	bind_text(&b, h->finding);
	bind_text(&b, h->title);
	bind_run(&b);
}

/* Either of the two. */
struct put {
	const struct store_wording *wording;
	const struct job_head *heads;
	size_t nr_heads;
};

static int write_put(struct store *st, const struct put *p, struct errtext *err)
{
	int ret = store_open_existing(st->file, err);

	if (!ret)
		ret = check_writer(st, err);
	if (!ret)
		ret = migrate_apply_builtin(st->file->db, st->file->path, err);
	if (ret)
		return ret;
	st->rc = statement_prepare(st->file, p->heads ? S_HEAD : S_WORDING);
	if (st->rc == SQLITE_OK)
		store_start(st);
	for (size_t i = 0; p->heads && st->rc == SQLITE_OK && i < p->nr_heads; i++)
		update_head(st, &p->heads[i]);
	if (st->rc == SQLITE_OK && p->wording)
		insert_wording(st, p->wording);
	return store_finish(st, "write", NULL, err);
}

static int put(const struct store_config *c, const struct put *p, struct errtext *err)
{
	struct store_file f = {
		.path = (char *)c->path,
		.as = c->as,
		.limits = c->limits ? *c->limits : store_limits_default(),
	};
	int ret = store_enter(&f, err);

	if (ret)
		return ret;
	ret = write_put(&(struct store){.file = &f}, p, err);
	statements_finalize(&f);
	sqlite3_close(f.db);
	store_leave(&f);
	return ret;
}

int store_put_wording(const struct store_config *c, const struct store_wording *w,
		      struct errtext *err)
{
	return put(c, &(struct put){.wording = w}, err);
}

int store_put_heads(const struct store_config *c, const struct job_head *heads, size_t nr,
		    struct errtext *err)
{
	return put(c, &(struct put){.heads = heads, .nr_heads = nr}, err);
}
