/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/escape.h"
#include "cachemon/base/hash.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/base/vec.h"
#include "cachemon/metrics/metrics.h"

/* A longer value of a label is cut. */
enum { LABEL_MAX = 128 };

enum kind {
	COUNTER,
	COUNTER_NS, /* nanoseconds, written as seconds */
	GAUGE,
	GAUGE_PPM, /* millionths, written as a ratio */
	INFO,
};

/* A family; the lines of one family follow each other. */
struct line {
	const char *family; /* without "cachemon_job_", and "_total" of a counter */
	const char *help;
	const int *terms; /* SUM_OF(); NULL: the member of struct metrics_job at this offset */
	size_t offset;
	enum kind kind;
	bool by_mount;
	const char *label, *value; /* NULL: none */
};

#define AT(member) NULL, offsetof(struct metrics_job, member)

static const struct line lines[] = {
	{"running", "1 while the job is watched, 0 when it has ended", AT(running), GAUGE, false,
	 NULL, NULL},
	{"processes", "Running processes of the job", AT(processes), GAUGE, false, NULL, NULL},
	{"cpu_seconds", "CPU time of the job", AT(facts[METRICS_CPU_NS]), COUNTER_NS, false, NULL,
	 NULL},
	{"runqueue_seconds", "Time that runnable tasks of the job waited for a CPU",
	 AT(facts[METRICS_RUNQUEUE_NS]), COUNTER_NS, false, NULL, NULL},
	{"context_switches", "Switches from tasks of the job to others, by kind",
	 AT(facts[METRICS_SWITCHES_VOLUNTARY]), COUNTER, false, "kind", "voluntary"},
	{"context_switches", NULL, AT(facts[METRICS_SWITCHES_FORCED]), COUNTER, false, "kind",
	 "nonvoluntary"},
	{"rchar_bytes", "Bytes that calls read from anything, as in /proc/PID/io",
	 AT(facts[METRICS_RCHAR_BYTES]), COUNTER, false, NULL, NULL},
	{"wchar_bytes", "Bytes that calls wrote to anything, as in /proc/PID/io",
	 AT(facts[METRICS_WCHAR_BYTES]), COUNTER, false, NULL, NULL},
	{"network_sent_bytes", "Bytes that calls sent over the network, by protocol",
	 AT(facts[METRICS_SENT_BYTES + NET_TCP4]), COUNTER, false, "protocol", "tcp"},
	{"network_sent_bytes", NULL, AT(facts[METRICS_SENT_BYTES + NET_TCP6]), COUNTER, false,
	 "protocol", "tcp6"},
	{"network_sent_bytes", NULL, AT(facts[METRICS_SENT_BYTES + NET_UDP4]), COUNTER, false,
	 "protocol", "udp"},
	{"network_sent_bytes", NULL, AT(facts[METRICS_SENT_BYTES + NET_UDP6]), COUNTER, false,
	 "protocol", "udp6"},
	{"network_received_bytes", "Bytes that calls received over the network, by protocol",
	 AT(facts[METRICS_RECEIVED_BYTES + NET_TCP4]), COUNTER, false, "protocol", "tcp"},
	{"network_received_bytes", NULL, AT(facts[METRICS_RECEIVED_BYTES + NET_TCP6]), COUNTER,
	 false, "protocol", "tcp6"},
	{"network_received_bytes", NULL, AT(facts[METRICS_RECEIVED_BYTES + NET_UDP4]), COUNTER,
	 false, "protocol", "udp"},
	{"network_received_bytes", NULL, AT(facts[METRICS_RECEIVED_BYTES + NET_UDP6]), COUNTER,
	 false, "protocol", "udp6"},
	{"vfs_calls", "Calls of files and directories that have returned, by call",
	 AT(facts[METRICS_VFS_CALLS + VFS_READ]), COUNTER, true, "call", "read"},
	{"vfs_calls", NULL, AT(facts[METRICS_VFS_CALLS + VFS_WRITE]), COUNTER, true, "call",
	 "write"},
	{"vfs_calls", NULL, AT(facts[METRICS_VFS_CALLS + VFS_OPEN]), COUNTER, true, "call", "open"},
	{"vfs_calls", NULL, AT(facts[METRICS_VFS_CALLS + VFS_MKDIR]), COUNTER, true, "call",
	 "mkdir"},
	{"vfs_calls", NULL, AT(facts[METRICS_VFS_CALLS + VFS_RMDIR]), COUNTER, true, "call",
	 "rmdir"},
	{"vfs_calls", NULL, AT(facts[METRICS_VFS_CALLS + VFS_UNLINK]), COUNTER, true, "call",
	 "unlink"},
	{"vfs_errors", "Calls of files and directories that failed, by call",
	 AT(facts[METRICS_VFS_ERRORS + VFS_READ]), COUNTER, false, "call", "read"},
	{"vfs_errors", NULL, AT(facts[METRICS_VFS_ERRORS + VFS_WRITE]), COUNTER, false, "call",
	 "write"},
	{"vfs_errors", NULL, AT(facts[METRICS_VFS_ERRORS + VFS_OPEN]), COUNTER, false, "call",
	 "open"},
	{"vfs_errors", NULL, AT(facts[METRICS_VFS_ERRORS + VFS_MKDIR]), COUNTER, false, "call",
	 "mkdir"},
	{"vfs_errors", NULL, AT(facts[METRICS_VFS_ERRORS + VFS_RMDIR]), COUNTER, false, "call",
	 "rmdir"},
	{"vfs_errors", NULL, AT(facts[METRICS_VFS_ERRORS + VFS_UNLINK]), COUNTER, false, "call",
	 "unlink"},
	{"vfs_bytes", "Bytes that calls read from files of any kind or wrote to them",
	 AT(facts[METRICS_VFS_READ_BYTES]), COUNTER, true, "call", "read"},
	{"vfs_bytes", NULL, AT(facts[METRICS_VFS_WRITTEN_BYTES]), COUNTER, true, "call", "write"},
	{"vfs_created_files", "Files that an open call created", AT(facts[METRICS_VFS_CREATED]),
	 COUNTER, true, NULL, NULL},
	{"memory_limit_bytes", "The tightest memory limit on the job", AT(limit_bytes), GAUGE,
	 false, NULL, NULL},
	{"memory_usage_bytes", "Memory that counts for this limit", AT(usage_bytes), GAUGE, false,
	 NULL, NULL},
	{"memory_cache_bytes", "Page cache that counts for this limit", AT(cache_bytes), GAUGE,
	 false, NULL, NULL},
	{"pressure_seconds", "Time in which some tasks of the job's cgroup waited, by resource",
	 AT(facts[METRICS_PRESSURE_CPU_NS]), COUNTER_NS, false, "resource", "cpu"},
	{"pressure_seconds", NULL, AT(facts[METRICS_PRESSURE_MEMORY_NS]), COUNTER_NS, false,
	 "resource", "memory"},
	{"pressure_seconds", NULL, AT(facts[METRICS_PRESSURE_IO_NS]), COUNTER_NS, false, "resource",
	 "io"},
	{"read_calls", "Buffered read calls", SUM_OF(C_read_calls), 0, COUNTER, true, NULL, NULL},
	{"read_bytes", "Bytes that buffered read calls returned", SUM_OF(C_read_bytes), 0, COUNTER,
	 true, NULL, NULL},
	{"direct_read_calls", "Read calls that bypass the page cache", SUM_OF(C_direct_read_calls),
	 0, COUNTER, true, NULL, NULL},
	{"direct_read_bytes", "Bytes that direct reads returned", SUM_OF(C_direct_read_bytes), 0,
	 COUNTER, true, NULL, NULL},
	{"lookups", "Pages that read calls looked up in the page cache", SUM_OF(C_lookups), 0,
	 COUNTER, true, NULL, NULL},
	{"hits", "Lookups that found the page in the cache", SUM_OF(TERMS_hits), 0, COUNTER, true,
	 NULL, NULL},
	{"delayed_hits", "Hits that waited for the page to be read", SUM_OF(C_delayed_hits), 0,
	 COUNTER, false, NULL, NULL},
	{"misses", "Pages that read calls asked for and did not find in the cache",
	 SUM_OF(C_misses), 0, COUNTER, true, NULL, NULL},
	{"prefetched_pages", "Pages read before a call asked for them",
	 SUM_OF(TERMS_prefetched_pages), 0, COUNTER, true, NULL, NULL},
	{"prefetch_origin_pages", "Prefetched pages, by what read them", SUM_OF(C_prefetched_sync),
	 0, COUNTER, false, "origin", "sync"},
	{"prefetch_origin_pages", NULL, SUM_OF(C_prefetched_async), 0, COUNTER, false, "origin",
	 "async"},
	{"prefetch_origin_pages", NULL, SUM_OF(C_prefetched_willneed), 0, COUNTER, false, "origin",
	 "willneed"},
	{"prefetch_origin_pages", NULL, SUM_OF(C_prefetched_readahead2), 0, COUNTER, false,
	 "origin", "readahead2"},
	{"prefetch_origin_pages", NULL, SUM_OF(C_prefetched_mmap_around), 0, COUNTER, false,
	 "origin", "mmap_around"},
	{"prefetch_fate_pages", "Prefetched pages, by their fate", SUM_OF(C_used), 0, COUNTER,
	 false, "fate", "used"},
	{"prefetch_fate_pages", NULL, SUM_OF(C_used_late), 0, COUNTER, false, "fate", "used_late"},
	{"prefetch_fate_pages", NULL, SUM_OF(C_evicted_unused), 0, COUNTER, false, "fate",
	 "evicted_unused"},
	{"prefetch_fate_pages", NULL, SUM_OF(C_untracked), 0, COUNTER, false, "fate", "untracked"},
	{"prefetch_resident_unused_pages", "Prefetched pages in the cache that nobody has used yet",
	 SUM_OF(C_resident_unused), 0, GAUGE, false, NULL, NULL},
	{"demand_pages", "Pages read because a call asked for them", SUM_OF(C_demand_pages), 0,
	 COUNTER, false, NULL, NULL},
	{"written_pages", "Pages added to the cache by writes", SUM_OF(C_written_pages), 0, COUNTER,
	 false, NULL, NULL},
	{"windows", "Readahead windows, by kind", SUM_OF(C_windows_sync), 0, COUNTER, false, "kind",
	 "sync"},
	{"windows", NULL, SUM_OF(C_windows_async), 0, COUNTER, false, "kind", "async"},
	{"windows", NULL, SUM_OF(C_windows_forced), 0, COUNTER, false, "kind", "forced"},
	{"evicted_pages", "Pages that left the cache", SUM_OF(TERMS_evicted_pages), 0, COUNTER,
	 true, NULL, NULL},
	{"eviction_cause_pages", "Pages that left the cache, by cause",
	 SUM_OF(C_evicted_reclaim_kswapd), 0, COUNTER, false, "cause", "reclaim_kswapd"},
	{"eviction_cause_pages", NULL, SUM_OF(C_evicted_reclaim_direct), 0, COUNTER, false, "cause",
	 "reclaim_direct"},
	{"eviction_cause_pages", NULL, SUM_OF(C_evicted_reclaim_memcg), 0, COUNTER, false, "cause",
	 "reclaim_memcg"},
	{"eviction_cause_pages", NULL, SUM_OF(C_evicted_dontneed), 0, COUNTER, false, "cause",
	 "dontneed"},
	{"eviction_cause_pages", NULL, SUM_OF(C_evicted_drop_caches), 0, COUNTER, false, "cause",
	 "drop_caches"},
	{"eviction_cause_pages", NULL, SUM_OF(C_evicted_truncate), 0, COUNTER, false, "cause",
	 "truncate"},
	{"eviction_cause_pages", NULL, SUM_OF(C_evicted_direct_io), 0, COUNTER, false, "cause",
	 "direct_io"},
	{"eviction_cause_pages", NULL, SUM_OF(C_evicted_invalidate), 0, COUNTER, false, "cause",
	 "invalidate"},
	{"eviction_cause_pages", NULL, SUM_OF(C_evicted_dontcache), 0, COUNTER, false, "cause",
	 "dontcache"},
	{"eviction_cause_pages", NULL, SUM_OF(C_evicted_other), 0, COUNTER, false, "cause",
	 "other"},
	{"refaults", "Pages that came back after they had left the cache", SUM_OF(C_refaults), 0,
	 COUNTER, true, NULL, NULL},
	{"refault_misses", "Refaults that were misses of read calls", SUM_OF(C_refault_misses), 0,
	 COUNTER, false, NULL, NULL},
	{"faults", "Page faults of file mappings, by kind", SUM_OF(C_faults_major), 0, COUNTER,
	 false, "kind", "major"},
	{"faults", NULL, SUM_OF(C_faults_minor), 0, COUNTER, false, "kind", "minor"},
	{"stall_seconds", "Time that tasks slept until a page was read", SUM_OF(C_stall_ns), 0,
	 COUNTER_NS, true, NULL, NULL},
	{"stalls", "Sleeps until a page was read", SUM_OF(C_stalls), 0, COUNTER, true, NULL, NULL},
};
enum { NR_LINES = sizeof(lines) / sizeof(lines[0]) };

