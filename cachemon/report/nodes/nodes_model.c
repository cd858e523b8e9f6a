/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/nodes/nodes_model.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/stats/stats.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/db/db_read.h"
#include "cachemon/model/model_load.h"
#include "cachemon/model/model_rows.h"
#include "cachemon/report/nodes/nodes_rows.h"

const struct nodes_figure_name *nodes_figure_name(enum nodes_figure f)
{
	static const struct nodes_figure_name names[NODES_FIGURES] = {
		[NODES_READ_BYTES] = {"read_bytes", "read", NODES_UNIT_BYTES},
		[NODES_BROUGHT_BYTES] = {"brought_bytes", "brought in", NODES_UNIT_BYTES},
		[NODES_MISSES] = {"misses", "misses", NODES_UNIT_PAGES},
		[NODES_HIT_RATIO] = {"hit_ratio", LABEL_hit_ratio, NODES_UNIT_RATIO},
		[NODES_EVICTED] = {"evicted_pages", LABEL_evicted_pages, NODES_UNIT_PAGES},
		[NODES_REFAULTS] = {"refaults", "refaults", NODES_UNIT_PAGES},
		[NODES_STALL_NS] = {"stall_s", "waited", NODES_UNIT_NS},
		[NODES_CPU_NS] = {"cpu_s", "CPU time", NODES_UNIT_NS},
		[NODES_WALL_NS] = {"wall_s", "time", NODES_UNIT_NS},
	};

	return &names[f];
}

int nodes_find(sqlite3 *db, const char *job, size_t *ret_nodes, int64_t *ret_last,
	       struct errtext *err)
{
	int ret = model_want_job(db, job, err);
	int64_t nodes = 0, last = 0;

	if (ret)
		return ret;
	if (rows_first(db,
		       "SELECT count(DISTINCT host) FROM run WHERE id IN (SELECT run_id "
		       "FROM " MODEL_WANTED ")",
		       &nodes) ||
	    rows_first(db, "SELECT coalesce(max(run_id), 0) FROM " MODEL_WANTED, &last))
		return db_read_error(db, err);
	/* Databases are merged by versions that have this; an older one has the runs of one node.
	 */
	if (nodes > 1 && !model_has(db, "process_interval", "rchar_bytes"))
		nodes = 1;
	*ret_nodes = (size_t)nodes;
	*ret_last = last;
	return 0;
}

struct entry {
	const struct model_run *run;
	const struct model_job *job;
};

static int by_host(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = strcmp(x->run->host.data ?: "", y->run->host.data ?: "");

	return order ? order : (x->run->id > y->run->id) - (x->run->id < y->run->id);
}

static int load_runs(sqlite3 *db, struct nodes_model *m, struct errtext *err)
{
	struct arena *a = &m->arena;
	struct model_run *runs = NULL;
	struct model_job *jobs = NULL;
	struct entry *entries;
	size_t nr_runs = 0, *run_of = NULL;
	int ret = model_all_runs(db, a, INT64_MIN, true, &runs, &nr_runs, err);

	if (!ret)
		ret = model_all_jobs(db, a, true, runs, nr_runs, &jobs, &run_of, &m->nr_runs, err);
	if (ret)
		return ret;
	entries = arena_alloc(a, (m->nr_runs + 1) * sizeof(*entries));
	m->runs = arena_alloc(a, (m->nr_runs + 1) * sizeof(*m->runs));
	m->jobs = arena_alloc(a, (m->nr_runs + 1) * sizeof(*m->jobs));
	if (!entries || !m->runs || !m->jobs)
		return model_no_memory(err);
	for (size_t i = 0; i < m->nr_runs; i++)
		entries[i] = (struct entry){&runs[run_of[i]], &jobs[i]};
	qsort(entries, m->nr_runs, sizeof(*entries), by_host);
	for (size_t i = 0; i < m->nr_runs; i++) {
		m->runs[i] = *entries[i].run;
		m->jobs[i] = *entries[i].job;
	}
	return 0;
}

