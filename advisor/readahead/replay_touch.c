/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/readahead/replay_impl.h"

static struct ra_mapping mapping_of(const struct trace_event *e)
{
	struct ra_mapping m = {
		.address_page = e->map.first_page + e->map.align,
		.first_page = e->map.first_page,
		.nr_pages = e->map.nr_pages,
		.random = e->flags & TRACE_VM_RANDOM,
		.sequential = e->flags & TRACE_VM_SEQUENTIAL,
		.exec = e->flags & TRACE_VM_EXEC,
	};

	return m;
}

static int on_touch(struct replay *r, const struct trace_event *e, uint64_t page)
{
	struct ra_mapping m = mapping_of(e);
	struct ra_stream *s;
	struct ra_actor *a;
	int error = replay_begin(r, e, &a, &s);

	if (error)
		return error;
	if (!m.nr_pages) { /* not known: as if it were the whole file */
		m.address_page = m.first_page = 0;
		m.nr_pages = ra_file_nr_pages(&r->file);
	}
	r->result.mapped++;
	ra_touch(&r->file, s, &m, page);
	return replay_end(r, e, a, page, page + 1);
}

/*
 * One touch may have several events: fault-around that mapped other pages than the one that was
 * touched, the fault, and both once more after it waited. The first of them is replayed.
 */
int replay_fault(struct replay *r, const struct trace_event *e)
{
	struct ra_actor *a;
	int error = replay_actor(r, e->actor, &a);
	bool same;

	if (error)
		return error;
	same = a->touched == e->pos + 1 && (e->flags & TRACE_RETRY || !a->faulted);
	if (!same)
		error = on_touch(r, e, e->pos);
	a->touched = e->pos + 1;
	a->faulted = true;
	return error;
}

int replay_map(struct replay *r, const struct trace_event *e)
{
	struct ra_actor *a;
	int error = replay_actor(r, e->actor, &a);

	if (error || !e->map.touched || a->touched == e->map.touched)
		return error;
	error = on_touch(r, e, e->map.touched - 1);
	a->touched = e->map.touched;
	a->faulted = false;
	return error;
}
