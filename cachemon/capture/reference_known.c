/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/capture/reference_known.h"

#include <bpf/bpf.h>

#include "cachemon/capture/probe_set_impl.h"
#include "cachemon/base/clock.h"

/* Asking takes a system call for each page: not more often than that but at the end. */
#define ASK_AGAIN_NS 1000000000ULL

struct asker {
	int blocks;
	bool ask;
};

static bool is_counted(void *ctx, const struct sampled_page *p)
{
	const struct asker *a = ctx;
	struct block_key key = {.file = p->file,
				.block = p->index / BLOCK_PAGES << 8 | JOB_WATCHED};
	struct block block;

	if (!a->ask || bpf_map_lookup_elem(a->blocks, &key, &block))
		return false;
	return block.chunks[p->index / 64 % BLOCK_CHUNKS].looked >> p->index % 64 & 1;
}

/* Of a page state that was full, or had to forget, its count is no count. */
static bool is_complete(const struct cachemon_bpf *skel)
{
	const struct loss_counts *losses = (const struct loss_counts *)&skel->bss->shared.losses;

	return !losses->chunk_full && !losses->ghosts_dropped;
}

void reference_known_take(struct reference_known *k, struct cachemon_bpf *skel,
			  struct reference_sample *sample, bool last)
{
	struct asker asker = {.blocks = bpf_map__fd(skel->maps.blocks)};
	uint64_t looked = skel->bss->shared.references.looked;
	struct reference_view v;
	int64_t pages;
	size_t others;
	double error;

	reference_sample_view(sample, &v);
	if (v.broken)
		return;
	/* All of them are in the sample, or the page state does not tell. */
	if (v.threshold == REFERENCE_THRESHOLD_ALL || !is_complete(skel)) {
		pages = reference_distinct(v.threshold, 0, v.live, &error);
		reference_sample_distinct(sample, pages, error);
		return;
	}
	/* With none counted since, none that has come to the sample is. */
	asker.ask = looked != k->looked;
	if (asker.ask && !last && clock_now_ns() - k->asked_ns < ASK_AGAIN_NS)
		return; /* as it was found last */
	if (asker.ask)
		k->asked_ns = clock_now_ns();
	k->looked = looked;
	others = reference_sample_uncounted(sample, is_counted, &asker);
	pages = reference_distinct(v.threshold, looked, others, &error);
	reference_sample_distinct(sample, pages, error);
}