struct past {
	char *series;
	int64_t value;
};

struct metrics {
	struct hash_index index; /* index of past values */
	struct past *past;
	size_t nr, room;
};

size_t metrics_losses(const struct loss_counts *lost, bool births,
		      struct metrics_loss ret[METRICS_LOSSES])
{
	const struct metrics_loss losses[METRICS_LOSSES] = {
		{"files", lost->map_full},	    {"page_state", lost->chunk_full},
		{"names", lost->ring_drops},	    {"tasks", lost->state_drops},
		{"refaults", lost->ghosts_dropped}, {"advice", lost->advice_full},
		{"cgroups", lost->births_dropped},
	};

	memcpy(ret, losses, sizeof(losses));
	return births ? METRICS_LOSSES : METRICS_LOSSES - 1;
}

struct metrics *metrics_new(void)
{
	return calloc(1, sizeof(struct metrics));
}

void metrics_free(struct metrics *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->nr; i++)
		free(m->past[i].series);
	free(m->past);
	hash_index_free(&m->index);
	free(m);
}

/* The place of the value that was written before, or NULL: no memory. Takes the text. */
static int64_t *past_of(struct metrics *m, char *series)
{
	uint64_t hash = hash_bytes(0, series, strlen(series));

	if (m->nr)
		for (size_t at = 0, row; hash_index_next(&m->index, hash, &at, &row);)
			if (strcmp(m->past[row].series, series) == 0) {
				free(series);
				return &m->past[row].value;
			}
	if (vec_reserve(m->past, m->room, m->nr + 1) || hash_index_reserve(&m->index, m->nr + 1)) {
		free(series);
		return NULL;
	}
	m->past[m->nr] = (struct past){.series = series};
	hash_index_put(&m->index, hash, m->nr);
	return &m->past[m->nr++].value;
}

