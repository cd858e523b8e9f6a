/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/run/data.h"

#include <inttypes.h>

#include "cachemon/report/run/findings.h"
#include "cachemon/model/bounds.h"
#include "cachemon/figures/show.h"
#include "cachemon/report/whatif/whatif_cache.h"
#include "cachemon/report/whatif/whatif_readahead_show.h"

static void put_probes(struct tree *t, const struct model *m)
{
	tree_array(t, "probes");
	for (size_t i = 0; i < m->nr_probes; i++) {
		tree_object(t, NULL);
		tree_name(t, "role", &m->probes[i].role);
		tree_name(t, "hook", &m->probes[i].hook);
		tree_name(t, "state", &m->probes[i].state);
		tree_name(t, "reason", &m->probes[i].reason);
		tree_end(t);
	}
	tree_end(t);
	tree_array(t, "unmeasured");
	for (size_t i = 0; i < m->nr_unmeasured; i++) {
		tree_object(t, NULL);
		tree_name(t, "counter", &m->unmeasured[i].counter);
		tree_name(t, "reason", &m->unmeasured[i].reason);
		tree_end(t);
	}
	tree_end(t);
}

/* The total cost: budget, use, and the detail that was dropped. */
static void put_budget(struct tree *t, const struct model_run *run)
{
	static const char *const parts[MODEL_COST_PARTS] = {"reads",  "pages",	  "windows",
							    "faults", "switches", "other"};

	tree_opt_double(t, "share", run->cost_share);
	tree_opt_double(t, "budget", run->cost_budget);
	if (run->budget_kept.known)
		tree_bool(t, "budget_kept", run->budget_kept.value);
	else
		tree_null(t, "budget_kept");
	tree_opt_double(t, "over_budget_by", run->over_budget_by);
	tree_object(t, "job_probe_ns");
	for (int i = 0; i < MODEL_COST_PARTS; i++)
		tree_opt_int(t, parts[i], run->cost_parts[i]);
	tree_end(t);
	tree_array(t, "shed");
	for (size_t i = 0; i < run->nr_shed; i++) {
		tree_object(t, NULL);
		tree_name(t, "detail", &run->shed[i].detail);
		tree_name(t, "reason", &run->shed[i].reason);
		data_seconds(t, "from_s", run->shed[i].from_ns);
		data_seconds(t, "to_s", run->shed[i].to_ns);
		tree_end(t);
	}
	tree_end(t);
}

static void put_losses(struct tree *t, const struct model_run *run)
{
	tree_object(t, "losses");
	tree_opt_int(t, "untracked_pages", run->untracked_pages);
	tree_opt_int(t, "ring_drops", run->ring_drops);
	tree_opt_int(t, "map_full", run->map_full);
	tree_opt_int(t, "intervals_lost", run->intervals_lost);
	tree_opt_int(t, "chunk_full", run->chunk_full);
	tree_opt_int(t, "state_drops", run->state_drops);
	tree_opt_int(t, "ghosts_dropped", run->ghosts_dropped);
	tree_opt_int(t, "advice_full", run->advice_full);
	tree_opt_int(t, "recursion_misses", run->recursion_misses);
	tree_end(t);
	tree_object(t, "cost");
	tree_opt_double(t, "probe_ns_per_lookup", run->probe_ns_per_lookup);
	tree_opt_int(t, "cpu_ns", run->cpu_ns);
	tree_opt_double(t, "share_of_job_cpu", run->share_of_job_cpu);
	tree_opt_int(t, "probe_cpu_ns", run->probe_cpu_ns);
	tree_opt_int(t, "collector_cpu_ns", run->collector_cpu_ns);
	tree_opt_double(t, "advice_calls_ns", run->advice_calls_ns);
	tree_opt_int(t, "map_bytes", run->map_bytes);
	put_budget(t, run);
	tree_end(t);
}

/* Which figures are lower bounds, and why. */
static void put_bounds(struct tree *t, const struct model_run *run)
{
	struct bound bounds[BOUNDS_MAX];
	size_t nr = bounds_of(run, bounds);

	tree_array(t, "lower_bounds");
	for (size_t i = 0; i < nr; i++) {
		tree_object(t, NULL);
		tree_string(t, "figures", bounds[i].figures);
		tree_string(t, "reason", bounds[i].reason);
		tree_end(t);
	}
	tree_end(t);
}

