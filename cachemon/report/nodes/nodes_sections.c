/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdlib.h>

#include "cachemon/base/cleanup.h"
#include "cachemon/base/escape.h"
#include "cachemon/base/quote.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/figures/show.h"
#include "cachemon/render/doc.h"
#include "cachemon/report/nodes/nodes_model.h"
#include "cachemon/report/nodes/nodes_report.h"

/* Rows of a table on a screen, and on a page; the formats for programs have all nodes. */
enum { SCREEN_ROWS = 5, PAGE_ROWS = 50, HOSTS_NAMED = 8 };

static size_t rows_of(bool brief)
{
	return brief ? SCREEN_ROWS : PAGE_ROWS;
}

static bool is_of_reads(enum nodes_figure f)
{
	return f == NODES_READ_BYTES || f == NODES_HIT_RATIO;
}

static struct shown show_value(enum nodes_figure f, struct opt_f64 v)
{
	struct opt_i64 whole = {(int64_t)(v.value + 0.5), v.known};

	switch (nodes_figure_name(f)->unit) {
	case NODES_UNIT_BYTES:
		return show_bytes(whole, false);
	case NODES_UNIT_RATIO:
		return show_ratio(v, false);
	case NODES_UNIT_NS:
		return show_ns(whole);
	default:
		return show_count(whole, false);
	}
}

/* Reads of slices; the other figures are exact in slices, too. */
static struct shown show_spread(const struct nodes_model *m, enum nodes_figure f, struct opt_f64 v)
{
	return show_about(show_value(f, v), m->totals.sliced && is_of_reads(f));
}

static struct opt_f64 end_value(const struct nodes_model *m, enum nodes_figure f, size_t node)
{
	return m->spreads[f].nr ? m->nodes[node].values[f] : (struct opt_f64){0};
}

/* The nodes with the most and the least. */
static void put_ends(struct doc_table *t, const struct nodes_model *m, const struct nodes_spread *s)
{
	const struct bytes *most = &m->nodes[s->max].host, *least = &m->nodes[s->min].host;
	struct text_builder b;
	FILE *out;

	if (!s->nr || s->max == s->min) {
		doc_cell(t, "%s", s->nr ? "(equal)" : "-");
		return;
	}
	out = text_begin(&b);
	if (out) {
		escape_inert(out, most->data ?: "", most->len);
		fputs(", ", out);
		escape_inert(out, least->data ?: "", least->len);
	}
	doc_cell_text(t, text_end(&b));
}

static void put_spreads(struct doc *d, const struct nodes_model *m)
{
	static const struct doc_column columns[] = {
		{"FIGURE", DOC_LEFT},	      {"TOTAL", DOC_RIGHT}, {"LEAST", DOC_RIGHT},
		{"MEDIAN", DOC_RIGHT},	      {"MOST", DOC_RIGHT},  {"MOST/MEAN", DOC_RIGHT},
		{"MOST, LEAST ON", DOC_WRAP},
	};
	struct doc_table t = DOC_TABLE(NULL, columns);

	for (enum nodes_figure f = 0; f < NODES_FIGURES; f++) {
		const struct nodes_spread *s = &m->spreads[f];
		struct opt_f64 total = {(double)s->sum.value, s->sum.known};

		if (nodes_figure_name(f)->unit == NODES_UNIT_RATIO)
			total = s->ratio;
		doc_cell(&t, "%s", nodes_figure_name(f)->label);
		doc_cell_shown(&t, show_spread(m, f, total));
		doc_cell_shown(&t, show_spread(m, f, end_value(m, f, s->min)));
		doc_cell_shown(&t, show_spread(m, f, (struct opt_f64){s->median, s->nr > 0}));
		doc_cell_shown(&t, show_spread(m, f, end_value(m, f, s->max)));
		doc_cell_shown(&t, show_double(s->imbalance, 2));
		put_ends(&t, m, s);
	}
	doc_put_table(d, &t);
}

/* The names of some nodes, of all that have no value, or that stand out. */
static void put_hosts(FILE *out, const struct nodes_model *m, enum nodes_figure f, bool of_out,
		      size_t nr)
{
	size_t shown = 0;

	for (size_t i = 0; i < m->nr_nodes && shown < HOSTS_NAMED; i++) {
		const struct nodes_node *n = &m->nodes[i];

		if (of_out ? !n->out[f] : n->values[f].known)
			continue;
		fputs(shown++ ? ", " : "", out);
		escape_inert(out, n->host.data ?: "", n->host.len);
	}
	if (nr > shown)
		fprintf(out, " and %zu more", nr - shown);
}