/* Cuts whole characters; bytes that are no UTF-8 become "?". */
static void write_label(FILE *out, const char *name, const char *value)
{
	size_t len = strlen(value), used = 0, step;
	uint32_t cp;

	fprintf(out, "%s=\"", name);
	for (size_t i = 0; i < len; i += step ? step : 1) {
		step = escape_decode(value + i, len - i, &cp);
		used += step ? step : 1;
		if (used > LABEL_MAX)
			break;
		if (!step)
			fputc('?', out);
		else if (value[i] == '\n')
			fputs("\\n", out);
		else if (value[i] == '"' || value[i] == '\\')
			fprintf(out, "\\%c", value[i]);
		else
			fwrite(value + i, 1, step, out);
	}
	fputc('"', out);
}

struct label {
	const char *name, *value;
};

/* Labels without a value are left out. */
static void write_series(FILE *out, const char *name, const struct label *labels, size_t nr)
{
	const char *sep = "{";

	fputs(name, out);
	for (size_t i = 0; i < nr; i++) {
		if (!labels[i].name || !labels[i].value)
			continue;
		fputs(sep, out);
		write_label(out, labels[i].name, labels[i].value);
		sep = ",";
	}
	if (*sep == ',')
		fputc('}', out);
}

static int write_value(struct metrics *m, FILE *out, const char *name, enum kind kind,
		       const struct label *labels, size_t nr, int64_t value)
{
	struct text_builder b;
	char *series;
	int64_t *past;

	if (text_begin(&b))
		write_series(b.out, name, labels, nr);
	series = text_end(&b);
	if (!series)
		return -ENOMEM;
	fprintf(out, "%s ", series);
	if (kind >= GAUGE) {
		free(series);
	} else {
		past = past_of(m, series);
		if (!past)
			return -ENOMEM;
		if (value < *past)
			value = *past;
		*past = value;
	}
	if (kind == GAUGE_PPM)
		fprintf(out, "%" PRId64 ".%06" PRId64 "\n", value / 1000000, value % 1000000);
	else if (kind == COUNTER_NS)
		fprintf(out, "%" PRId64 ".%09" PRId64 "\n", value / 1000000000, value % 1000000000);
	else
		fprintf(out, "%" PRId64 "\n", value);
	return 0;
}

