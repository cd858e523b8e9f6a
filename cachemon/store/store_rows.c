/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "cachemon/store/store_impl.h"

/* The rows of one transaction. Unmeasured figures are bound as NULL, whatever the sums are. */

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
		bind_count(b, cost->part_ns[i]);
}

void rows_write_run(struct store *st, const struct ledger *l, const char *state,
		    const int *exit_status)
{
	struct binder b = bind_first(st, S_RUN_UPDATE);

	bind_int(&b, st->run_id);
	bind_int(&b, (int64_t)st->duration_ns);
	bind_text(&b, state);
	bind_known(&b, exit_status, exit_status ? *exit_status : 0);
	bind_int(&b, st->sliced);
	bind_int(&b, (int64_t)st->read_on_ns);
	bind_count(&b, st->cost.cpu_ns);
	bind_count(&b, st->cost.probe_cpu_ns);
	bind_count(&b, st->cost.collector_cpu_ns);
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
	bind_count(&b, st->recursion_misses);
	bind_int(&b, (int64_t)st->intervals_lost);
	bind_int(&b, (int64_t)ledger_law_error(l));
	bind_int(&b, (int64_t)st->marks_dropped);
	bind_run(&b);
}

static void write_job(struct store *st, const struct ledger *l, int slot)
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
	bind_run(&b);
}

/* The lengths of the sleeps of a job or a file. */
static void write_waits(struct store *st, enum statement s, int64_t id, const uint64_t *sleeps)
{
	for (int i = 0; i < WAIT_BUCKETS; i++) {
		struct binder b;

		if (!sleeps[i])
			continue;
		b = bind_first(st, s);
		bind_int(&b, id);
		bind_int(&b, counter_wait_ns(i));
		bind_known(&b, i < WAIT_BUCKETS - 1, counter_wait_ns(i + 1));
		bind_int(&b, (int64_t)sleeps[i]);
		bind_run(&b);
	}
}

/* If the waits of a job turn out to be unmeasured, their rows are deleted. */
static void write_job_waits(struct store *st, const struct ledger *l, int slot)
{
	if (st->measured.counter[slot][C_stalls]) {
		write_waits(st, S_WAIT, st->job_ids[slot], ledger_job(l, slot)->facts.sleeps);
		return;
	}
	if (!st->waits_stored[slot])
		return;
	for (int i = 0; i < 2; i++) {
		struct binder b = bind_first(st, i ? S_FILE_WAIT_DROP : S_WAIT_DROP);

		bind_int(&b, st->job_ids[slot]);
		bind_run(&b);
	}
}

static void bind_mark(struct binder *b, const struct ledger_mark *m)
{
	bind_known(b, m->db_id, m->db_id);
}

static void run_mark(struct binder *b, struct ledger_mark *m)
{
	if (!bind_run(b))
		return;
	if (!m->db_id) {
		m->db_id = sqlite3_last_insert_rowid(b->st->file->db);
		m->fresh = true;
	}
	m->written = true;
}

static void write_directory(struct store *st, struct ledger_directory *d)
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
	run_mark(&b, &d->mark);
}

void bind_key(struct binder *b, const struct file_key *key)
{
	bind_int(b, key->dev >> 20);
	bind_int(b, key->dev & 0xfffff);
	bind_int(b, (int64_t)key->ino);
	bind_int(b, key->gen);
}

static void write_file(struct store *st, struct ledger_file *f)
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
	run_mark(&b, &f->mark);
	if (f->slept && measured[C_stalls] && f->mark.db_id)
		write_waits(st, S_FILE_WAIT, f->mark.db_id, f->sleeps);
}

static void write_filesystem(struct store *st, struct ledger_filesystem *f)
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
	run_mark(&b, &f->mark);
}

static bool brings_pages(const struct ledger_advice *a)
{
	return a->kind == ADVICE_WILLNEED || a->kind == ADVICE_READAHEAD;
}

