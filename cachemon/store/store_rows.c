/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "cachemon/store/store_impl.h"

/* The rows of one transaction. What is not measured is bound as NULL, whatever the sums say. */

/* In the order of the statement. */
static void bind_budget(struct binder *b, const struct sample_cost *cost)
{
	bool judged = cost->budget >= 0 && cost->share >= 0;
	double over = cost->share - cost->budget;

	bind_real(b, cost->budget);
	bind_real(b, cost->share);
	bind_known(b, judged, over <= 0);
	bind_real(b, judged && over > 0 ? over : -1);
	for (int i = 0; i < COST_PARTS; i++)
		bind_known(b, cost->part_ns[i] >= 0, cost->part_ns[i]);
}

int rows_write_run(struct store *st, const struct ledger *l, const char *state,
		   const int *exit_status)
{
	struct binder b = bind_first(st, S_RUN);

	bind_int(&b, (int64_t)st->duration_ns);
	bind_text(&b, state);
	bind_known(&b, exit_status, exit_status ? *exit_status : 0);
	bind_int(&b, st->sliced);
	bind_int(&b, (int64_t)st->read_on_ns);
	bind_known(&b, st->cost.cpu_ns >= 0, st->cost.cpu_ns);
	bind_known(&b, st->cost.probe_cpu_ns >= 0, st->cost.probe_cpu_ns);
	bind_int(&b, (int64_t)st->cost.collector_cpu_ns);
	bind_real(&b, st->cost.probe_ns_per_lookup);
	bind_real(&b, st->cost.share_of_job_cpu);
	bind_real(&b, st->cost.advice_calls_ns);
	bind_budget(&b, &st->cost);
	bind_int(&b, (int64_t)st->losses.map_full);
	bind_int(&b, (int64_t)st->losses.chunk_full);
	bind_int(&b, (int64_t)st->losses.ring_drops);
	bind_int(&b, (int64_t)st->losses.state_drops);
	bind_int(&b, (int64_t)st->losses.ghosts_dropped);
	bind_int(&b, (int64_t)(st->losses.advice_full + ledger_advice_lost(l)));
	bind_known(&b, st->recursion_misses >= 0, st->recursion_misses);
	bind_int(&b, (int64_t)st->intervals_lost);
	bind_int(&b, (int64_t)ledger_law_error(l));
	bind_int(&b, st->run_id);
	return bind_run(&b);
}

static int write_job(struct store *st, const struct ledger *l, int slot)
{
	const struct ledger_job *j = ledger_job(l, slot);
	const bool *measured = st->measured.counter[slot];
	bool facts = st->measured.facts[slot];
	struct binder b = bind_first(st, S_JOB_UPDATE);

	bind_int(&b, st->job_ids[slot]);
	bind_int(&b, st->run_id);
	bind_int(&b, slot);
	bind_text(&b, st->job_names[slot]);
	bind_text(&b, st->job_selectors[slot]);
	bind_known(&b, facts, (int64_t)j->facts.processes);
	bind_known(&b, facts, (int64_t)j->facts.alive);
	bind_int(&b, (int64_t)st->duration_ns);
	bind_known(&b, facts, (int64_t)j->facts.cpu_ns);
	bind_known(&b, facts, (int64_t)j->facts.rchar_bytes);
	bind_known(&b, facts, (int64_t)j->facts.syscr_calls);
	bind_counters(&b, &j->total, measured);
	return bind_run(&b);
}

void bind_mark(struct binder *b, const struct ledger_mark *m)
{
	bind_known(b, m->db_id, m->db_id);
}

int run_mark(struct store *st, struct binder *b, struct ledger_mark *m)
{
	int rc = bind_run(b);

	if (rc != SQLITE_OK)
		return rc;
	if (!m->db_id) {
		m->db_id = sqlite3_last_insert_rowid(st->db);
		m->fresh = true;
	}
	m->written = true;
	return rc;
}

static int write_directory(struct store *st, struct ledger_directory *d)
{
	const bool *measured = st->measured.counter[d->job];
	struct binder b = bind_first(st, d->mark.db_id ? S_DIRECTORY_UPDATE : S_DIRECTORY_INSERT);

	bind_mark(&b, &d->mark);
	bind_int(&b, st->job_ids[d->job]);
	bind_bytes(&b, d->path);
	bind_known(&b, d->job != JOB_OTHERS, (int64_t)d->files);
	bind_int(&b, d->files_estimated);
	bind_int(&b, d->subdirectories);
	bind_counters(&b, &d->total, measured);
	return run_mark(st, &b, &d->mark);
}

void bind_key(struct binder *b, const struct file_key *key)
{
	bind_int(b, key->dev >> 20);
	bind_int(b, key->dev & 0xfffff);
	bind_int(b, (int64_t)key->ino);
	bind_int(b, key->gen);
}

static int write_file(struct store *st, struct ledger_file *f)
{
	const bool *measured = st->measured.counter[f->job];
	struct binder b = bind_first(st, f->mark.db_id ? S_FILE_UPDATE : S_FILE_INSERT);

	bind_mark(&b, &f->mark);
	bind_int(&b, st->job_ids[f->job]);
	bind_key(&b, &f->key);
	bind_int(&b, f->folded_before);
	bind_int(&b, f->directory->mark.db_id);
	bind_text(&b, f->fstype[0] ? f->fstype : NULL);
	bind_known(&b, f->size_bytes != SAMPLE_SIZE_UNKNOWN, (int64_t)f->size_bytes);
	bind_bytes(&b, f->path);
	bind_int(&b, f->deleted);
	bind_counters(&b, &f->total, measured);
	return run_mark(st, &b, &f->mark);
}