static const char *const suffixes[] = {"_total", "_total", "", "", "_info"};

/* In OpenMetrics a family is named without its suffix, and its name ends with its unit. */
static void write_head(FILE *out, const char *name, const char *help, enum kind kind,
		       enum metrics_format format)
{
	static const char *const types[] = {"counter", "counter", "gauge", "gauge", "info"};
	static const char *const units[] = {"seconds", "bytes", "pages", "ratio"};
	const char *type = types[kind], *last;
	int len = (int)strlen(name);

	if (format == METRICS_TEXT && kind == INFO)
		type = types[GAUGE];
	if (format == METRICS_OPEN)
		len -= (int)strlen(suffixes[kind]);
	fprintf(out, "# HELP %.*s %s.\n# TYPE %.*s %s\n", len, name, help, len, name, type);
	if (format == METRICS_TEXT)
		return;
	last = memrchr(name, '_', (size_t)len);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strlen(units[i]) == (size_t)(name + len - last - 1) &&
		    !strncmp(last + 1, units[i], strlen(units[i])))
			fprintf(out, "# UNIT %.*s %s\n", len, name, units[i]);
}

/* A family that begins with its first series. */
struct family {
	enum metrics_format format;
	FILE *out;
	const char *name, *help;
	enum kind kind;
	bool begun;
	int ret;
};

