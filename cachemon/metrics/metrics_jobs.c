/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/metrics/metrics_jobs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/vec.h"

/* The counters, and the other counts of a job. */
enum { SUM_FACTS = C_NR, SUM_NR = SUM_FACTS + METRICS_FACTS };

struct sums {
	int64_t of[SUM_NR];
	bool known[SUM_NR];
};

/* Counts that are in no series yet, and those that are. */
struct account {
	struct sums pending, own;
};

struct mount {
	char *mount, *device;
	struct account account;
};

/* A run that goes on. */
struct run {
	uint64_t number;
	struct sums seen, seen_of[METRICS_MOUNTS];
	struct opt_i64 processes, limit_bytes, usage_bytes, cache_bytes;
};

struct record {
	char *manager, *jobid, *user, *name, *step, *partition;
	struct metrics *past;
	struct run *runs;
	size_t nr_runs, max_runs;
	struct account account;
	struct mount mounts[METRICS_MOUNTS];
	double score; /* how much it did lately */
	bool has_place, gives_way;
	uint64_t since_ns, leaves_ns; /* of its place; 0: it stays */
};

struct metrics_jobs {
	struct record *records;
	size_t nr, max, places;
	struct record other;
	bool any_other;
	struct metrics_job view[METRICS_PLACES + 1];
	struct metrics_mount mounts[METRICS_PLACES][METRICS_MOUNTS];
};

static void record_clear(struct record *r)
{
	for (int i = 0; i < METRICS_MOUNTS; i++) {
		free(r->mounts[i].mount);
		free(r->mounts[i].device);
	}
	metrics_free(r->past);
	free(r->runs);
	free(r->manager);
	free(r->jobid);
	free(r->user);
	free(r->name);
	free(r->step);
	free(r->partition);
}

struct metrics_jobs *metrics_jobs_new(size_t places)
{
	struct metrics_jobs *m = calloc(1, sizeof(*m));

	if (m) {
		m->places = places;
		m->other.past = metrics_new();
	}
	if (m && !m->other.past) {
		free(m);
		m = NULL;
	}
	return m;
}

void metrics_jobs_free(struct metrics_jobs *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->nr; i++)
		record_clear(&m->records[i]);
	free(m->records);
	record_clear(&m->other);
	free(m);
}

static void sums_set(struct sums *s, int i, struct opt_i64 value)
{
	s->of[i] = value.value;
	s->known[i] = value.known;
}

static void sums_of(const struct counts *c, const struct opt_i64 facts[METRICS_FACTS],
		    struct sums *ret)
{
	for (int i = 0; i < C_NR; i++)
		sums_set(ret, i, (struct opt_i64){c->c[i], c->known[i]});
	for (int i = 0; i < METRICS_FACTS; i++)
		sums_set(ret, SUM_FACTS + i, facts[i]);
}

/* Notes what was added since then. A figure that is unknown now keeps its value. */
static void sums_count(struct sums *pending, struct sums *seen, const struct sums *now)
{
	for (int i = 0; i < SUM_NR; i++) {
		if (!now->known[i])
			continue;
		pending->of[i] += now->of[i] - seen->of[i];
		pending->known[i] = seen->known[i] = true;
		seen->of[i] = now->of[i];
	}
}

static void sums_move(struct sums *to, struct sums *from)
{
	for (int i = 0; i < SUM_NR; i++) {
		to->of[i] += from->of[i];
		to->known[i] |= from->known[i];
	}
	memset(from, 0, sizeof(*from));
}

static int64_t activity(const int64_t c[])
{
	const int64_t *vfs_calls = c + SUM_FACTS + METRICS_VFS_CALLS;

	return c[C_lookups] + c[C_misses] + counters_sum(c, SUM_OF(TERMS_prefetched_pages)) +
	       c[C_direct_read_calls] + c[C_faults_minor] + vfs_calls[VFS_READ] +
	       vfs_calls[VFS_WRITE] + vfs_calls[VFS_OPEN];
}

