/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/run/sections.h"

#include <stdlib.h>

#include "cachemon/figures/show.h"

struct line {
	const char *name;
	struct shown count;
	struct shown size;
	const char *meaning;
};

#define COUNT(x)    counts_get(c, C_##x)
#define LEAST(x, v) show_least(v, counts_lower_bound(c, C_##x))
#define SHOWN(x)    LEAST(x, show_count(COUNT(x), counts_estimated(c, C_##x)))
#define PAGES(x)    LEAST(x, show_bytes(opt_mul(COUNT(x), page_size), counts_estimated(c, C_##x)))
#define PLAIN(x, label, says, of_pages)                                                            \
	{label, SHOWN(x), of_pages ? PAGES(x) : (struct shown){""}, says},

static void put_lines(struct doc_table *t, const struct line *lines, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		doc_cell(t, "%s", lines[i].name);
		doc_cell_shown(t, lines[i].count);
		doc_cell_shown(t, lines[i].size);
		doc_cell(t, "%s", lines[i].meaning);
	}
}

static void read_lines(struct doc_table *t, const struct counts *c, const struct derived *d,
		       int64_t page_size)
{
	const struct line lines[] = {
		{"read calls", LEAST(read_calls, show_read(c, ESTIMATE_READ_CALLS)),
		 LEAST(read_bytes, show_read_bytes(c)),
		 "buffered reads and the bytes they returned"},
		{"lookups", LEAST(lookups, show_read(c, ESTIMATE_LOOKUPS)), PAGES(lookups),
		 "pages that those reads requested"},
		{LABEL_hits, LEAST(lookups, show_read(c, ESTIMATE_HITS)),
		 LEAST(lookups, show_bytes(opt_mul(d->hits, page_size), c->sliced)),
		 "found in the cache"},
		{"delayed hits", LEAST(delayed_hits, show_read(c, ESTIMATE_DELAYED_HITS)),
		 PAGES(delayed_hits), "hits that waited for I/O in progress"},
		{"misses", SHOWN(misses), PAGES(misses), "not in the cache"},
		{LABEL_hit_ratio, show_hit_ratio(c, d), {""}, "hits / lookups"},
		{"demand pages", SHOWN(demand_pages), PAGES(demand_pages),
		 "added because a program requested them"},
		{LABEL_prefetched_pages,
		 LEAST(prefetched_sync, show_count(d->prefetched_pages, false)),
		 LEAST(prefetched_sync, show_bytes(opt_mul(d->prefetched_pages, page_size), false)),
		 "added before a program requested them"},
		{"wasted prefetch", SHOWN(evicted_unused),
		 LEAST(evicted_unused, show_bytes(d->waste_bytes, false)),
		 "prefetched and evicted unused"},
		{"written pages", SHOWN(written_pages), PAGES(written_pages),
		 "added by buffered writes"},
	};

	put_lines(t, lines, sizeof(lines) / sizeof(lines[0]));
}

static void other_lines(struct doc_table *t, const struct counts *c, const struct derived *d,
			struct opt_i64 outside, int64_t page_size)
{
	const struct line lines[] = {
		{"other added", SHOWN(other_added_pages), PAGES(other_added_pages),
		 "added in other ways"},
		{LABEL_evicted_pages, LEAST(evicted_other, show_count(d->evicted_pages, false)),
		 LEAST(evicted_other, show_bytes(opt_mul(d->evicted_pages, page_size), false)),
		 "left the cache"},
		{"not added", SHOWN(evicted_not_added), PAGES(evicted_not_added),
		 "of those, cached before the run or added by others"},
		/* clang-format off */
		PLAIN_COUNTERS(PLAIN)
		/* clang-format on */
		{"major faults", SHOWN(faults_major), {""}, "on file mappings, page not cached"},
		{"minor faults", SHOWN(faults_minor), {""}, "on file mappings, page cached"},
		{"mapped pages", SHOWN(mapped_pages_upper_bound), PAGES(mapped_pages_upper_bound),
		 "upper bound: accesses through a mapping are not observed"},
		{"direct reads", SHOWN(direct_read_calls),
		 LEAST(direct_read_bytes, show_bytes(COUNT(direct_read_bytes), false)),
		 "bypassed the cache (O_DIRECT)"},
		{"other reads",
		 {""},
		 show_least(show_bytes(outside, false), outside.known),
		 "not observed: pipes, sockets, tmpfs, FUSE with direct_io and the like"},
		{"stalls", SHOWN(stalls), LEAST(stall_ns, show_ns(COUNT(stall_ns))),
		 "times that its tasks slept for the page cache"},
	};

	put_lines(t, lines, sizeof(lines) / sizeof(lines[0]));
}