static void add(struct family *f, struct metrics *m, struct opt_i64 value,
		const struct label *labels, size_t nr)
{
	if (!value.known)
		return;
	if (!f->begun)
		write_head(f->out, f->name, f->help, f->kind, f->format);
	f->begun = true;
	if (!f->ret)
		f->ret = write_value(m, f->out, f->name, f->kind, labels, nr, value.value);
}

const char *metrics_device(const struct metrics_mount *mounts, size_t nr, const char *mount)
{
	const char *device = NULL;
	bool found = false;

	for (size_t i = 0; mount && i < nr; i++) {
		const char *of = mounts[i].device;

		if (!mounts[i].mount || strcmp(mounts[i].mount, mount) != 0)
			continue;
		if (!of || (found && strcmp(of, device) != 0))
			return NULL;
		device = of;
		found = true;
	}
	return device;
}

static void add_of_mount(struct family *f, const struct metrics_job *job, const char *mount,
			 struct opt_i64 value, const struct line *line)
{
	add(f, job->past, value,
	    (struct label[]){{"manager", job->manager},
			     {"jobid", job->jobid},
			     {"mount", mount},
			     {"device", metrics_device(job->mounts, job->nr_mounts, mount)},
			     {line->label, line->value}},
	    5);
}

/* Whether an earlier one has this mount point, too, or the mount has no name. */
static bool is_added(const struct metrics_mount *mounts, size_t i)
{
	for (size_t k = 0; k < i && mounts[i].mount; k++)
		if (mounts[k].mount && !strcmp(mounts[k].mount, mounts[i].mount))
			return true;
	return !mounts[i].mount;
}

