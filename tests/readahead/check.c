/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "patterns.h"
#include "advisor/readahead/ra_model.h"

enum { LINE_BYTES = 1 << 17 };

enum { SPLICE_PAGES = 16 }; /* that one read of splice(2) and sendfile(2) asks for */

struct world {
	struct ra_file file;
	struct ra_stream streams[PATTERN_STREAMS];
	struct ra_mapping mapping;
	bool mapped[PATTERN_PAGES + 1];
	/* Brought by the last call, in order of arrival; a page arrives once. */
	struct ra_add adds[PATTERN_PAGES + 1];
	size_t nr_adds;
};

struct setting {
	const struct ra_kernel *kernel;
	unsigned int max_order, io_pages;
};

static void world_open(struct world *w, const struct setting *s, unsigned int kb, bool exec)
{
	memset(w, 0, sizeof(*w));
	ra_file_init(&w->file, s->kernel, PATTERN_BYTES, s->max_order, s->io_pages, kb / 4);
	for (int i = 0; i < PATTERN_STREAMS; i++)
		ra_stream_init(&w->streams[i], &w->file);
	w->mapping.nr_pages = PATTERN_PAGES;
	w->mapping.exec = exec;
}

static void note_adds(struct world *w)
{
	for (size_t i = 0; i < w->file.nr_adds; i++) {
		if (w->nr_adds == sizeof(w->adds) / sizeof(w->adds[0]))
			abort();
		w->adds[w->nr_adds++] = w->file.adds[i];
	}
}

/* The read of sendfile(2) and splice(2). */
static void send_file(struct world *w, struct ra_stream *s, uint64_t pos, uint64_t count)
{
	w->file.nr_adds = 0;
	for (uint64_t end = pos + count; pos < end && pos < w->file.size_bytes;) {
		uint64_t step = SPLICE_PAGES * PATTERN_PAGE;

		if (step > end - pos)
			step = end - pos;
		note_adds(w);
		ra_read(&w->file, s, pos, step);
		pos += step;
	}
}

static void touch(struct world *w, struct ra_stream *s, uint64_t page)
{
	uint64_t first, end;

	w->file.nr_adds = 0;
	if (w->mapped[page])
		return;
	ra_touch(&w->file, s, &w->mapping, page);
	ra_fault_around(&w->file, &w->mapping, page, &first, &end);
	for (uint64_t i = first; i < end; i++)
		w->mapped[i] |= ra_mappable(&w->file, i);
	w->mapped[page] = true;
}

static void do_call(struct world *w, const struct call *c)
{
	static const enum ra_advice advice[] = {RA_ADVICE_NORMAL, RA_ADVICE_SEQUENTIAL,
						RA_ADVICE_RANDOM, RA_ADVICE_WILLNEED};
	struct ra_stream *s = &w->streams[c->stream];

	w->nr_adds = 0;
	switch (c->kind) {
	case DO_READ:
		ra_read(&w->file, s, c->pos, c->count);
		break;
	case DO_SEND:
		send_file(w, s, c->pos, c->count);
		break;
	case DO_TOUCH:
		touch(w, s, c->pos / PATTERN_PAGE);
		break;
	case DO_ADVISE:
		ra_advise(&w->file, s, advice[c->advice], c->pos, c->count);
		break;
	case DO_MADVISE:
		w->file.nr_adds = 0;
		if (c->advice == ADVISE_WILLNEED)
			ra_advise(&w->file, s, RA_ADVICE_WILLNEED, c->pos, c->count);
		w->mapping.random = c->advice == ADVISE_RANDOM;
		w->mapping.sequential = c->advice == ADVISE_SEQUENTIAL;
		break;
	}
	note_adds(w);
}

/* As printed by readahead_record, without the number. */
static void print_adds(const struct world *w, char *text, size_t size)
{
	uint64_t first = 0, nr = 0;
	unsigned int order = 0;
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i <= w->nr_adds; i++) {
		const struct ra_add *a = &w->adds[i];

		if (i < w->nr_adds && nr && a->first == first + nr && a->order == order) {
			nr += 1ULL << a->order;
			continue;
		}
		if (nr && len < size)
			len += (size_t)snprintf(text + len, size - len,
						" %" PRIu64 "+%" PRIu64 "@%u", first, nr, order);
		if (i == w->nr_adds)
			break;
		first = a->first;
		nr = 1ULL << a->order;
		order = a->order;
	}
}

/* The recording's results for the next call that has any. */
struct line {
	long number; /* -1: no more calls */
	char *adds;
	/* of a line for several calls */
	long every, repeat;
	uint64_t first, nr;
	int64_t step;
	unsigned int order;
	char text[80];
};

static void read_line(FILE *recording, char *line, struct line *ret)
{
	memset(ret, 0, sizeof(*ret));
	line[0] = '\0';
	ret->number = -1;
	if (!fgets(line, LINE_BYTES, recording) || line[0] < '0' || line[0] > '9')
		return;
	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%ld/%ld*%ld %" SCNu64 "+%" SCNu64 "@%u %" SCNd64, &ret->number,
		   &ret->every, &ret->repeat, &ret->first, &ret->nr, &ret->order,
		   &ret->step) == 7) {
		snprintf(ret->text, sizeof(ret->text), " %" PRIu64 "+%" PRIu64 "@%u", ret->first,
			 ret->nr, ret->order);
		ret->adds = ret->text;
		return;
	}
	ret->repeat = 1;
	ret->adds = strchr(line, ' ');
	if (!ret->adds || sscanf(line, "%ld ", &ret->number) != 1)
		ret->number = -1;
}