/* Fates of the pages that the advice brought in, if all were tracked apart from other pages. */
static void bind_fates(struct store *st, struct binder *b, const struct ledger_advice *a)
{
	const struct advice_row *r = &a->row;
	const bool *measured = st->measured.counter[a->job];
	int64_t sum = (int64_t)(r->used + r->used_late + r->evicted_unused + r->untracked) +
		      r->resident_unused;
	bool known = brings_pages(a) && !r->mixed && r->resident_unused >= 0 &&
		     sum == (int64_t)r->pages_brought && measured[C_untracked];

	bind_known(b, known && measured[C_used], (int64_t)r->used);
	bind_known(b, known && measured[C_used], (int64_t)r->used_late);
	bind_known(b, known && measured[C_used], (int64_t)r->evicted_unused);
	bind_known(b, known && measured[C_used], r->resident_unused);
	bind_known(b, known, (int64_t)r->untracked);
}

/* The pages that the calls found cached, and those they dropped that came back. */
static void bind_found(struct store *st, struct binder *b, const struct ledger_advice *a)
{
	const struct advice_row *r = &a->row;
	bool looked = r->calls > 0 && r->looked == r->calls;
	bool followed = a->kind == ADVICE_DONTNEED && r->dropped_own == r->pages_dropped &&
			st->measured.counter[a->job][C_refaults] && !st->losses.ghosts_dropped &&
			!st->losses.chunk_full;

	bind_known(b, looked, (int64_t)r->pages_cached);
	bind_known(b, looked && brings_pages(a), (int64_t)r->pages_cached);
	bind_known(b, followed, (int64_t)r->dropped_refaults);
	bind_known(b, followed, (int64_t)r->dropped_refaults_others);
}

static void write_advice(struct store *st, struct ledger_advice *a)
{
	static const char *const kinds[] = {
		[ADVICE_WILLNEED] = "willneed",	    [ADVICE_DONTNEED] = "dontneed",
		[ADVICE_SEQUENTIAL] = "sequential", [ADVICE_RANDOM] = "random",
		[ADVICE_NORMAL] = "normal",	    [ADVICE_NOREUSE] = "noreuse",
		[ADVICE_READAHEAD] = "readahead",
	};
	static const char *const calls[] = {
		[CALL_FADVISE] = "fadvise",
		[CALL_MADVISE] = "madvise",
		[CALL_READAHEAD] = "readahead",
	};
	struct binder b = bind_first(st, S_ADVICE);
	/* Advice known only by its effect on the file: no call and no range was seen. */
	bool seen = a->row.calls > 0, ranged = seen && a->row.begin_bytes != ~0ULL;

	bind_mark(&b, &a->mark);
	bind_int(&b, st->job_ids[a->job]);
	bind_key(&b, &a->key);
	bind_text(&b, kinds[a->kind]);
	bind_text(&b, calls[a->call]);
	bind_bytes(&b, a->path);
	bind_known(&b, seen, (int64_t)a->row.calls);
	bind_known(&b, ranged, (int64_t)a->row.begin_bytes);
	bind_known(&b, ranged && a->row.end_bytes != ~0ULL,
		   (int64_t)(a->row.end_bytes - a->row.begin_bytes));
	bind_known(&b, ranged, (int64_t)a->row.pages_asked);
	bind_int(&b, (int64_t)a->row.pages_brought);
	bind_int(&b, (int64_t)a->row.pages_dropped);
	bind_fates(st, &b, a);
	bind_found(st, &b, a);
	run_mark(&b, &a->mark);
}

/* For dropped pages that did not fit or were dropped from the page state, it is unknown whether
 * they came back. */
static void forget_advice(struct store *st)
{
	struct binder b;

	if (!st->losses.ghosts_dropped && !st->losses.chunk_full)
		return;
	b = bind_first(st, S_ADVICE_FORGET);
	bind_int(&b, st->job_ids[JOB_WATCHED]);
	bind_run(&b);
}

/* Names of commands are bytes; the column is text. Invalid UTF-8 becomes '?'. Returns the text,
 * which must live until the row is written, or NULL without a name. */
