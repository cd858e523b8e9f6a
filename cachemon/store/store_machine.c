/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/store/store_impl.h"

static void write_machine(struct store *st, const struct sample_machine *m)
{
	struct binder b = bind_first(st, S_MACHINE);

	bind_int(&b, st->run_id);
	bind_count(&b, m->total_bytes);
	bind_count(&b, m->swap_bytes);
	bind_count(&b, m->mglru);
	bind_count(&b, m->nr_cpus);
	bind_count(&b, m->numa_nodes);
	bind_text(&b, m->thp[0] ? m->thp : NULL);
	bind_run(&b);
}

static void write_gauges(struct store *st, const struct sample_machine *m, int64_t interval)
{
	struct binder b = bind_first(st, S_MACHINE_INTERVAL);

	bind_int(&b, interval);
	bind_count(&b, m->memory.free_bytes);
	bind_count(&b, m->memory.available_bytes);
	bind_count(&b, m->memory.file_cached_bytes);
	bind_count(&b, m->memory.dirty_bytes);
	bind_count(&b, m->memory.swap_free_bytes);
	bind_count(&b, m->limit.limit_bytes);
	bind_count(&b, m->limit.usage_bytes);
	bind_count(&b, m->limit.file_bytes);
	bind_run(&b);
}

static void write_limit(struct store *st, const struct sample_limit *limit)
{
	struct binder b = bind_first(st, S_JOB_LIMIT);

	bind_int(&b, st->job_ids[JOB_WATCHED]);
	bind_count(&b, limit->limit_bytes);
	bind_bytes(&b, limit->at);
	bind_count(&b, limit->oom_kills);
	bind_run(&b);
}

static void write_device(struct store *st, const struct sample_device *d, uint64_t now_ns)
{
	struct binder b = bind_first(st, S_DEVICE);

	bind_int(&b, st->run_id);
	bind_int(&b, d->dev >> 20);
	bind_int(&b, d->dev & 0xfffff);
	bind_text(&b, d->name[0] ? d->name : NULL);
	bind_count(&b, d->rotational);
	bind_count(&b, d->read_ahead_kb);
	bind_count(&b, d->max_sectors_kb);
	bind_count(&b, d->io_pages);
	bind_int(&b, d->network);
	bind_run(&b);
	b = bind_first(st, S_DEVICE_CHANGE);
	bind_int(&b, st->run_id);
	bind_int(&b, d->dev >> 20);
	bind_int(&b, d->dev & 0xfffff);
	bind_int(&b, (int64_t)now_ns);
	bind_count(&b, d->read_ahead_kb);
	bind_run(&b);
	if (d->reads < 0)
		return;
	b = bind_first(st, S_DEVICE_READS);
	bind_int(&b, st->run_id);
	bind_int(&b, d->dev >> 20);
	bind_int(&b, d->dev & 0xfffff);
	bind_count(&b, d->reads);
	bind_count(&b, d->read_ms);
	bind_run(&b);
}

void machine_rows_write(struct store *st, const struct sample *s, int64_t interval)
{
	const struct sample_machine *m = s->machine;

	write_machine(st, m);
	write_gauges(st, m, interval);
	if (m->limit.at[0])
		write_limit(st, &m->limit);
	for (size_t i = 0; i < m->nr_devices; i++)
		write_device(st, &m->devices[i], s->start_ns + s->duration_ns);
}