static void next_line(FILE *recording, char *line, struct line *l)
{
	if (--l->repeat < 1) {
		read_line(recording, line, l);
		return;
	}
	l->number += l->every;
	l->first += (uint64_t)l->step;
	snprintf(l->text, sizeof(l->text), " %" PRIu64 "+%" PRIu64 "@%u", l->first, l->nr,
		 l->order);
}

static unsigned long pages_of(const char *adds)
{
	unsigned long pages = 0;

	while ((adds = strchr(adds, '+')))
		pages += strtoul(++adds, NULL, 10);
	return pages;
}

static void describe(const struct call *c, char *text, size_t size)
{
	static const char *const kinds[] = {"read", "send", "touch", "advise", "madvise"};

	snprintf(text, size,
		 "%s of description %u at page %" PRIu64 ".%" PRIu64 ", %" PRIu64 " bytes",
		 kinds[c->kind], c->stream, c->pos / PATTERN_PAGE, c->pos % PATTERN_PAGE, c->count);
}

/* Compares the calls of a pattern with the lines of a recording. False: a line belongs to none
 * of them. */
static bool check_calls(FILE *recording, char *line, struct world *w, const struct calls *calls,
			const char *name, FILE *out, struct check_result *ret)
{
	static char got[LINE_BYTES];
	char what[160];
	struct line next;
	bool exact = true;

	read_line(recording, line, &next);
	for (size_t i = 0; i < calls->nr; i++) {
		bool said = next.number == (long)i;

		do_call(w, &calls->call[i]);
		print_adds(w, got, sizeof(got));
		if (exact && strcmp(got, said ? next.adds : "") != 0) {
			describe(&calls->call[i], what, sizeof(what));
			fprintf(out, "%s, call %zu (%s):\n  kernel %.300s\n  model  %.300s\n", name,
				i, what, said ? next.adds : " nothing", got[0] ? got : " nothing");
			exact = false;
		}
		if (!said)
			continue;
		ret->pages += pages_of(next.adds);
		next_line(recording, line, &next);
	}
	ret->runs++;
	ret->exact += exact;
	return next.number < 0;
}

/*
 * One pattern with one setting. Reads lines until one belongs to no call, which stays in `line`
 * (empty at the end of the recording).
 */
static bool check_run(FILE *recording, char *line, const struct setting *s, FILE *out,
		      struct check_result *ret)
{
	char name[64], run[96];
	unsigned int kb;
	struct calls calls;
	struct world w;
	bool good;

	if (sscanf(line, "pattern %63s %u", name, &kb) != 2 || !pattern_named(name)) {
		fprintf(out, "no pattern: %s", line);
		return false;
	}
	snprintf(run, sizeof(run), "%s at %u KiB", name, kb);
	calls_make(pattern_named(name), &calls);
	world_open(&w, s, kb, pattern_named(name)->exec);
	good = check_calls(recording, line, &w, &calls, run, out, ret);
	ra_file_free(&w.file);
	calls_free(&calls);
	return good;
}

static bool read_setting(FILE *recording, struct setting *s, FILE *out, struct check_result *ret)
{
	const char *why;
	int order;

	if (fscanf(recording, "kernel %127s fstype %31s io_pages %u ", ret->kernel, ret->fstype,
		   &s->io_pages) != 3) {
		fprintf(out, "this is no recording\n");
		return false;
	}
	s->kernel = ra_kernel_of(ret->kernel, &why);
	if (!s->kernel) {
		fprintf(out, "%s: %s\n", ret->kernel, why);
		return false;
	}
	order = ra_kernel_max_order(s->kernel, ret->fstype);
	if (order < 0) {
		fprintf(out, "%s: whether it has large folios is not known\n", ret->fstype);
		return false;
	}
	s->max_order = (unsigned int)order;
	return true;
}

int recording_check(FILE *recording, FILE *out, struct check_result *ret)
{
	static char line[LINE_BYTES];
	struct setting setting = {0};

	memset(ret, 0, sizeof(*ret));
	if (!read_setting(recording, &setting, out, ret))
		return -1;
	if (!fgets(line, sizeof(line), recording))
		return -1;
	while (line[0]) {
		if (!check_run(recording, line, &setting, out, ret))
			return -1;
	}
	return 0;
}

/* Appends the folios of one line. */
static struct recorded *take_adds(struct recorded *all, size_t *nr, size_t call, const char *adds)
{
	unsigned long first, pages;
	unsigned int order;
	int used;

	while (sscanf(adds, " %lu+%lu@%u%n", &first, &pages, &order, &used) == 3) {
		for (unsigned long at = first; at < first + pages; at += 1UL << order) {
			if (*nr % 64 == 0)
				all = realloc(all, (*nr + 64) * sizeof(*all));
			if (!all)
				abort();
			all[(*nr)++] = (struct recorded){call, at, order};
		}
		adds += used;
	}
	return all;
}

struct recorded *recording_find(FILE *recording, const char *pattern, unsigned int kb,
				size_t *ret_nr)
{
	static char line[LINE_BYTES];
	struct recorded *all = NULL;
	struct line l;
	char want[96];

	snprintf(want, sizeof(want), "pattern %s %u\n", pattern, kb);
	rewind(recording);
	*ret_nr = 0;
	do {
		if (!fgets(line, sizeof(line), recording))
			return NULL;
	} while (strcmp(line, want) != 0);
	read_line(recording, line, &l);
	while (l.number >= 0) {
		all = take_adds(all, ret_nr, (size_t)l.number, l.adds);
		next_line(recording, line, &l);
	}
	return all;
}
