/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/account/passes.h"

#include <stdbool.h>

#include "cachemon/account/ledger_impl.h"

/* NULL: no room for another. */
static struct sample_pass *find_pass(struct passes *p, uint64_t pass)
{
	for (size_t i = 0; i < p->nr; i++)
		if (p->list[i].pass == pass)
			return &p->list[i];
	if (p->nr == PASSES_MAX)
		return NULL;
	p->list[p->nr] = (struct sample_pass){.pass = pass};
	return &p->list[p->nr++];
}

/* Distributes the growth from the previous to the present value over passes. Growth over too many
 * passes is dropped: a file that is read over and over would fill the list, and belongs to no
 * epoch. */
static void add_amount(struct passes *p, uint64_t size, uint64_t last, uint64_t total, bool pages)
{
	uint64_t from = total - last;

	if (last > size * PASSES_OF_FILE_MAX)
		return;
	while (from < total) {
		uint64_t end = (from / size + 1) * size, to = end < total ? end : total;
		struct sample_pass *at = find_pass(p, from / size + 1);

		if (at) {
			*(pages ? &at->brought_pages : &at->read_bytes) += to - from;
			if (from % size == 0)
				*(pages ? &at->file_pages : &at->file_bytes) += size;
		}
		from = to;
	}
}

void passes_add(struct passes *p, const struct passes_file *f, uint64_t page_size)
{
	/* Prevents overflow; no file is that large. */
	if (!f->size_bytes || f->size_bytes >> 56 || f->total_bytes >> 62)
		return;
	add_amount(p, f->size_bytes, f->last_bytes, f->total_bytes, false);
	add_amount(p, (f->size_bytes + page_size - 1) / page_size, f->last_pages, f->total_pages,
		   true);
}

/* A decrease, or a value that was never seen, counts as 0. */
static uint64_t at_least_none(int64_t n)
{
	return n > 0 ? (uint64_t)n : 0;
}

void passes_take(struct passes *p, const struct ledger *l, uint64_t page_size)
{
	for (size_t i = 0; i < l->nr_files; i++) {
		const struct ledger_file *f = l->files[i];
		struct passes_file x;

		/* Every active file counts, even if it gets no row for the interval. */
		if (f->last_seq != l->seq || f->job != JOB_WATCHED ||
		    f->size_bytes == SAMPLE_SIZE_UNKNOWN)
			continue;
		x = (struct passes_file){
			.size_bytes = f->size_bytes,
			.total_bytes = at_least_none(f->total.c[C_read_bytes]),
			.last_bytes = at_least_none(f->last.c[C_read_bytes]),
			.total_pages = at_least_none(
				counters_sum(f->total.c, SUM_OF(TERMS_brought_pages))),
			.last_pages =
				at_least_none(counters_sum(f->last.c, SUM_OF(TERMS_brought_pages))),
		};
		if (x.last_bytes <= x.total_bytes && x.last_pages <= x.total_pages)
			passes_add(p, &x, page_size);
	}
}