/* "node7 stands out: waited, time." */
static void put_out_node(struct doc *d, const struct nodes_node *n)
{
	struct text_builder b;
	FILE *out = text_begin(&b);
	const char *before = " stands out: ";

	if (out) {
		escape_inert(out, n->host.data ?: "", n->host.len);
		for (enum nodes_figure f = 0; f < NODES_FIGURES; f++) {
			if (!n->out[f])
				continue;
			fprintf(out, "%s%s", before, nodes_figure_name(f)->label);
			before = ", ";
		}
		fputs(".", out);
	}
	doc_para_text(d, text_end(&b));
}

static bool is_out(const struct nodes_node *n)
{
	for (enum nodes_figure f = 0; f < NODES_FIGURES; f++)
		if (n->out[f])
			return true;
	return false;
}

static void put_out_nodes(struct doc *d, const struct nodes_model *m, bool brief)
{
	size_t nr = 0;

	for (size_t i = 0; i < m->nr_nodes; i++) {
		if (!is_out(&m->nodes[i]))
			continue;
		if (nr++ < rows_of(brief))
			put_out_node(d, &m->nodes[i]);
	}
	if (nr > rows_of(brief))
		doc_para(d, "%zu more nodes stand out.", nr - rows_of(brief));
	if (m->nr_nodes < NODES_JUDGED_LEAST)
		doc_para(d, "Whether a node stands out is judged for %d nodes or more.",
			 NODES_JUDGED_LEAST);
	else if (!nr)
		doc_para(d, "No node stands out.");
}

static void put_limits(struct doc *d, const struct nodes_model *m)
{
	static const struct doc_column columns[] = {
		{"FIGURE", DOC_LEFT},  {"MEDIAN", DOC_RIGHT}, {"LIMIT", DOC_RIGHT},
		{"BEYOND", DOC_RIGHT}, {"NODES", DOC_WRAP},
	};
	struct doc_table t = DOC_TABLE(NULL, columns);

	for (enum nodes_figure f = 0; f < NODES_FIGURES; f++) {
		const struct nodes_spread *s = &m->spreads[f];
		struct text_builder b;
		FILE *out = s->nr_out ? text_begin(&b) : NULL;

		if (!out)
			continue;
		doc_cell(&t, "%s", nodes_figure_name(f)->label);
		doc_cell_shown(&t, show_value(f, (struct opt_f64){s->median, true}));
		doc_cell_shown(&t, show_value(f, s->limit));
		doc_cell(&t, "%zu", s->nr_out);
		put_hosts(out, m, f, true, s->nr_out);
		doc_cell_text(&t, text_end(&b));
	}
	doc_put_table(d, &t);
	doc_para(d,
		 "A node stands out if its value is more than %d median absolute deviations, and "
		 "more than %.0f %%, above the median of all nodes; a hit ratio if it is as much "
		 "below.",
		 NODES_DEVIATIONS, 100 * NODES_SHARE);
}

static void put_not_measured(struct doc *d, const struct nodes_model *m)
{
	for (enum nodes_figure f = 0; f < NODES_FIGURES; f++) {
		size_t missing = m->nr_nodes - m->spreads[f].nr;
		struct text_builder b;
		FILE *out;

		if (!missing)
			continue;
		out = text_begin(&b);
		if (out) {
			fprintf(out, "Not in the figures of %s, because it was not measured: ",
				nodes_figure_name(f)->label);
			put_hosts(out, m, f, false, missing);
			fputs(".", out);
		}
		doc_para_text(d, text_end(&b));
	}
}