void sections_totals(struct doc *d, const struct model *m, const struct model_job *job)
{
	static const struct doc_column columns[] = {
		{"TOTALS", DOC_LEFT},
		{"COUNT", DOC_RIGHT},
		{"AMOUNT", DOC_RIGHT},
		{"WHAT IT IS", DOC_WRAP},
	};
	struct doc_table t = DOC_TABLE(NULL, columns);
	int64_t page_size = m->run.page_size_bytes.value;
	struct derived derived;

	counts_derive(&job->counts, page_size, &derived);
	read_lines(&t, &job->counts, &derived, page_size);
	other_lines(&t, &job->counts, &derived, job->outside_read_bytes, page_size);
	doc_put_table(d, &t);
}

static const struct doc_column share_columns[] = {
	{"", DOC_LEFT},
	{"PAGES", DOC_RIGHT},
	{"AMOUNT", DOC_RIGHT},
	{"SHARE", DOC_BAR},
};

static void put_share(struct doc_table *t, const char *name, const struct counts *c,
		      enum counter which, struct opt_i64 all, int64_t page_size)
{
	struct opt_i64 n = counts_get(c, which);
	bool least = counts_lower_bound(c, which);

	doc_cell(t, "%s", name);
	doc_cell_shown(t, show_least(show_count(n, false), least));
	doc_cell_shown(t, show_least(show_bytes(opt_mul(n, page_size), false), least));
	doc_cell(t, "%.4f",
		 n.known && all.known && all.value > 0 && n.value <= all.value
			 ? (double)n.value / (double)all.value
			 : 0);
}

/* A fate with the label of the table above. */
static struct shown show_fate(const struct counts *c, enum counter which)
{
	return show_least(show_count(counts_get(c, which), false), counts_lower_bound(c, which));
}

static void put_law(struct doc *d, const struct counts *c, const struct derived *derived)
{
	if (!derived->law_error_pages.known) {
		doc_para(d, "Conservation law not checked: some fates of prefetched pages were not "
			    "measured.");
		return;
	}
	doc_para(d, "Conservation law: %s + %s + %s + %s + %s = %s prefetched%s%s%s.",
		 show_fate(c, C_used).s, show_fate(c, C_used_late).s,
		 show_fate(c, C_evicted_unused).s, show_fate(c, C_resident_unused).s,
		 show_fate(c, C_untracked).s, show_count(derived->prefetched_pages, false).s,
		 derived->law_error_pages.value ? " is VIOLATED by " : ": it holds",
		 derived->law_error_pages.value ? show_count(derived->law_error_pages, false).s
						: "",
		 derived->law_error_pages.value ? " pages" : "");
}

static void put_fates(struct doc *d, const struct counts *c, const struct derived *derived,
		      int64_t page_size)
{
	static const char *const names[] = {"used in time", "used late (the reader waited)",
					    "evicted unused", "resident unused (fate open)",
					    "untracked (fate unknown)"};
	struct doc_table t = DOC_TABLE("Fates of the prefetched pages", share_columns);

	for (int i = 0; i < 5; i++)
		put_share(&t, names[i], c, C_used + (enum counter)i, derived->prefetched_pages,
			  page_size);
	doc_put_table(d, &t);
	put_law(d, c, derived);
	if (counts_fates_unknown(c))
		doc_para(d, "Accuracy, coverage and timeliness are not given: too many prefetched "
			    "pages have an unknown fate.");
	doc_para(d,
		 "Accuracy is %s (share of pages with a settled fate that were used). Coverage is "
		 "%s (share of the pages needed that prefetch brought). Timeliness is %s (share of "
		 "used pages that were used in time).",
		 show_range(derived->accuracy, &derived->accuracy_range).s,
		 show_range(derived->coverage, &derived->coverage_range).s,
		 show_range(derived->timeliness, &derived->timeliness_range).s);
}

void sections_prefetch(struct doc *d, const struct model *m, const struct model_job *job)
{
	static const char *const names[] = {"synchronous readahead", "asynchronous readahead",
					    "WILLNEED advice", "readahead(2)",
					    "around a mapped fault"};
	struct doc_table t = DOC_TABLE("Origins of the prefetched pages", share_columns);
	int64_t page_size = m->run.page_size_bytes.value;
	struct derived derived;

	counts_derive(&job->counts, page_size, &derived);
	if (derived.prefetched_pages.known && derived.prefetched_pages.value == 0) {
		doc_para(d, "None.");
		return;
	}
	for (int i = 0; i < 5; i++)
		put_share(&t, names[i], &job->counts, C_prefetched_sync + (enum counter)i,
			  derived.prefetched_pages, page_size);
	doc_put_table(d, &t);
	put_fates(d, &job->counts, &derived, page_size);
}
