/* SPDX-License-Identifier: BSD-2-Clause */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "recorder.h"

void trace_start(struct recorder *r, const char *fstype)
{
	char text[256], path[512], device[64] = "";
	struct stat st;

	if (stat(r->file, &st))
		err(1, "%s", r->file);
	/* On btrfs, files have another device than the superblock. */
	if (strcmp(fstype, "btrfs") != 0)
		snprintf(device, sizeof(device), " && s_dev == %u",
			 major(st.st_dev) << 20 | minor(st.st_dev));
	snprintf(text, sizeof(text), "i_ino == %ju%s && common_pid == %d", (uintmax_t)st.st_ino,
		 device, (int)getpid());
	put(r->tracing, "events/filemap/mm_filemap_add_to_page_cache/filter", text);
	put(r->tracing, "events/filemap/mm_filemap_add_to_page_cache/enable", "1");
	snprintf(text, sizeof(text), "i_ino == %ju%s", (uintmax_t)st.st_ino, device);
	put(r->tracing, "events/filemap/mm_filemap_delete_from_page_cache/filter", text);
	put(r->tracing, "events/filemap/mm_filemap_delete_from_page_cache/enable", "1");
	put(r->tracing, "tracing_on", "1");
	snprintf(path, sizeof(path), "%s/trace_pipe", r->tracing);
	r->pipe = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (r->pipe < 0)
		err(1, "%s", path);
}

/* All available data, with a NUL. */
static char *drain(struct recorder *r)
{
	size_t len = 0;

	for (;;) {
		ssize_t n;

		if (r->buffer_bytes - len < 65536) {
			r->buffer_bytes = r->buffer_bytes ? 2 * r->buffer_bytes : 1 << 20;
			r->buffer = realloc(r->buffer, r->buffer_bytes);
			if (!r->buffer)
				err(1, "buffer");
		}
		n = read(r->pipe, r->buffer + len, r->buffer_bytes - len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			err(1, "trace_pipe");
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	r->buffer[len] = '\0';
	return r->buffer;
}

void trace_forget(struct recorder *r)
{
	drain(r);
}

/* "NUMBER/EVERY*REPEAT FIRST+PAGES@ORDER STEP": every EVERY-th call brought a run, STEP pages
 * further. */
void trace_flush(struct recorder *r)
{
	const struct line *l = &r->last;

	if (!l->repeat)
		return;
	if (l->repeat == 1)
		fprintf(r->out, "%zu %" PRIu64 "+%" PRIu64 "@%u\n", l->number, l->first, l->nr,
			l->order);
	else
		fprintf(r->out, "%zu/%zu*%zu %" PRIu64 "+%" PRIu64 "@%u %" PRId64 "\n", l->number,
			l->every, l->repeat, l->first, l->nr, l->order, l->step);
	r->last.repeat = 0;
}

static void tell_line(struct recorder *r, const struct line *new)
{
	struct line *l = &r->last;
	size_t every = new->number - l->number - (l->repeat - 1) * l->every;
	int64_t step = (int64_t)(new->first - l->first - (l->repeat - 1) * (uint64_t)l->step);

	if (l->repeat && new->nr == l->nr &&new->order == l->order &&
	    (l->repeat == 1 || (step == l->step && every == l->every))) {
		l->step = step;
		l->every = every;
		l->repeat++;
		return;
	}
	trace_flush(r);
	*l = *new;
}

/* The next consecutive folios of one order, or false. */
static bool next_run(struct recorder *r, char **at, struct line *ret)
{
	ret->nr = 0;
	for (char *p = strstr(*at, " ofs="); p; p = strstr(p, " ofs=")) {
		uint64_t page = strtoull(p + 5, &p, 10) / PATTERN_PAGE;
		unsigned int o =
			strncmp(p, " order=", 7) ? 0 : (unsigned int)strtoul(p + 7, &p, 10);

		if (ret->nr && (page != ret->first + ret->nr || o != ret->order))
			return true;
		if (!ret->nr)
			ret->first = page;
		ret->order = o;
		ret->nr += 1ULL << o;
		for (uint64_t i = page; i < page + (1ULL << o) && i < PATTERN_PAGES; i++)
			r->seen[i] = 1;
		*at = p;
	}
	return ret->nr;
}

void trace_tell(struct recorder *r, size_t number)
{
	char *at = drain(r);
	struct line one = {.number = number, .repeat = 1}, another;

	if (strstr(at, "LOST"))
		errx(1, "the trace lost events");
	if (strstr(at, "mm_filemap_delete"))
		r->disturbed = true;
	if (r->disturbed || !next_run(r, &at, &one))
		return;
	if (!next_run(r, &at, &another)) {
		tell_line(r, &one);
		return;
	}
	trace_flush(r);
	fprintf(r->out, "%zu %" PRIu64 "+%" PRIu64 "@%u", number, one.first, one.nr, one.order);
	do
		fprintf(r->out, " %" PRIu64 "+%" PRIu64 "@%u", another.first, another.nr,
			another.order);
	while (next_run(r, &at, &another));
	fputc('\n', r->out);
}