static void put_files(struct doc *d, const struct nodes_model *m, bool brief)
{
	static const struct doc_column columns[] = {
		{"FILE", DOC_OWN_LINE},	   {"NODES", DOC_RIGHT},	 {"SIZE", DOC_RIGHT},
		{"BROUGHT IN", DOC_RIGHT}, {"BY OTHERS TOO", DOC_RIGHT}, {"AGAIN", DOC_RIGHT},
		{"MOUNT", DOC_LEFT},
	};
	struct doc_table t = DOC_TABLE(NULL, columns);
	size_t nr = m->nr_files < rows_of(brief) ? m->nr_files : rows_of(brief);

	if (!m->nr_shared) {
		doc_para(d, "No file was brought into the cache by more than one node.");
		return;
	}
	doc_para(d,
		 "%zu file%s brought into the cache by more than one node. With a cache that all "
		 "nodes share, at least %s less would have been fetched. At least %s came back to "
		 "a node that had it before: more memory, or a copy on the node, saves that.",
		 m->nr_shared, m->nr_shared == 1 ? " was" : "s were",
		 show_bytes(m->shared_bytes, false).s, show_bytes(m->again_bytes, false).s);
	for (size_t i = 0; i < nr; i++) {
		const struct nodes_file *f = &m->files[i];

		doc_cell_name(&t, &f->path, "-");
		doc_cell(&t, "%zu", f->nr_nodes);
		doc_cell_shown(&t, show_bytes(f->size_bytes, false));
		doc_cell_shown(&t, show_bytes(f->brought_bytes, false));
		doc_cell_shown(&t, show_bytes(f->shared_bytes, false));
		doc_cell_shown(&t, show_bytes(f->again_bytes, false));
		doc_cell_name(&t, &f->mount, "-");
	}
	doc_put_table(d, &t);
	if (nr < m->nr_shared)
		doc_para(d, "%zu more files: use --json with --files.", m->nr_shared - nr);
	doc_para(d,
		 "Files are the same if path, size and mount are; %s of the job's data were "
		 "compared.",
		 show_bytes(m->compared_bytes, false).s);
}

static void put_processes(struct doc *d, const struct nodes_model *m, bool brief)
{
	static const struct doc_column columns[] = {
		{"NODE", DOC_LEFT},    {"PID", DOC_RIGHT},   {"COMMAND", DOC_LEFT},
		{"WAITED", DOC_RIGHT}, {"TIMES", DOC_RIGHT}, {"READ", DOC_RIGHT},
	};
	struct doc_table t = DOC_TABLE(NULL, columns);
	size_t nr = m->nr_processes < rows_of(brief) ? m->nr_processes : rows_of(brief);

	for (size_t i = 0; i < nr; i++) {
		const struct nodes_process *p = &m->processes[i];

		doc_cell_name(&t, &p->host, "-");
		doc_cell(&t, "%" PRId64, p->pid);
		doc_cell_name(&t, &p->command, "-");
		doc_cell_shown(&t, show_ns(p->stall_ns));
		doc_cell_shown(&t, show_count(p->stalls, false));
		doc_cell_shown(&t, show_bytes(p->rchar_bytes, false));
	}
	if (!nr)
		doc_para(d, "No process waited for the page cache, or none was recorded.");
	doc_put_table(d, &t);
	if (nr < m->nr_all_processes)
		doc_para(d, "%zu of %zu processes: those that waited longest for the page cache.",
			 nr, m->nr_all_processes);
}

static void put_nodes(struct doc *d, const struct nodes_model *m)
{
	static const struct doc_column columns[] = {
		{"NODE", DOC_OWN_LINE},	   {"RUN", DOC_RIGHT},	{"READ", DOC_RIGHT},
		{"BROUGHT IN", DOC_RIGHT}, {"HITS", DOC_RIGHT}, {"WAITED", DOC_RIGHT},
		{"TIME", DOC_RIGHT},	   {"STATE", DOC_LEFT},
	};
	static const enum nodes_figure figures[] = {NODES_READ_BYTES, NODES_BROUGHT_BYTES,
						    NODES_HIT_RATIO, NODES_STALL_NS, NODES_WALL_NS};
	struct doc_table t = DOC_TABLE(NULL, columns);
	size_t nr = m->nr_nodes < PAGE_ROWS ? m->nr_nodes : PAGE_ROWS;

	for (size_t i = 0; i < nr; i++) {
		const struct nodes_node *n = &m->nodes[i];
		const struct model_run *last = &m->runs[n->first + n->nr_runs - 1];

		doc_cell_name(&t, &n->host, "-");
		doc_cell(&t, "%" PRId64, last->id);
		for (size_t k = 0; k < sizeof(figures) / sizeof(figures[0]); k++)
			doc_cell_shown(&t, show_about(show_value(figures[k], n->values[figures[k]]),
						      n->counts.sliced && is_of_reads(figures[k])));
		doc_cell_name(&t, &last->state, "-");
	}
	doc_put_table(d, &t);
	if (nr < m->nr_nodes)
		doc_para(d, "%zu more nodes: use --json.", m->nr_nodes - nr);
}