static void put_read_on(struct tree *t, const struct model_run *run)
{
	if (run->duration_ns.known && run->duration_ns.value > 0 && run->read_on_ns.known &&
	    run->read_on_ns.value <= run->duration_ns.value)
		tree_double(t, "read_on_share",
			    (double)run->read_on_ns.value / (double)run->duration_ns.value);
	else
		tree_null(t, "read_on_share");
}

void data_run_head(struct tree *t, const struct model_run *run)
{
	tree_int(t, "id", run->id);
	tree_name(t, "uuid", &run->uuid);
	tree_name(t, "cachemon", &run->cachemon);
	tree_name(t, "host", &run->host);
	tree_name(t, "kernel", &run->kernel);
	tree_name(t, "arch", &run->arch);
	tree_string(t, "started",
		    run->started_ns.known ? show_rfc3339(run->started_ns.value).s : NULL);
	data_seconds(t, "duration_s", run->duration_ns);
	tree_name(t, "state", &run->state);
	tree_name(t, "level", &run->level);
}

static void put_command(struct tree *t, const struct model_job *job)
{
	struct bytes command = job ? model_command(job) : (struct bytes){0};

	tree_name(t, "command", &command);
}

static void put_run(struct tree *t, const struct model *m)
{
	const struct model_run *run = &m->run;

	tree_object(t, "run");
	data_run_head(t, run);
	tree_bool(t, "sliced", run->sliced.known && run->sliced.value);
	put_read_on(t, run);
	tree_name(t, "advice_mode", &run->advice_mode);
	data_seconds(t, "interval_s", run->interval_ns);
	tree_opt_int(t, "page_size_bytes", run->page_size_bytes);
	tree_opt_int(t, "memory_bytes", run->memory_bytes);
	tree_name(t, "user", &run->user);
	put_command(t, model_main_job(m));
	tree_opt_int(t, "exit_status", run->exit_status);
	tree_opt_int(t, "law_error_pages", run->law_error_pages);
	put_probes(t, m);
	put_losses(t, run);
	put_bounds(t, run);
	tree_end(t);
}

/* All counts of a row. */
static void put_row_bound(struct tree *t, const struct counts *c)
{
	tree_mark(t, "lower_bound", c->bounds & BOUND_ROW);
}

static void put_dev(struct tree *t, struct opt_i64 major, struct opt_i64 minor)
{
	char dev[48];

	snprintf(dev, sizeof(dev), "%" PRId64 ":%" PRId64, major.value, minor.value);
	tree_string(t, "dev", major.known && minor.known ? dev : NULL);
}

static void put_waits(struct tree *t, const struct model_waits *w)
{
	tree_string(t, "wait_histogram_absent", w->absent);
	if (w->absent) {
		tree_null(t, "wait_histogram");
		return;
	}
	tree_array(t, "wait_histogram");
	for (int i = 0; i < WAIT_BUCKETS; i++) {
		if (!w->sleeps[i])
			continue;
		tree_object(t, NULL);
		tree_int(t, "from_ns", counter_wait_ns(i));
		tree_opt_int(t, "to_ns",
			     (struct opt_i64){counter_wait_ns(i + 1), i < WAIT_BUCKETS - 1});
		tree_int(t, "sleeps", w->sleeps[i]);
		tree_end(t);
	}
	tree_end(t);
}

static void put_file(struct tree *t, const struct model *m, const struct model_job *job, size_t at,
		     int64_t page_size)
{
	const struct model_file *f = &job->files[at];

	tree_object(t, NULL);
	tree_name(t, "path", &f->path);
	put_dev(t, f->dev_major, f->dev_minor);
	if (f->ino.known) /* unsigned in the kernel, two's complement in the database */
		tree_uint(t, "ino", (uint64_t)f->ino.value);
	else
		tree_null(t, "ino");
	tree_opt_int(t, "gen", f->gen);
	tree_name(t, "fstype", &f->fstype);
	tree_opt_int(t, "size_bytes", f->size_bytes);
	tree_mark(t, "deleted", f->deleted);
	put_row_bound(t, &f->counts);
	data_pattern(t, m, false, f->id);
	data_coverage(t, job, at);
	data_totals(t, &f->counts, page_size);
	put_waits(t, &f->waits);
	tree_end(t);
}