static const char *comm_text(const char *comm, char text[COMM_BYTES + 1])
{
	size_t n = 0;

	for (; n < COMM_BYTES && comm[n]; n++)
		text[n] = (char)((unsigned char)comm[n] < 0x80 ? comm[n] : '?');
	text[n] = '\0';
	return n ? text : NULL;
}

static void bind_directory(struct binder *b, const struct ledger *l, uint32_t number)
{
	bind_bytes(b, number == LEDGER_NOWHERE ? NULL : ledger_directory(l, number)->path);
}

static void write_interference(struct store *st, const struct ledger *l,
			       struct ledger_interference *r)
{
	static const char *const kinds[] = {NULL, "own", "others", "kernel"};
	const struct interference_key *k = &r->key;
	struct binder b = bind_first(st, S_INTERFERENCE);
	char comm[COMM_BYTES + 1];

	bind_mark(&b, &r->mark);
	bind_int(&b, st->job_ids[JOB_WATCHED]);
	bind_text(&b, counter_name(C_evicted_first + k->cause) + sizeof("evicted_") - 1);
	bind_text(&b, kinds[k->kind]);
	bind_text(&b, comm_text(k->comm, comm));
	bind_directory(&b, l, k->reached);
	bind_known(&b, k->does != DOES_NEITHER, k->does == DOES_WRITE);
	bind_directory(&b, l, k->owner);
	bind_int(&b, k->exact);
	bind_bytes(&b, r->cgroup);
	bind_int(&b, (int64_t)r->pages);
	run_mark(&b, &r->mark);
}

static void delete_folded(struct store *st, const struct ledger *l)
{
	size_t nr;
	const int64_t *dead = ledger_dead(l, &nr);

	for (size_t i = 0; i < nr; i++) {
		struct binder b = bind_first(st, S_FILE_DELETE);

		bind_int(&b, dead[i]);
		bind_run(&b);
	}
}

/*
 * Directories come before the files that refer to them; folded files are deleted before they can
 * return under a new id. Files not written now are written with a later interval.
 */
void rows_write_sums(struct store *st, struct ledger *l, bool files)
{
	for (int slot = 0; slot < JOB_NR; slot++) {
		write_job(st, l, slot);
		write_job_waits(st, l, slot);
	}
	for (size_t i = 0; i < ledger_nr_directories(l); i++)
		if (ledger_directory(l, i)->mark.dirty)
			write_directory(st, ledger_directory(l, i));
	delete_folded(st, l);
	for (size_t i = 0; files && i < ledger_nr_files(l); i++)
		if (ledger_file(l, i)->mark.dirty)
			write_file(st, ledger_file(l, i));
	for (size_t i = 0; i < ledger_nr_filesystems(l); i++)
		if (ledger_filesystem(l, i)->mark.dirty)
			write_filesystem(st, ledger_filesystem(l, i));
	for (size_t i = 0; i < ledger_nr_advice(l); i++)
		if (ledger_advice(l, i)->mark.dirty)
			write_advice(st, ledger_advice(l, i));
	for (size_t i = 0; i < ledger_nr_interference(l); i++)
		if (ledger_interference(l, i)->mark.dirty)
			write_interference(st, l, ledger_interference(l, i));
	forget_advice(st);
}

static void write_job_interval(struct store *st, const struct ledger *l, int64_t interval, int slot)
{
	const struct ledger_job *j = ledger_job(l, slot);
	bool facts = st->measured.facts[slot];
	struct binder b = bind_first(st, S_JOB_INTERVAL);

	bind_int(&b, interval);
	bind_int(&b, st->job_ids[slot]);
	bind_known(&b, facts, (int64_t)j->last_cpu_ns);
	bind_known(&b, facts, (int64_t)j->last_rchar_bytes);
	bind_counters(&b, &j->last, st->measured.counter[slot]);
	bind_run(&b);
}

static void write_file_intervals(struct store *st, struct ledger *l, int64_t interval)
{
	ledger_sort_active(l);
	for (size_t i = 0; i < ledger_nr_active(l); i++) {
		const struct ledger_file *f = ledger_active(l, i);
		struct binder b = bind_first(st, S_FILE_INTERVAL);

		bind_int(&b, interval);
		bind_int(&b, f->mark.db_id);
		bind_counters(&b, &f->last, st->measured.counter[f->job]);
		bind_run(&b);
	}
}