static void put_cautions(struct doc *d, const struct nodes_model *m)
{
	size_t open = 0, cut = 0, sliced = 0, bounds = 0;

	for (size_t i = 0; i < m->nr_runs; i++) {
		open += bytes_is(&m->runs[i].state, "open");
		cut += bytes_is(&m->runs[i].state, "cut");
	}
	for (size_t i = 0; i < m->nr_nodes; i++) {
		sliced += m->nodes[i].counts.sliced;
		bounds += (m->nodes[i].counts.bounds & BOUND_ROW) != 0;
	}
	if (open + cut)
		doc_para(d,
			 "Caution: %zu of %zu runs are not complete (%zu open, %zu cut): their "
			 "later figures are missing.",
			 open + cut, m->nr_runs, open, cut);
	if (sliced)
		doc_para(d, "Caution: on %zu of %zu nodes, figures of reads are estimates.", sliced,
			 m->nr_nodes);
	if (bounds)
		doc_para(d,
			 "Caution: on %zu of %zu nodes events were lost: counts are lower bounds.",
			 bounds, m->nr_nodes);
	if (m->several_users)
		doc_para(d, "Caution: these runs are of different users, perhaps of different jobs "
			    "with this number.");
}

static void put_head(struct doc *d, const struct nodes_model *m)
{
	static const struct doc_column columns[] = {{"", DOC_LEFT}, {"", DOC_LEFT}};
	struct doc_table t = DOC_TABLE(NULL, columns);
	const struct model_job *job = &m->jobs[0];

	if (job->job_name.data) {
		doc_cell(&t, "name");
		doc_cell_name(&t, &job->job_name, "-");
	}
	if (job->partition.data) {
		doc_cell(&t, "partition");
		doc_cell_name(&t, &job->partition, "-");
	}
	doc_cell(&t, "started");
	doc_cell(&t, "%s; %s from the first run's start to the last one's end",
		 m->started_ns.known ? show_local(m->started_ns.value).s : "-",
		 show_ns(m->duration_ns).s);
	doc_put_facts(d, &t);
}

/* The node to look at first: the one that waited most, or took longest if no wait was measured. */
static void put_command(struct doc *d, const struct nodes_model *m)
{
	bool waited = m->spreads[NODES_STALL_NS].nr;
	enum nodes_figure f = waited ? NODES_STALL_NS : NODES_WALL_NS;
	const struct nodes_node *n = &m->nodes[m->spreads[f].max];
	_cleanup_free_ char *word = NULL, *text = NULL;

	if ((m->db && quote_word(m->db, &word)) ||
	    text_print(&text, "cachemon report%s%s --run %" PRId64 "  # the node that %s\n",
		       word ? " --db " : "", word ?: "", m->runs[n->first + n->nr_runs - 1].id,
		       waited ? "waited most" : "took longest"))
		d->failed = true;
	else
		doc_code(d, "shell", text);
}

typedef void part_fn(struct doc *d, const struct nodes_model *m, bool brief);

static void part(struct doc *d, const struct nodes_model *m, bool brief, const char *id,
		 const char *title, part_fn *put)
{
	if (brief)
		doc_heading(d, 3, "%s", title);
	else
		doc_part_begin(d, id, false, "%s", title);
	put(d, m, brief);
	if (!brief)
		doc_part_end(d);
}

static void part_spread(struct doc *d, const struct nodes_model *m, bool brief)
{
	put_spreads(d, m);
	put_out_nodes(d, m, brief);
	if (!brief)
		put_limits(d, m);
	put_not_measured(d, m);
}

static void part_nodes(struct doc *d, const struct nodes_model *m, bool brief)
{
	(void)brief;
	put_nodes(d, m);
}

void nodes_sections(struct doc *d, const struct nodes_model *m, bool brief)
{
	static const struct doc_entry entries[] = {
		{"spread", "From node to node"},
		{"same-files", "Files that several nodes read"},
		{"processes", "Processes by waiting"},
		{"nodes", "Nodes"},
	};
	static part_fn *const parts[] = {part_spread, put_files, put_processes, part_nodes};
	size_t nr = sizeof(entries) / sizeof(entries[0]);

	doc_begin(d, "cachemon: job %s on %zu nodes, %zu runs", m->job, m->nr_nodes, m->nr_runs);
	put_head(d, m);
	put_cautions(d, m);
	if (!brief)
		doc_put_contents(d, entries, nr);
	for (size_t i = 0; i < nr - brief; i++)
		part(d, m, brief, entries[i].id, entries[i].title, parts[i]);
	put_command(d, m);
}