/* Estimates of several runs have no common interval. */
static void add_counts(struct counts *sum, const struct counts *part)
{
	counts_add(sum, part);
	sum->sliced |= part->sliced;
	sum->bounds |= part->bounds;
	sum->estimates = NULL;
}

static void add_run(struct nodes_model *m, size_t i)
{
	struct nodes_node *n = m->nr_nodes ? &m->nodes[m->nr_nodes - 1] : NULL;
	const struct model_job *job = &m->jobs[i];

	if (!n || !bytes_equal(&n->host, &m->runs[i].host)) {
		m->nodes[m->nr_nodes++] = (struct nodes_node){
			.host = m->runs[i].host,
			.first = i,
			.nr_runs = 1,
			.counts = job->counts,
			.wall_ns = job->wall_ns,
			.cpu_ns = job->cpu_ns,
		};
		return;
	}
	n->nr_runs++;
	add_counts(&n->counts, &job->counts);
	n->wall_ns = opt_add(n->wall_ns, job->wall_ns);
	n->cpu_ns = opt_add(n->cpu_ns, job->cpu_ns);
}

static int64_t page_size_of(const struct nodes_model *m, const struct nodes_node *n)
{
	return m->runs[n->first].page_size_bytes.value;
}

static void fill_values(const struct nodes_model *m, struct nodes_node *n)
{
	const struct counts *c = &n->counts;
	int64_t page = page_size_of(m, n);
	struct derived d;

	counts_derive(c, page, &d);
	n->whole[NODES_READ_BYTES] = counts_get(c, C_read_bytes);
	n->whole[NODES_BROUGHT_BYTES] = opt_mul(counts_sum(c, SUM_OF(TERMS_brought_pages)), page);
	n->whole[NODES_MISSES] = counts_get(c, C_misses);
	n->whole[NODES_EVICTED] = d.evicted_pages;
	n->whole[NODES_REFAULTS] = counts_get(c, C_refaults);
	n->whole[NODES_STALL_NS] = counts_get(c, C_stall_ns);
	n->whole[NODES_CPU_NS] = n->cpu_ns;
	n->whole[NODES_WALL_NS] = n->wall_ns;
	for (enum nodes_figure f = 0; f < NODES_FIGURES; f++)
		n->values[f] = (struct opt_f64){(double)n->whole[f].value, n->whole[f].known};
	n->values[NODES_HIT_RATIO] = d.hit_ratio;
}

static void find_span(struct nodes_model *m)
{
	int64_t first = INT64_MAX, last = INT64_MIN;

	for (size_t i = 0; i < m->nr_runs; i++) {
		struct opt_i64 start = m->runs[i].started_ns;
		struct opt_i64 end = opt_add(start, m->runs[i].duration_ns);

		if (!end.known)
			return;
		first = start.value < first ? start.value : first;
		last = end.value > last ? end.value : last;
	}
	m->started_ns = (struct opt_i64){first, true};
	m->duration_ns = opt_sub((struct opt_i64){last, true}, m->started_ns);
}

static void make_nodes(struct nodes_model *m)
{
	m->nodes = arena_alloc(&m->arena, (m->nr_runs + 1) * sizeof(*m->nodes));
	if (!m->nodes || !m->nr_runs)
		return;
	for (size_t i = 0; i < m->nr_runs; i++)
		add_run(m, i);
	m->page_size_bytes = page_size_of(m, &m->nodes[0]);
	for (size_t i = 0; i < m->nr_nodes; i++) {
		fill_values(m, &m->nodes[i]);
		if (i)
			add_counts(&m->totals, &m->nodes[i].counts);
		else
			m->totals = m->nodes[i].counts;
		if (page_size_of(m, &m->nodes[i]) != m->page_size_bytes)
			m->page_size_bytes = 0;
	}
	find_span(m);
	for (size_t i = 1; i < m->nr_runs; i++)
		m->several_users |= m->jobs[i].uid.known != m->jobs[0].uid.known ||
				    m->jobs[i].uid.value != m->jobs[0].uid.value;
}

/* Whether the value is worse than the limit: a low hit ratio, or much of anything else. */
static bool is_beyond(enum nodes_figure f, double value, double limit)
{
	return f == NODES_HIT_RATIO ? value < limit : value > limit;
}

