/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/store/retention.h"

#include <stdbool.h>

uint64_t retention_now(struct retention_clock *c, uint64_t realtime_ns, uint64_t monotonic_ns)
{
	uint64_t now_ns = c->now_ns + (monotonic_ns - c->at_ns);

	if (!c->now_ns || realtime_ns < now_ns)
		now_ns = realtime_ns;
	*c = (struct retention_clock){now_ns, monotonic_ns};
	return now_ns;
}

/* SQLite uses freed pages again but does not return them, so deleting begins before the file has
 * its greatest size. */
static uint64_t used_limit(uint64_t size_bytes)
{
	return size_bytes - size_bytes / 8;
}

static bool is_due(const struct retention_run *run, uint64_t age_ns, uint64_t now_ns)
{
	return run->id && now_ns > run->ended_ns && now_ns - run->ended_ns >= age_ns;
}

static bool is_too_large(const struct retention_policy *p, const struct retention_facts *f)
{
	return p->size_bytes && f->used_bytes > used_limit(p->size_bytes);
}

struct retention_choice retention_choose(const struct retention_policy *p,
					 const struct retention_facts *f)
{
	/* A run without a part of its timeline would mislead its reader. */
	if (f->deleting)
		return (struct retention_choice){RETENTION_DELETE, f->deleting};
	if (f->oldest.id &&
	    (is_too_large(p, f) || (p->age_ns && is_due(&f->oldest, p->age_ns, f->now_ns))))
		return (struct retention_choice){RETENTION_DELETE, f->oldest.id};
	if (f->surplus)
		return (struct retention_choice){RETENTION_DELETE, f->surplus};
	if (is_due(&f->quarters, p->quarters_ns, f->now_ns))
		return (struct retention_choice){RETENTION_QUARTERS, f->quarters.id};
	if (is_due(&f->minutes, p->minutes_ns, f->now_ns))
		return (struct retention_choice){RETENTION_MINUTES, f->minutes.id};
	return (struct retention_choice){RETENTION_NOTHING, 0};
}