/* A series for each distinct mount point; all else of the job is that of "". */
static void add_mounts(struct family *f, const struct metrics_job *job, const struct line *line)
{
	const struct metrics_mount *mounts = job->mounts;
	struct counts rest = job->counts;
	bool any = false;

	for (size_t i = 0; i < job->nr_mounts; i++) {
		struct counts sum = mounts[i].counts;

		if (mounts[i].mount)
			counts_subtract(&rest, &mounts[i].counts);
		if (is_added(mounts, i))
			continue;
		for (size_t j = i + 1; j < job->nr_mounts; j++)
			if (mounts[j].mount && !strcmp(mounts[j].mount, mounts[i].mount))
				counts_add(&sum, &mounts[j].counts);
		add_of_mount(f, job, mounts[i].mount, counts_sum(&sum, line->terms), line);
		any = true;
	}
	if (!any || counts_any(&rest))
		add_of_mount(f, job, "", counts_sum(&rest, line->terms), line);
}

static struct opt_i64 value_of(const struct metrics_job *job, const struct line *line)
{
	if (line->terms)
		return counts_sum(&job->counts, line->terms);
	return *(const struct opt_i64 *)((const char *)job + line->offset);
}

/* The same for a count of struct metrics_job's facts. */
static void add_fact_mounts(struct family *f, const struct metrics_job *job,
			    const struct line *line)
{
	size_t fact = (line->offset - offsetof(struct metrics_job, facts)) / sizeof(job->facts[0]);
	const struct metrics_mount *mounts = job->mounts;
	struct opt_i64 rest = job->facts[fact];

	for (size_t i = 0; i < job->nr_mounts; i++) {
		struct opt_i64 sum = {0, false};

		for (size_t j = i; j < job->nr_mounts && !is_added(mounts, i); j++) {
			if (!mounts[j].mount || strcmp(mounts[j].mount, mounts[i].mount) != 0)
				continue;
			sum.value += mounts[j].facts[fact].value;
			sum.known |= mounts[j].facts[fact].known;
		}
		add_of_mount(f, job, mounts[i].mount, sum, line);
		rest.value -= sum.value;
	}
	add_of_mount(f, job, "", rest, line);
}

static int write_line_family(const struct metrics_node *node, enum metrics_format format, FILE *out,
			     size_t *at)
{
	const struct line *first = &lines[*at];
	char name[64];
	struct family f = {.format = format, .out = out, .name = name, .help = first->help};

	f.kind = first->kind;
	snprintf(name, sizeof(name), "cachemon_job_%s%s", first->family, suffixes[first->kind]);
	for (; *at < NR_LINES && !strcmp(lines[*at].family, first->family); ++*at)
		for (size_t j = 0; j < node->nr_jobs; j++) {
			const struct metrics_job *job = &node->jobs[j];
			const struct line *line = &lines[*at];

			if (line->by_mount && line->terms)
				add_mounts(&f, job, line);
			else if (line->by_mount)
				add_fact_mounts(&f, job, line);
			else
				add(&f, job->past, value_of(job, line),
				    (struct label[]){{"manager", job->manager},
						     {"jobid", job->jobid},
						     {line->label, line->value}},
				    3);
		}
	return f.ret;
}

static int write_info(const struct metrics_node *node, enum metrics_format format, FILE *out)
{
	struct family f = {.format = format, .out = out, .name = "cachemon_job_info", .kind = INFO};

	f.help = "The user and the name of a job";
	for (size_t i = 0; i < node->nr_jobs; i++) {
		const struct metrics_job *job = &node->jobs[i];

		add(&f, job->past, (struct opt_i64){1, !job->rest},
		    (struct label[]){{"manager", job->manager},
				     {"jobid", job->jobid},
				     {"user", job->user},
				     {"name", job->name},
				     {"step", job->step},
				     {"partition", job->partition}},
		    6);
	}
	return f.ret;
}