static int write_filesystem(struct store *st, struct ledger_filesystem *f)
{
	const bool *measured = st->measured.counter[f->job];
	struct binder b = bind_first(st, f->mark.db_id ? S_FILESYSTEM_UPDATE : S_FILESYSTEM_INSERT);

	bind_mark(&b, &f->mark);
	bind_int(&b, st->job_ids[f->job]);
	bind_known(&b, !f->rest, f->dev >> 20);
	bind_known(&b, !f->rest, f->dev & 0xfffff);
	bind_text(&b, f->type);
	bind_bytes(&b, f->mount);
	bind_text(&b, f->cover);
	bind_text(&b, f->why);
	bind_int(&b, (int64_t)f->files);
	bind_int(&b, f->files_estimated);
	bind_counters(&b, &f->total, measured);
	return run_mark(st, &b, &f->mark);
}

static int delete_folded(struct store *st, const struct ledger *l)
{
	size_t nr;
	const int64_t *dead = ledger_dead(l, &nr);
	int rc = SQLITE_OK;

	for (size_t i = 0; i < nr && rc == SQLITE_OK; i++) {
		struct binder b = bind_first(st, S_FILE_DELETE);

		bind_int(&b, dead[i]);
		rc = bind_run(&b);
	}
	return rc;
}

/*
 * Directories before the files that point to them; folded files go before their like comes back
 * under a new id. Files that are not written now are with the next that are.
 */
int rows_write_sums(struct store *st, struct ledger *l, bool files)
{
	int rc = SQLITE_OK;

	for (int slot = 0; slot < JOB_NR && rc == SQLITE_OK; slot++)
		rc = write_job(st, l, slot);
	for (size_t i = 0; i < ledger_nr_directories(l) && rc == SQLITE_OK; i++)
		if (ledger_directory(l, i)->mark.dirty)
			rc = write_directory(st, ledger_directory(l, i));
	if (rc == SQLITE_OK)
		rc = delete_folded(st, l);
	for (size_t i = 0; files && i < ledger_nr_files(l) && rc == SQLITE_OK; i++)
		if (ledger_file(l, i)->mark.dirty)
			rc = write_file(st, ledger_file(l, i));
	for (size_t i = 0; i < ledger_nr_filesystems(l) && rc == SQLITE_OK; i++)
		if (ledger_filesystem(l, i)->mark.dirty)
			rc = write_filesystem(st, ledger_filesystem(l, i));
	for (size_t i = 0; i < ledger_nr_advice(l) && rc == SQLITE_OK; i++)
		if (ledger_advice(l, i)->mark.dirty)
			rc = advice_rows_write(st, ledger_advice(l, i));
	for (size_t i = 0; i < ledger_nr_interference(l) && rc == SQLITE_OK; i++)
		if (ledger_interference(l, i)->mark.dirty)
			rc = interference_rows_write(st, l, ledger_interference(l, i));
	return rc == SQLITE_OK ? advice_rows_forget(st) : rc;
}

static int write_job_interval(struct store *st, const struct ledger *l, int64_t interval, int slot)
{
	const struct ledger_job *j = ledger_job(l, slot);
	bool facts = st->measured.facts[slot];
	struct binder b = bind_first(st, S_JOB_INTERVAL);

	bind_int(&b, interval);
	bind_int(&b, st->job_ids[slot]);
	bind_known(&b, facts, (int64_t)j->last_cpu_ns);
	bind_known(&b, facts, (int64_t)j->last_rchar_bytes);
	bind_counters(&b, &j->last, st->measured.counter[slot]);
	return bind_run(&b);
}

static int write_file_intervals(struct store *st, struct ledger *l, int64_t interval)
{
	int rc = SQLITE_OK;

	ledger_sort_active(l);
	for (size_t i = 0; i < ledger_nr_active(l) && rc == SQLITE_OK; i++) {
		const struct ledger_file *f = ledger_active(l, i);
		struct binder b = bind_first(st, S_FILE_INTERVAL);

		bind_int(&b, interval);
		bind_int(&b, f->mark.db_id);
		bind_counters(&b, &f->last, st->measured.counter[f->job]);
		rc = bind_run(&b);
	}
	return rc;
}

/* After rows_write_sums(): the files have their ids. */
int rows_write_interval(struct store *st, struct ledger *l, const struct sample *s)
{
	struct binder b = bind_first(st, S_INTERVAL);
	int64_t interval;
	int rc;

	bind_int(&b, st->run_id);
	bind_int(&b, (int64_t)s->start_ns);
	bind_int(&b, (int64_t)s->duration_ns);
	bind_int(&b, (int64_t)s->read_on_ns);
	rc = bind_run(&b);
	interval = sqlite3_last_insert_rowid(st->db);
	for (int slot = 0; slot < JOB_NR && rc == SQLITE_OK; slot++)
		rc = write_job_interval(st, l, interval, slot);
	if (rc == SQLITE_OK && !s->no_file_rows)
		rc = write_file_intervals(st, l, interval);
	return rc == SQLITE_OK && s->machine ? machine_rows_write(st, s, interval) : rc;
}
