/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/figures/show.h"
#include "cachemon/report/nodes/nodes_model.h"
#include "cachemon/report/nodes/nodes_report.h"
#include "cachemon/report/run/data.h"

/* Pages and bytes are whole, times are in seconds. */
static void put_whole(struct tree *t, const char *key, enum nodes_figure f, struct opt_i64 v)
{
	if (nodes_figure_name(f)->unit == NODES_UNIT_NS)
		data_seconds(t, key, v);
	else
		tree_opt_int(t, key, v);
}

/* The middle of two numbers need not be whole. */
static void put_number(struct tree *t, const char *key, enum nodes_figure f, double v, bool known)
{
	bool seconds = nodes_figure_name(f)->unit == NODES_UNIT_NS;

	tree_opt_double(t, key, (struct opt_f64){seconds ? v / 1e9 : v, known});
}

static void put_node_value(struct tree *t, const char *key, enum nodes_figure f,
			   const struct nodes_node *n)
{
	if (nodes_figure_name(f)->unit == NODES_UNIT_RATIO)
		tree_opt_double(t, key, n->values[f]);
	else
		put_whole(t, key, f, n->whole[f]);
}

static void put_end(struct tree *t, const char *key, const struct nodes_model *m,
		    enum nodes_figure f, size_t node)
{
	if (!tree_opt_object(t, key, m->spreads[f].nr))
		return;
	tree_name(t, "node", &m->nodes[node].host);
	put_node_value(t, "value", f, &m->nodes[node]);
	tree_end(t);
}

static void put_hosts(struct tree *t, const char *key, const struct nodes_model *m,
		      enum nodes_figure f, bool out)
{
	tree_array(t, key);
	for (size_t i = 0; i < m->nr_nodes; i++)
		if (out ? m->nodes[i].out[f] : !m->nodes[i].values[f].known)
			tree_name(t, NULL, &m->nodes[i].host);
	tree_end(t);
}

static void put_figure(struct tree *t, const struct nodes_model *m, enum nodes_figure f)
{
	const struct nodes_spread *s = &m->spreads[f];
	bool any = s->nr;

	tree_object(t, nodes_figure_name(f)->key);
	tree_uint(t, "nodes", s->nr);
	if (nodes_figure_name(f)->unit == NODES_UNIT_RATIO)
		tree_opt_double(t, "total", s->ratio);
	else
		put_whole(t, "total", f, s->sum);
	put_end(t, "min", m, f, s->min);
	put_number(t, "median", f, s->median, any);
	put_end(t, "max", m, f, s->max);
	put_number(t, "mad", f, s->mad, any);
	tree_opt_double(t, "imbalance", s->imbalance);
	put_number(t, "limit", f, s->limit.value, s->limit.known);
	put_hosts(t, "beyond_limit", m, f, true);
	put_hosts(t, "not_measured", m, f, false);
	tree_end(t);
}

static void put_node(struct tree *t, const struct nodes_model *m, const struct nodes_node *n)
{
	tree_object(t, NULL);
	tree_name(t, "host", &n->host);
	tree_array(t, "runs");
	for (size_t i = 0; i < n->nr_runs; i++) {
		const struct model_run *run = &m->runs[n->first + i];

		tree_object(t, NULL);
		tree_int(t, "id", run->id);
		tree_name(t, "uuid", &run->uuid);
		tree_name(t, "state", &run->state);
		tree_end(t);
	}
	tree_end(t);
	for (enum nodes_figure f = 0; f < NODES_FIGURES; f++)
		put_node_value(t, nodes_figure_name(f)->key, f, n);
	tree_mark(t, "estimated", n->counts.sliced);
	tree_mark(t, "lower_bound", n->counts.bounds & BOUND_ROW);
	tree_end(t);
}

static void put_file(struct tree *t, const struct nodes_file *f)
{
	tree_object(t, NULL);
	tree_name(t, "path", &f->path);
	tree_name(t, "mount", &f->mount);
	tree_name(t, "fstype", &f->fstype);
	tree_opt_int(t, "size_bytes", f->size_bytes);
	tree_uint(t, "nodes", f->nr_nodes);
	tree_opt_int(t, "brought_bytes", f->brought_bytes);
	tree_opt_int(t, "again_bytes", f->again_bytes);
	tree_opt_int(t, "shared_bytes", f->shared_bytes);
	tree_array(t, "by_node");
	for (size_t i = 0; i < f->nr_by_node; i++) {
		tree_object(t, NULL);
		tree_name(t, "host", &f->by_node[i].host);
		tree_opt_int(t, "brought_bytes", f->by_node[i].brought_bytes);
		tree_end(t);
	}
	tree_end(t);
	tree_end(t);
}

static void put_files(struct tree *t, const struct nodes_model *m)
{
	tree_object(t, "same_files");
	tree_uint(t, "files", m->nr_shared);
	tree_opt_int(t, "compared_bytes", m->compared_bytes);
	tree_opt_int(t, "again_bytes", m->again_bytes);
	tree_opt_int(t, "shared_bytes", m->shared_bytes);
	tree_array(t, "listed");
	for (size_t i = 0; i < m->nr_files; i++)
		put_file(t, &m->files[i]);
	tree_end(t);
	tree_end(t);
}

static void put_processes(struct tree *t, const struct nodes_model *m)
{
	tree_object(t, "processes");
	tree_uint(t, "all", m->nr_all_processes);
	tree_array(t, "listed");
	for (size_t i = 0; i < m->nr_processes; i++) {
		const struct nodes_process *p = &m->processes[i];

		tree_object(t, NULL);
		tree_name(t, "host", &p->host);
		tree_int(t, "pid", p->pid);
		tree_name(t, "command", &p->command);
		data_seconds(t, "stall_s", p->stall_ns);
		tree_opt_int(t, "stalls", p->stalls);
		tree_opt_int(t, "rchar_bytes", p->rchar_bytes);
		tree_end(t);
	}
	tree_end(t);
	tree_end(t);
}

static void put_job(struct tree *t, const struct nodes_model *m)
{
	const struct model_job *job = &m->jobs[0];

	tree_object(t, "job");
	tree_text(t, "name", m->job);
	tree_name(t, "kind", &job->kind);
	tree_name(t, "external_id", &job->external_id);
	tree_opt_int(t, "uid", job->uid);
	tree_mark(t, "several_users", m->several_users);
	tree_name(t, "job_name", &job->job_name);
	tree_name(t, "partition", &job->partition);
	tree_string(t, "started", m->started_ns.known ? show_rfc3339(m->started_ns.value).s : NULL);
	data_seconds(t, "duration_s", m->duration_ns);
	tree_end(t);
}

void nodes_data(struct tree *t, const struct nodes_model *m)
{
	tree_object(t, NULL);
	tree_int(t, "schema", 1);
	tree_string(t, "cachemon", CACHEMON_VERSION);
	put_job(t, m);
	data_totals(t, "totals", &m->totals, m->page_size_bytes);
	tree_object(t, "figures");
	for (enum nodes_figure f = 0; f < NODES_FIGURES; f++)
		put_figure(t, m, f);
	tree_end(t);
	tree_array(t, "nodes");
	for (size_t i = 0; i < m->nr_nodes; i++)
		put_node(t, m, &m->nodes[i]);
	tree_end(t);
	put_files(t, m);
	put_processes(t, m);
	tree_end(t);
}