/* The facts of the collector without labels. */
static int write_node(const struct metrics_node *node, enum metrics_format format, FILE *out)
{
	const struct {
		const char *name, *help;
		struct opt_i64 value;
		enum kind kind;
	} gauges[] = {
		{"cachemon_resident_bytes", "Memory that the collector itself has in RAM",
		 node->resident_bytes, GAUGE},
		{"cachemon_jobs", "Jobs that are watched now", node->nr_watched, GAUGE},
		{"cachemon_budget_ratio",
		 "The most that counting may cost, of the CPU time of the watched jobs",
		 node->budget_ppm, GAUGE_PPM},
		{"cachemon_cost_ratio", "The cost of counting, as a share of the same",
		 node->cost_ppm, GAUGE_PPM},
	};
	struct family details = {.format = format,
				 .out = out,
				 .name = "cachemon_detail_given_up",
				 .help = "1 while this detail is not recorded, to keep the budget",
				 .kind = GAUGE};
	int ret = 0;

	for (size_t i = 0; i < sizeof(gauges) / sizeof(gauges[0]); i++) {
		struct family f = {.format = format,
				   .out = out,
				   .name = gauges[i].name,
				   .help = gauges[i].help,
				   .kind = gauges[i].kind};

		add(&f, node->past, gauges[i].value, NULL, 0);
		ret = f.ret ? f.ret : ret;
	}
	for (size_t i = 0; i < node->nr_details; i++)
		add(&details, node->past, (struct opt_i64){node->details[i].given_up, true},
		    (struct label[]){{"detail", node->details[i].name}}, 1);
	return ret ? ret : details.ret;
}

static int write_own(const struct metrics_node *node, enum metrics_format format, FILE *out)
{
	struct family build = {
		.format = format, .out = out, .name = "cachemon_build_info", .kind = INFO};
	struct family live = {
		.format = format, .out = out, .name = "cachemon_probe_live", .kind = GAUGE};
	struct family losses = {.format = format, .out = out, .name = "cachemon_losses_total"};
	struct family cpu = {.format = format,
			     .out = out,
			     .name = "cachemon_cpu_seconds_total",
			     .kind = COUNTER_NS};

	build.help = "The version of cachemon";
	live.help = "1 if this role of the probes is attached, 0 if it is not";
	losses.help = "Events that were not recorded, by kind";
	cpu.help = "CPU time that measuring takes: probes in the jobs, and the collector itself";
	add(&build, node->past, (struct opt_i64){1, true},
	    (struct label[]){{"version", node->version}}, 1);
	for (size_t i = 0; i < node->nr_probes; i++)
		add(&live, node->past, (struct opt_i64){node->probes[i].live, true},
		    (struct label[]){{"role", node->probes[i].role}}, 1);
	for (size_t i = 0; i < node->nr_losses; i++)
		add(&losses, node->past, (struct opt_i64){(int64_t)node->losses[i].count, true},
		    (struct label[]){{"kind", node->losses[i].kind}}, 1);
	add(&cpu, node->past, node->probe_cpu_ns, (struct label[]){{"kind", "probes"}}, 1);
	add(&cpu, node->past, node->collector_cpu_ns, (struct label[]){{"kind", "collector"}}, 1);
	return build.ret | live.ret | losses.ret | cpu.ret ? -ENOMEM
							   : write_node(node, format, out);
}

static bool is_vfs(const struct line *line)
{
	return !strncmp(line->family, "vfs_", strlen("vfs_"));
}

int metrics_write(const struct metrics_node *node, enum metrics_format format, FILE *out)
{
	int ret = write_own(node, format, out);

	if (!ret)
		ret = write_info(node, format, out);
	for (size_t at = 0; !ret && at < NR_LINES;) {
		if (node->no_vfs && is_vfs(&lines[at]))
			at++;
		else
			ret = write_line_family(node, format, out, &at);
	}
	if (format == METRICS_OPEN)
		fputs("# EOF\n", out);
	return ret;
}
