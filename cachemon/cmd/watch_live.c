/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "cmd/watch.h"
#include "util/human.h"

static void put_share(char *buf, size_t size, double share, const char *mark)
{
	if (share < 0)
		snprintf(buf, size, "-");
	else
		snprintf(buf, size, "%s%.1f %%", mark, share * 100);
}

static void put_rate(char *buf, size_t size, double rate, const char *mark)
{
	if (rate < 0)
		snprintf(buf, size, "-");
	else
		snprintf(buf, size, "%s%s/s", mark, human_count((uint64_t)rate).text);
}

/* One line, rewritten in place; '~' marks an estimate, '-' what is not known. */
void watch_live_show(FILE *out, const struct watch_figures *f)
{
	const char *mark = f->estimated ? "~" : "";
	char hits[16], lookups[40], misses[40], accuracy[16], evictions[40], own[16];

	put_share(hits, sizeof(hits), f->hit_ratio, mark);
	put_rate(lookups, sizeof(lookups), f->lookups_per_s, mark);
	put_rate(misses, sizeof(misses), f->misses_per_s, "");
	put_share(accuracy, sizeof(accuracy), f->prefetch_accuracy, "");
	put_rate(evictions, sizeof(evictions), f->evictions_per_s, "");
	put_share(own, sizeof(own), f->own_share, "");
	fprintf(out, "\r\033[K%s  hit %s  lookups %s  miss %s  prefetch %s  evict %s  own %s",
		human_duration(f->elapsed_ns / 1000000000 * 1000000000).text, hits, lookups, misses,
		accuracy, evictions, own);
	fflush(out);
}

void watch_live_clear(FILE *out)
{
	fputs("\r\033[K", out);
	fflush(out);
}