static bool same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Without memory it stays as it was. */
static void keep_text(char **to, const char *text)
{
	char *copy;

	if (!text || same(*to, text))
		return;
	copy = strdup(text);
	if (!copy)
		return;
	free(*to);
	*to = copy;
}

static struct record *record_of(struct metrics_jobs *m, const struct metrics_job *sums)
{
	struct record *r;

	for (size_t i = 0; i < m->nr; i++)
		if (same(m->records[i].jobid, sums->jobid) &&
		    same(m->records[i].manager, sums->manager))
			return &m->records[i];
	if (vec_reserve(m->records, m->max, m->nr + 1))
		return NULL;
	r = &m->records[m->nr];
	*r = (struct record){.past = metrics_new()};
	keep_text(&r->manager, sums->manager);
	keep_text(&r->jobid, sums->jobid);
	if (r->past && same(r->manager, sums->manager) && same(r->jobid, sums->jobid)) {
		m->nr++;
		return r;
	}
	record_clear(r);
	return NULL;
}

static struct run *run_of(struct record *r, uint64_t number)
{
	for (size_t i = 0; i < r->nr_runs; i++)
		if (r->runs[i].number == number)
			return &r->runs[i];
	if (vec_reserve(r->runs, r->max_runs, r->nr_runs + 1))
		return NULL;
	r->runs[r->nr_runs] = (struct run){.number = number};
	return &r->runs[r->nr_runs++];
}

/* All filesystems with this mount point. */
static void sums_of_mount(const struct metrics_job *job, const char *mount, struct sums *ret)
{
	struct sums one;

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < job->nr_mounts; i++) {
		if (!same(job->mounts[i].mount, mount))
			continue;
		sums_of(&job->mounts[i].counts, job->mounts[i].facts, &one);
		sums_move(ret, &one);
	}
}

static bool has_mount(const struct record *r, const char *mount)
{
	for (int i = 0; i < METRICS_MOUNTS; i++)
		if (same(r->mounts[i].mount, mount))
			return true;
	return false;
}

/* Free places of mounts go to those that were used most. They stay: a count that moved to another
 * series would fall. */
static void find_mounts(struct record *r, const struct metrics_job *job)
{
	for (int i = 0; i < METRICS_MOUNTS; i++) {
		const char *best = NULL;
		int64_t most = 0;

		for (size_t k = 0; k < job->nr_mounts && !r->mounts[i].mount; k++) {
			const char *mount = job->mounts[k].mount;
			struct sums sums;

			if (!mount || has_mount(r, mount))
				continue;
			sums_of_mount(job, mount, &sums);
			if (activity(sums.of) <= most)
				continue;
			most = activity(sums.of);
			best = mount;
		}
		keep_text(&r->mounts[i].mount, best);
		if (best)
			keep_text(&r->mounts[i].device,
				  metrics_device(job->mounts, job->nr_mounts, best));
	}
}

static void take_sums(struct record *r, struct run *run, const struct metrics_job *job)
{
	struct sums now;

	sums_of(&job->counts, job->facts, &now);
	sums_count(&r->account.pending, &run->seen, &now);
	find_mounts(r, job);
	for (int i = 0; i < METRICS_MOUNTS; i++) {
		if (!r->mounts[i].mount)
			continue;
		sums_of_mount(job, r->mounts[i].mount, &now);
		sums_count(&r->mounts[i].account.pending, &run->seen_of[i], &now);
	}
}

static void run_end(struct record *r, struct run *run, uint64_t now_ns)
{
	*run = r->runs[--r->nr_runs];
	if (!r->nr_runs && !r->gives_way)
		r->leaves_ns = now_ns + METRICS_ENDED_NS;
}

