/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/capture/trace_ring.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/figures/trace_code.h"
#include "cachemon/capture/probe_set_impl.h"
#include "cachemon/base/clock.h"

#define WARM_MAX     8	  /* files traced at a time because they are read most */
#define WARM_LOOKUPS 1000 /* pages in an interval, and 2 % of all */

struct trace_ring {
	struct probe_set *set;
	struct trace_shared *shared;
	struct traces *traces;
	int fd; /* descriptor of the map of traced files */
	bool paused;
	uint64_t start_ns;
};

static int on_record(void *ctx, void *data, size_t size)
{
	struct trace_ring *r = ctx;

	/* A file for which there was no memory: it is not in the database at all. */
	traces_take(r->traces, data, size);
	return 0;
}

int trace_ring_new(struct probe_set *set, struct traces *traces, struct ring_buffer *ring,
		   struct trace_ring **ret)
{
	struct cachemon_maps_bpf *skel = set->skel;
	struct trace_ring *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->set = set;
	r->shared = &skel->bss->shared.tracing;
	r->traces = traces;
	r->fd = bpf_map__fd(skel->maps.traced);
	err = ring_buffer__add(ring, bpf_map__fd(skel->maps.traces), on_record, r);
	if (err) {
		free(r);
		return err;
	}
	*ret = r;
	return 0;
}

void trace_ring_free(struct trace_ring *r)
{
	free(r);
}

void trace_ring_start(struct trace_ring *r)
{
	for (int i = 0; i < NR_STRATA; i++)
		r->shared->threshold[i] = UINT32_MAX;
	r->start_ns = clock_now_ns();
	r->shared->on = 1;
}

/* The slot of a file in the filter, computed as in the programs. */
static volatile uint32_t *filter_of(struct trace_ring *r, const struct file_key *key)
{
	return &r->shared->filter[(key->ino ^ key->ino >> 10) & (NR_TRACE_FILTER - 1)];
}

/* Stops the file's events. */
static void release_traced_file(struct trace_ring *r, struct traced_file *f)
{
	const struct file_key *key = &f->key;
	struct traced value;

	if (f->released || bpf_map_lookup_elem(r->fd, key, &value))
		return;
	f->released = true;
	value.state = TRACED_ENDED;
	bpf_map_update_elem(r->fd, key, &value, BPF_EXIST);
	__atomic_fetch_sub(filter_of(r, key), 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_sub(&r->shared->live, 1, __ATOMIC_SEQ_CST);
}

static void end_traced_file(struct trace_ring *r, struct traced_file *f, const char *reason)
{
	if (!f->live)
		return;
	release_traced_file(r, f);
	traces_end(f, reason);
}

/* As in a burst, a file that would be chosen lowers the threshold instead, so that the other files
 * still represent all files. */
static void choose_none(struct trace_ring *r)
{
	r->shared->burst = TRACE_BURST_MAX;
}

void trace_ring_shed(struct trace_ring *r, const char *reason)
{
	struct traced_file *most = NULL;

	if (!r)
		return;
	r->paused = true;
	choose_none(r);
	for (size_t i = 0; i < traces_nr(r->traces); i++) {
		struct traced_file *f = traces_at(r->traces, i);

		if (f->live && (!most || f->events > most->events))
			most = f;
	}
	if (most)
		end_traced_file(r, most, reason);
}

void trace_ring_resume(struct trace_ring *r)
{
	if (!r)
		return;
	r->paused = false;
	r->shared->burst = 0;
}

void trace_ring_stop(struct trace_ring *r, const char *reason)
{
	if (!r)
		return;
	r->shared->on = 0;
	for (size_t i = 0; i < traces_nr(r->traces); i++)
		end_traced_file(r, traces_at(r->traces, i), reason);
}

static uint32_t state_of(struct trace_ring *r, const struct traced_file *f)
{
	struct traced value;

	return bpf_map_lookup_elem(r->fd, &f->key, &value) ? 0 : value.state;
}

/* Traces ended by the programs, or dropped here for lack of memory. */
static void see_ended(struct trace_ring *r)
{
	r->shared->ended = 0;
	for (size_t i = 0; i < traces_nr(r->traces); i++) {
		struct traced_file *f = traces_at(r->traces, i);

		if (f->released)
			continue;
		switch (state_of(r, f)) {
		case TRACED_LONG:
			end_traced_file(r, f, "its trace exceeds the limit of events per file");
			break;
		case TRACED_QUIET:
			end_traced_file(r, f,
					"it is read only from the cache: thousands of reads "
					"fetched no page");
			break;
		case TRACED_PUSHED:
			f->released = true;
			traces_end(f, TRACE_GAVE_WAY);
			break;
		case TRACED_LOST:
			end_traced_file(r, f, "an event was lost: the ring was full");
			break;
		case TRACED_LIVE:
			if (!f->live)
				release_traced_file(r, f);
			break;
		default:
			break;
		}
	}
}

void trace_ring_tick(struct trace_ring *r)
{
	if (r->shared->ended)
		see_ended(r);
}

static void add_warm(struct trace_ring *r, const struct file_key *key)
{
	struct cachemon_maps_bpf *skel = r->set->skel;
	struct traced value = {.state = TRACED_LIVE};

	value.number = __atomic_add_fetch(&r->shared->numbers, 1, __ATOMIC_SEQ_CST);
	/* After the epoch has moved, every CPU examines each read again. */
	value.from_epoch = skel->bss->shared.epoch + 1;
	if (traces_add_warm(r->traces, value.number, key))
		return;
	__atomic_fetch_add(filter_of(r, key), 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&r->shared->live, 1, __ATOMIC_SEQ_CST);
	if (bpf_map_update_elem(r->fd, key, &value, BPF_NOEXIST)) {
		__atomic_fetch_sub(filter_of(r, key), 1, __ATOMIC_SEQ_CST);
		__atomic_fetch_sub(&r->shared->live, 1, __ATOMIC_SEQ_CST);
		traces_end(traces_find(r->traces, key), "it could not be traced");
	}
}

/* The file read most in this interval, if it is not traced and was read enough. */
static void see_most_read(struct trace_ring *r, const struct sample *s)
{
	const struct sample_file *most = NULL;
	int64_t all = 0;
	size_t warm = 0;

	for (size_t i = 0; i < traces_nr(r->traces); i++) {
		struct traced_file *f = traces_at(r->traces, i);

		warm += f->live && !f->by_hash;
	}
	for (size_t i = 0; i < s->nr_files; i++) {
		const struct sample_file *f = &s->files[i];

		if (f->job != JOB_WATCHED)
			continue;
		all += f->c[C_lookups];
		if (!traces_find(r->traces, &f->key) &&
		    (!most || f->c[C_lookups] > most->c[C_lookups]))
			most = f;
	}
	if (warm < WARM_MAX && most && most->c[C_lookups] >= WARM_LOOKUPS &&
	    most->c[C_lookups] >= all / 50)
		add_warm(r, &most->key);
}

void trace_ring_look(struct trace_ring *r, const struct sample *s, bool last)
{
	uint32_t threshold[NR_STRATA];

	if (!r)
		return;
	if (!r->paused)
		r->shared->burst = 0;
	see_ended(r);
	if (traces_full(r->traces))
		r->shared->on = 0;
	memcpy(threshold, (const void *)r->shared->threshold, sizeof(threshold));
	traces_see_sample(r->traces, s);
	traces_see_thresholds(r->traces, threshold);
	if (!last && r->shared->on && !r->paused)
		see_most_read(r, s);
}