static void put_rest(struct tree *t, const struct model_job *job, int64_t page_size)
{
	static const char *const absent[] = {"path",	"dev",	    "ino",
					     "gen",	"fstype",   "size_bytes",
					     "pattern", "coverage", "wait_histogram"};

	tree_object(t, NULL);
	for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
		tree_null(t, absent[i]);
	tree_bool(t, "rest", true);
	put_row_bound(t, &job->rest);
	tree_opt_int(t, "files", job->rest_files);
	tree_string(t, "wait_histogram_absent", "only files have one");
	data_totals(t, &job->rest, page_size);
	tree_end(t);
}

/* As for the job, if some of these pages were untracked. */
static bool fate_lower_bound(const struct model_job *job, const struct model_advice *v)
{
	bool open = !v->untracked.known || v->untracked.value > 0;

	return job->counts.bounds & BOUND_PAGES || (job->counts.bounds & BOUND_FATES && open);
}

static void put_advice(struct tree *t, const struct model *m, const struct model_job *job,
		       const struct model_advice *v)
{
	bool lower_bound = bytes_is(&m->run.advice_mode, "effects");
	bool to_eof = v->offset_bytes.known && !v->length_bytes.known;

	tree_object(t, NULL);
	tree_name(t, "kind", &v->kind);
	tree_name(t, "call", &v->call);
	tree_name(t, "path", &v->path);
	tree_opt_int(t, "offset_bytes", v->offset_bytes);
	if (to_eof) /* as in the calls themselves: length 0 reaches to the end of the file */
		tree_int(t, "length_bytes", 0);
	else
		tree_opt_int(t, "length_bytes", v->length_bytes);
	tree_opt_int(t, "calls", v->calls);
	tree_mark(t, "calls_lower_bound", lower_bound);
	tree_opt_int(t, "pages_asked", v->pages_asked);
	tree_mark(t, "pages_asked_lower_bound", lower_bound);
	tree_opt_int(t, "pages_brought", v->pages_brought);
	tree_opt_int(t, "pages_dropped", v->pages_dropped);
	tree_opt_int(t, "cached_pages", v->cached_pages);
	tree_opt_int(t, "redundant_pages", v->redundant_pages);
	tree_opt_int(t, "dropped_refaults", v->dropped_refaults);
	tree_opt_int(t, "dropped_refaults_others", v->dropped_refaults_others);
	tree_object(t, "fate");
	tree_opt_int(t, "used", v->used);
	tree_opt_int(t, "used_late", v->used_late);
	tree_opt_int(t, "evicted_unused", v->evicted_unused);
	tree_opt_int(t, "resident_unused", v->resident_unused);
	tree_opt_int(t, "untracked", v->untracked);
	tree_end(t);
	tree_mark(t, "fate_lower_bound", v->used.known && fate_lower_bound(job, v));
	data_verdict(t, m, v->id);
	tree_end(t);
}

static void put_rows(struct tree *t, const struct model *m, const struct model_job *job,
		     int64_t page_size)
{
	bool others = model_others(job);

	tree_array(t, "files");
	for (size_t i = 0; i < job->nr_files; i++)
		put_file(t, m, job, i, page_size);
	if (!others)
		put_rest(t, job, page_size);
	tree_end(t);
	tree_array(t, "directories");
	for (size_t i = 0; i < job->nr_directories; i++) {
		const struct model_directory *d = &job->directories[i];

		tree_object(t, NULL);
		tree_name(t, "path", &d->path);
		tree_opt_int(t, "files", d->files);
		tree_mark(t, "files_estimated", d->files_estimated);
		tree_mark(t, "subdirectories", d->subdirectories);
		put_row_bound(t, &d->counts);
		data_pattern(t, m, true, d->id);
		data_directory_grades(t, m, d->id);
		data_totals(t, &d->counts, page_size);
		tree_end(t);
	}
	tree_end(t);
}

/* The block device, by the kernel's own count. */
static void put_device(struct tree *t, const struct model_filesystem *f)
{
	if (!tree_opt_object(t, "device", f->device_reads.known))
		return;
	tree_name(t, "name", &f->device);
	tree_opt_int(t, "reads", f->device_reads);
	tree_opt_int(t, "read_ms", f->device_read_ms);
	tree_opt_int(t, "read_mean_ns", model_device_read_ns(f));
	tree_end(t);
}

