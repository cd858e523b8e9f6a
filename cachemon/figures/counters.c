/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/figures/counters.h"

static const struct {
	const char *name;
	enum counter_group group;
} table[C_NR] = {
#define X(name, group) [C_##name] = {#name, GROUP_##group},
	CACHEMON_COUNTERS(X)
#undef X
};

const char *counter_name(enum counter c)
{
	return table[c].name;
}

int64_t counter_wait_ns(int bucket)
{
	return bucket ? INT64_C(1) << (WAIT_SHIFT + bucket) : 0;
}

enum counter_group counter_group(enum counter c)
{
	return table[c].group;
}

const char *counter_group_name(enum counter_group g)
{
	static const char *const names[GROUP_NR] = {
		[GROUP_READ] = "reads",		 [GROUP_DELAY] = "delayed hits",
		[GROUP_WINDOW] = "windows",	 [GROUP_FATE] = "fates",
		[GROUP_PAGE] = "pages",		 [GROUP_GHOST] = "refaults",
		[GROUP_FAULT] = "faults",	 [GROUP_MAP] = "mapped pages",
		[GROUP_DIRECT] = "direct reads", [GROUP_STALL] = "stalls",
	};

	return names[g];
}

void counters_add(struct counters *sum, const int64_t delta[C_NR])
{
	for (int i = 0; i < C_NR; i++)
		sum->c[i] += delta[i];
}

int64_t counters_sum(const int64_t c[C_NR], const int terms[])
{
	int64_t sum = 0;

	for (int i = 0; terms[i] != C_NR; i++)
		sum += terms[i] < 0 ? -c[MINUS(terms[i])] : c[terms[i]];
	return sum;
}

int64_t counters_law_error(const struct counters *c)
{
	return counters_sum(c->c, SUM_OF(TERMS_fates)) -
	       counters_sum(c->c, SUM_OF(TERMS_prefetched_pages));
}

/* A program start: sh and cat have 50 minor faults, Python 150, each of which maps up to 16
 * pages. */
enum { START_FAULTS_MAJOR = 32, START_PAGES = 2048, MAPPED_TIMES = 4 };

bool counters_mapped(struct opt_i64 lookups, struct opt_i64 faults_major,
		     struct opt_i64 mapped_pages, struct opt_i64 processes)
{
	int64_t starts = processes.known && processes.value > 1 ? processes.value : 1;

	if (!lookups.known || !faults_major.known)
		return false;
	return faults_major.value - starts * START_FAULTS_MAJOR > lookups.value ||
	       (mapped_pages.known &&
		(mapped_pages.value - starts * START_PAGES) / MAPPED_TIMES > lookups.value);
}