static double limit_of(enum nodes_figure f, double median, double mad)
{
	double away = fmax(NODES_DEVIATIONS * mad, NODES_SHARE * median);

	return f == NODES_HIT_RATIO ? median - away : median + away;
}

/* Hits and lookups of the nodes that have a hit ratio. */
static struct opt_f64 total_hit_ratio(const struct nodes_model *m)
{
	struct counts sum = {0};
	struct derived d;
	bool any = false;

	for (size_t i = 0; i < m->nr_nodes; i++) {
		if (!m->nodes[i].values[NODES_HIT_RATIO].known)
			continue;
		if (any)
			add_counts(&sum, &m->nodes[i].counts);
		else
			sum = m->nodes[i].counts;
		any = true;
	}
	counts_derive(&sum, m->page_size_bytes, &d);
	return d.hit_ratio;
}

static void mark_out(struct nodes_model *m, enum nodes_figure f)
{
	struct nodes_spread *s = &m->spreads[f];

	s->limit = (struct opt_f64){limit_of(f, s->median, s->mad), true};
	for (size_t i = 0; i < m->nr_nodes; i++) {
		struct nodes_node *n = &m->nodes[i];

		n->out[f] = n->values[f].known && is_beyond(f, n->values[f].value, s->limit.value);
		s->nr_out += n->out[f];
	}
}

/* x, work: room for all nodes. */
static void make_spread(struct nodes_model *m, enum nodes_figure f, double *x, double *work)
{
	struct nodes_spread *s = &m->spreads[f];
	double sum = 0;

	s->sum.known = f != NODES_WALL_NS && f != NODES_HIT_RATIO;
	for (size_t i = 0; i < m->nr_nodes; i++) {
		struct opt_f64 v = m->nodes[i].values[f];

		if (!v.known)
			continue;
		s->sum = opt_add(s->sum, m->nodes[i].whole[f]);
		if (!s->nr || v.value < m->nodes[s->min].values[f].value)
			s->min = i;
		if (!s->nr || v.value > m->nodes[s->max].values[f].value)
			s->max = i;
		x[s->nr++] = v.value;
		sum += v.value;
	}
	s->sum.known &= s->nr > 0;
	if (!s->nr)
		return;
	stats_spread(x, s->nr, work, &s->median, &s->mad);
	if (f == NODES_HIT_RATIO)
		s->ratio = total_hit_ratio(m);
	s->imbalance.known = sum > 0;
	if (s->imbalance.known)
		s->imbalance.value = m->nodes[s->max].values[f].value / (sum / (double)s->nr);
	if (s->nr >= NODES_JUDGED_LEAST)
		mark_out(m, f);
}

static void make_spreads(struct nodes_model *m)
{
	double *x = arena_alloc(&m->arena, (m->nr_nodes + 1) * sizeof(*x));
	double *work = arena_alloc(&m->arena, (m->nr_nodes + 1) * sizeof(*work));

	for (enum nodes_figure f = 0; x && work && f < NODES_FIGURES; f++)
		make_spread(m, f, x, work);
}

static int load(sqlite3 *db, size_t files, struct nodes_model *m, struct errtext *err)
{
	int ret = load_runs(db, m, err);

	if (ret)
		return ret;
	make_nodes(m);
	make_spreads(m);
	ret = nodes_load_files(db, files, m, err);
	if (!ret)
		ret = nodes_load_processes(db, m, err);
	return !ret && m->arena.failed ? model_no_memory(err) : ret;
}

int nodes_model_load(sqlite3 *db, const char *job, size_t files, struct nodes_model *ret,
		     struct errtext *err)
{
	int r;

	*ret = (struct nodes_model){.job = job};
	/* One transaction, as for a run. */
	if (sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
		return db_read_error(db, err);
	r = load(db, files, ret, err);
	sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return r;
}

void nodes_model_free(struct nodes_model *m)
{
	arena_free(&m->arena);
	*m = (struct nodes_model){.job = NULL};
}