static void put_filesystem(struct tree *t, const struct model_filesystem *f, int64_t page_size)
{
	tree_object(t, NULL);
	tree_name(t, "type", &f->type);
	tree_name(t, "mount", &f->mount);
	put_dev(t, f->dev_major, f->dev_minor);
	tree_name(t, "seen", &f->cover);
	tree_name(t, "explanation", &f->why);
	tree_opt_int(t, "files", f->files);
	tree_mark(t, "files_estimated", f->files_estimated);
	put_device(t, f);
	put_row_bound(t, &f->counts);
	data_totals(t, &f->counts, page_size);
	tree_end(t);
}

static void put_outside(struct tree *t, const struct model_job *job)
{
	tree_mark(t, "reads_through_mappings", counts_mapped(&job->counts, job->processes));
	tree_opt_int(t, "outside_read_bytes", job->outside_read_bytes);
	tree_mark(t, "outside_read_bytes_lower_bound", job->outside_read_bytes.known);
}

static void put_reads_check(struct tree *t, const struct model_job *job)
{
	struct reads_check c;

	if (model_others(job))
		return;
	bounds_check_reads(job, &c);
	tree_object(t, "reads_check");
	tree_opt_int(t, "seen_bytes", c.seen_bytes);
	tree_opt_int(t, "kernel_bytes", c.kernel_bytes);
	tree_opt_int(t, "seen_calls", c.seen_calls);
	tree_opt_int(t, "kernel_calls", c.kernel_calls);
	tree_string(t, "warning", *c.warning ? c.warning : NULL);
	tree_end(t);
}

/* The answers of whatif; (others) has none. */
static void put_models(struct tree *t, const struct model *m, const struct model_job *job)
{
	const struct analysis_model *a = findings_models(m, job);

	if (!tree_opt_object(t, "whatif", a))
		return;
	tree_object(t, "cache");
	whatif_cache_json(t, &a->curve);
	tree_end(t);
	tree_object(t, "readahead");
	whatif_readahead_json(t, &a->readahead, m->run.page_size_bytes.value);
	tree_end(t);
	tree_end(t);
}

static void put_identity(struct tree *t, const struct model_job *job)
{
	tree_name(t, "kind", &job->kind);
	tree_name(t, "external_id", &job->external_id);
	tree_opt_int(t, "uid", job->uid);
	tree_name(t, "step", &job->step);
	tree_name(t, "job_name", &job->job_name);
	tree_name(t, "partition", &job->partition);
}

static void put_job(struct tree *t, const struct model *m, const struct model_job *job)
{
	int64_t page_size = m->run.page_size_bytes.value;
	struct derived d;

	counts_derive(&job->counts, page_size, &d);
	tree_object(t, NULL);
	tree_name(t, "name", &job->name);
	tree_mark(t, "other", model_others(job));
	tree_name(t, "selector", &job->selector);
	put_identity(t, job);
	tree_opt_int(t, "processes", job->processes);
	tree_opt_int(t, "alive_at_end", job->alive);
	tree_opt_int(t, "oom_kills", job->oom_kills);
	tree_opt_int(t, "memory_limit_bytes", job->limit_bytes);
	tree_opt_int(t, "wall_ns", job->wall_ns);
	tree_opt_int(t, "wall_without_waiting_ns", findings_without_waiting(m, job));
	tree_opt_int(t, "cpu_ns", job->cpu_ns);
	tree_opt_int(t, "rchar_bytes", job->rchar_bytes);
	put_outside(t, job);
	put_reads_check(t, job);
	tree_opt_int(t, "law_error_pages", d.law_error_pages);
	put_row_bound(t, &job->counts);
	data_totals(t, &job->counts, page_size);
	put_waits(t, &job->waits);
	put_rows(t, m, job, page_size);
	tree_array(t, "filesystems");
	for (size_t i = 0; i < job->nr_filesystems; i++)
		put_filesystem(t, &job->filesystems[i], page_size);
	tree_end(t);
	tree_array(t, "advice");
	for (size_t i = 0; i < job->nr_advice; i++)
		put_advice(t, m, job, &job->advice[i]);
	tree_end(t);
	data_findings(t, m, job);
	data_detail(t, job);
	put_models(t, m, job);
	tree_end(t);
}

void data_report(struct tree *t, const struct model *m)
{
	tree_object(t, NULL);
	tree_int(t, "schema", 1);
	tree_string(t, "cachemon", CACHEMON_VERSION);
	put_run(t, m);
	tree_array(t, "jobs");
	for (size_t i = 0; i < m->nr_jobs; i++)
		put_job(t, m, &m->jobs[i]);
	tree_end(t);
	tree_end(t);
}