static void write_directory_intervals(struct store *st, const struct ledger *l, int64_t interval)
{
	for (size_t i = 0; i < ledger_nr_active_directories(l); i++) {
		const struct ledger_directory *d = ledger_active_directory(l, i);
		struct binder b = bind_first(st, S_DIRECTORY_INTERVAL);

		bind_int(&b, interval);
		bind_int(&b, d->mark.db_id);
		bind_counters(&b, &d->last, st->measured.counter[d->job]);
		bind_run(&b);
	}
}

static void write_marks(struct store *st, const struct sample *s)
{
	for (size_t i = 0; i < s->nr_marks; i++) {
		const struct sample_mark *m = &s->marks[i];
		struct binder b = bind_first(st, S_MARK);

		bind_int(&b, st->job_ids[JOB_WATCHED]);
		bind_int(&b, (int64_t)m->number);
		bind_int(&b, (int64_t)m->at_ns);
		bind_blob(&b, m->text, m->len);
		bind_int(&b, (int64_t)m->read_on_ns);
		bind_known(&b, st->measured.facts[JOB_WATCHED], (int64_t)m->cpu_ns);
		bind_int(&b, (int64_t)m->late_ns);
		bind_counters(&b, &m->total, st->measured.counter[JOB_WATCHED]);
		bind_run(&b);
	}
}

static void write_passes(struct store *st, const struct passes *p, int64_t interval)
{
	for (size_t i = 0; i < p->nr; i++) {
		struct binder b = bind_first(st, S_PASS_INTERVAL);

		bind_int(&b, interval);
		bind_int(&b, (int64_t)p->list[i].pass);
		bind_int(&b, (int64_t)p->list[i].read_bytes);
		bind_int(&b, (int64_t)p->list[i].file_bytes);
		bind_int(&b, (int64_t)p->list[i].brought_pages);
		bind_int(&b, (int64_t)p->list[i].file_pages);
		bind_run(&b);
	}
}

static void write_processes(struct store *st, const struct sample *s, int64_t interval)
{
	bool waits = st->measured.counter[JOB_WATCHED][C_stall_ns];
	bool reads = st->measured.facts[JOB_WATCHED];

	for (size_t i = 0; (waits || reads) && i < s->nr_processes; i++) {
		const struct sample_process *p = &s->processes[i];
		struct binder b = bind_first(st, S_PROCESS_INTERVAL);
		char comm[COMM_BYTES + 1];

		bind_int(&b, interval);
		bind_int(&b, p->pid);
		bind_text(&b, comm_text(p->row.comm, comm));
		bind_known(&b, waits, (int64_t)p->row.stall_ns);
		bind_known(&b, waits, (int64_t)p->row.stalls);
		bind_known(&b, reads, (int64_t)p->row.rchar_bytes);
		bind_known(&b, reads, (int64_t)p->row.syscr_calls);
		bind_run(&b);
	}
}

/* After rows_write_sums(), which gives files and directories their ids. */
void rows_write_interval(struct store *st, struct ledger *l, const struct sample *s)
{
	struct binder b = bind_first(st, S_INTERVAL);
	int64_t interval;

	bind_int(&b, st->run_id);
	bind_int(&b, (int64_t)s->start_ns);
	bind_int(&b, (int64_t)s->duration_ns);
	bind_int(&b, (int64_t)s->read_on_ns);
	bind_run(&b);
	interval = sqlite3_last_insert_rowid(st->file->db);
	for (int slot = 0; slot < JOB_NR; slot++)
		write_job_interval(st, l, interval, slot);
	write_directory_intervals(st, l, interval);
	if (!s->no_file_rows)
		write_file_intervals(st, l, interval);
	if (s->machine)
		machine_rows_write(st, s, interval);
	write_passes(st, &s->passes, interval);
	if (st->measured.counter[JOB_WATCHED][C_stall_ns])
		write_processes(st, s, interval);
	write_marks(st, s);
}