int metrics_jobs_take(struct metrics_jobs *m, const struct metrics_job *sums, uint64_t run,
		      bool last, uint64_t now_ns)
{
	struct record *r = record_of(m, sums);
	struct run *of = r ? run_of(r, run) : NULL;

	if (!of)
		return -ENOMEM;
	keep_text(&r->user, sums->user);
	keep_text(&r->name, sums->name);
	keep_text(&r->step, sums->step);
	keep_text(&r->partition, sums->partition);
	of->processes = sums->processes;
	of->limit_bytes = sums->limit_bytes;
	of->usage_bytes = sums->usage_bytes;
	of->cache_bytes = sums->cache_bytes;
	if (!r->gives_way)
		r->leaves_ns = 0;
	take_sums(r, of, sums);
	if (last)
		run_end(r, of, now_ns);
	return 0;
}

static void settle(struct metrics_jobs *m, struct record *r)
{
	bool own = r->has_place && !r->gives_way;

	sums_move(own ? &r->account.own : &m->other.account.own, &r->account.pending);
	for (int i = 0; i < METRICS_MOUNTS; i++) {
		struct account *a = &r->mounts[i].account;

		if (own)
			sums_move(&a->own, &a->pending);
		memset(&a->pending, 0, sizeof(a->pending));
	}
	m->any_other |= !own;
}

/* A place becomes free. A job that goes on continues where it was if it gets one again. */
static void leave(struct metrics_jobs *m, uint64_t now_ns)
{
	size_t left = 0;

	for (size_t i = 0; i < m->nr; i++) {
		struct record *r = &m->records[i];
		bool leaves = r->has_place && r->leaves_ns && now_ns >= r->leaves_ns;

		if (leaves) {
			settle(m, r);
			r->has_place = r->gives_way = false;
			r->leaves_ns = 0;
		}
		if (leaves && !r->nr_runs)
			record_clear(r);
		else
			m->records[left++] = *r;
	}
	m->nr = left;
}

static struct record *best_waiting(struct metrics_jobs *m)
{
	struct record *best = NULL;

	for (size_t i = 0; i < m->nr; i++)
		if (!m->records[i].has_place && (!best || m->records[i].score > best->score))
			best = &m->records[i];
	return best;
}

static void fill_places(struct metrics_jobs *m, uint64_t now_ns)
{
	struct record *r;
	size_t taken = 0;

	for (size_t i = 0; i < m->nr; i++)
		taken += m->records[i].has_place;
	for (; taken < m->places && (r = best_waiting(m)); taken++) {
		r->has_place = true;
		r->since_ns = now_ns;
		if (!r->nr_runs)
			r->leaves_ns = now_ns + METRICS_ENDED_NS;
	}
}

/* A job that does more than twice as much as the idlest one with a place gets that place. */
static void give_way(struct metrics_jobs *m, uint64_t now_ns)
{
	const struct record *waiting = best_waiting(m);
	struct record *idlest = NULL;

	for (size_t i = 0; i < m->nr; i++) {
		struct record *r = &m->records[i];

		if (r->gives_way)
			return;
		if (r->has_place && !r->leaves_ns && now_ns - r->since_ns >= METRICS_HOLD_NS &&
		    (!idlest || r->score < idlest->score))
			idlest = r;
	}
	if (!waiting || !idlest || waiting->score <= 2 * idlest->score)
		return;
	idlest->gives_way = true;
	idlest->leaves_ns = now_ns + METRICS_LEAVE_NS;
}

/* Jobs that ended without a place. */
static void forget_ended(struct metrics_jobs *m)
{
	size_t left = 0;

	for (size_t i = 0; i < m->nr; i++) {
		struct record *r = &m->records[i];

		if (r->has_place || r->nr_runs)
			m->records[left++] = *r;
		else
			record_clear(r);
	}
	m->nr = left;
}

static void counts_of(const struct sums *s, struct counts *ret)
{
	*ret = (struct counts){};
	memcpy(ret->c, s->of, sizeof(ret->c));
	memcpy(ret->known, s->known, sizeof(ret->known));
}

