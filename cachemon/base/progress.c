/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/base/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SECOND_NS 1000000000ULL

enum { SIGN_NS = 80000000, EVERY_NS = 250000000 };

/* Nobody needs figures about what is over by then; and a pace takes a while to show. */
static const uint64_t FIGURES_NS = 2 * SECOND_NS, PACE_NS = SECOND_NS / 2;

void progress_at(const struct progress_sink *sink, const char *what, uint64_t done, uint64_t total)
{
	if (sink)
		sink->at(sink->arg, what, done, total);
}

void progress_over(const struct progress_sink *sink)
{
	progress_at(sink, NULL, 0, 0);
}

void progress_begin(struct progress *p, uint64_t now_ns)
{
	*p = (struct progress){.began_ns = now_ns, .part_began_ns = now_ns};
}

void progress_note(struct progress *p, uint64_t now_ns, const char *what, uint64_t done,
		   uint64_t total)
{
	if (!p->what || strcmp(p->what, what) != 0)
		p->part_began_ns = now_ns;
	p->what = what;
	p->done = done;
	p->total = total;
}

uint64_t progress_due_ns(const struct progress *p)
{
	uint64_t figures_ns = p->began_ns + FIGURES_NS;

	if (!p->shown_ns)
		return p->began_ns + SIGN_NS;
	return p->shown_ns < figures_ns ? figures_ns : p->shown_ns + EVERY_NS;
}

int64_t progress_left_ns(const struct progress *p, uint64_t now_ns)
{
	uint64_t spent = now_ns - p->part_began_ns;
	double left;

	if (!p->total || !p->done || p->done > p->total || spent < PACE_NS)
		return -1;
	left = (double)spent / (double)p->done * (double)(p->total - p->done);
	return left < (double)INT64_MAX ? (int64_t)left : -1;
}

/* Rounded so that it does not jump: nobody can foretell more. */
static void put_left(char *ret, size_t size, int64_t left_ns)
{
	int64_t s = left_ns / (int64_t)SECOND_NS + 1;

	if (s < 100)
		snprintf(ret, size, ", about %" PRId64 " s left", s);
	else if (s < 100 * 60)
		snprintf(ret, size, ", about %" PRId64 " min left", (s + 30) / 60);
	else
		snprintf(ret, size, ", about %" PRId64 " h left", (s + 1800) / 3600);
}

/* The last column stays free: some terminals wrap when it is written. */
static void cut(char *line, size_t columns)
{
	if (strlen(line) + 1 > columns)
		line[columns ? columns - 1 : 0] = 0;
}

void progress_line(const struct progress *p, uint64_t now_ns, size_t columns, char *ret,
		   size_t size)
{
	uint64_t spent_s = (now_ns - p->began_ns) / SECOND_NS;
	int64_t left_ns = progress_left_ns(p, now_ns);
	const char *what = p->what ? p->what : "working";
	char amount[64] = "", left[64] = "";

	if (now_ns - p->began_ns < FIGURES_NS) {
		snprintf(ret, size, "%s ...", what);
		cut(ret, columns);
		return;
	}
	if (p->total && p->done <= p->total)
		snprintf(amount, sizeof(amount), ": %" PRIu64 " of %" PRIu64, p->done, p->total);
	if (left_ns >= 0)
		put_left(left, sizeof(left), left_ns);
	snprintf(ret, size, "%s%s, %" PRIu64 " s so far%s", what, amount, spent_s, left);
	cut(ret, columns);
}