static struct opt_i64 get(const struct sums *s, int i)
{
	return (struct opt_i64){s->of[i], s->known[i]};
}

static void view_sums(const struct record *r, struct metrics_job *ret)
{
	const struct sums *own = &r->account.own;

	ret->past = r->past;
	counts_of(own, &ret->counts);
	/* add_present() */
	ret->counts.c[C_resident_unused] = 0;
	ret->counts.known[C_resident_unused] = r->nr_runs || ret->rest;
	for (int i = 0; i < METRICS_FACTS; i++)
		ret->facts[i] = get(own, SUM_FACTS + i);
}

/* Present values of the runs that go on: increments do not add up to them if a job had no series
 * for a while. */
static void add_present(const struct record *r, struct metrics_job *ret)
{
	struct opt_i64 unused = {ret->counts.c[C_resident_unused],
				 ret->counts.known[C_resident_unused]};

	for (size_t i = 0; i < r->nr_runs; i++) {
		ret->processes = opt_add(ret->processes, r->runs[i].processes);
		unused = opt_add(unused, get(&r->runs[i].seen, C_resident_unused));
	}
	ret->counts.c[C_resident_unused] = unused.value;
	ret->counts.known[C_resident_unused] = unused.known;
}

static void view_mount(const struct mount *m, struct metrics_mount *ret)
{
	ret->mount = m->mount;
	ret->device = m->device;
	counts_of(&m->account.own, &ret->counts);
	for (int i = 0; i < METRICS_FACTS; i++)
		ret->facts[i] = get(&m->account.own, SUM_FACTS + i);
}

static void view_job(const struct record *r, struct metrics_job *ret, struct metrics_mount *mounts)
{
	*ret = (struct metrics_job){.manager = r->manager,
				    .jobid = r->jobid,
				    .user = r->user,
				    .name = r->name,
				    .step = r->step,
				    .partition = r->partition,
				    .running = {r->nr_runs > 0, true},
				    .processes = {0, true},
				    .mounts = mounts};
	view_sums(r, ret);
	add_present(r, ret);
	if (r->nr_runs) {
		ret->limit_bytes = r->runs[0].limit_bytes;
		ret->usage_bytes = r->runs[0].usage_bytes;
		ret->cache_bytes = r->runs[0].cache_bytes;
	}
	for (int i = 0; i < METRICS_MOUNTS; i++) {
		if (!r->mounts[i].mount)
			continue;
		view_mount(&r->mounts[i], &mounts[ret->nr_mounts++]);
	}
}

static size_t view_all(struct metrics_jobs *m)
{
	struct metrics_job *others;
	size_t nr = 0;

	for (size_t i = 0; i < m->nr; i++)
		if (m->records[i].has_place) {
			view_job(&m->records[i], &m->view[nr], m->mounts[nr]);
			nr++;
		}
	if (!m->any_other)
		return nr;
	others = &m->view[nr];
	*others = (struct metrics_job){
		.manager = "_other", .jobid = "_other", .rest = true, .processes = {0, true}};
	view_sums(&m->other, others);
	for (size_t i = 0; i < m->nr; i++)
		if (!m->records[i].has_place)
			add_present(&m->records[i], others);
	return nr + 1;
}

void metrics_jobs_view(struct metrics_jobs *m, uint64_t now_ns, const struct metrics_job **ret,
		       size_t *ret_nr)
{
	leave(m, now_ns);
	for (size_t i = 0; i < m->nr; i++)
		m->records[i].score = m->records[i].score / 2 +
				      (double)activity(m->records[i].account.pending.of);
	fill_places(m, now_ns);
	for (size_t i = 0; i < m->nr; i++)
		settle(m, &m->records[i]);
	give_way(m, now_ns);
	forget_ended(m);
	*ret_nr = view_all(m);
	*ret = m->view;
}
