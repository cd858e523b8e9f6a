/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/store/store_impl.h"

/* Names of commands are bytes; the column is text. What is no UTF-8 becomes '?'. The text, which
 * has to be there until the row is written, or NULL without a name. */
static const char *comm_text(const char *comm, char text[COMM_BYTES + 1])
{
	size_t n = 0;

	for (; n < COMM_BYTES && comm[n]; n++)
		text[n] = (char)((unsigned char)comm[n] < 0x80 ? comm[n] : '?');
	text[n] = '\0';
	return n ? text : NULL;
}

static void bind_directory(struct binder *b, const struct ledger *l, uint32_t number)
{
	bind_bytes(b, number == LEDGER_NOWHERE ? NULL : ledger_directory(l, number)->path);
}

int interference_rows_write(struct store *st, const struct ledger *l, struct ledger_interference *r)
{
	static const char *const kinds[] = {NULL, "own", "others", "kernel"};
	const struct interference_key *k = &r->key;
	struct binder b = bind_first(st, S_INTERFERENCE);
	char comm[COMM_BYTES + 1];

	bind_mark(&b, &r->mark);
	bind_int(&b, st->job_ids[JOB_WATCHED]);
	bind_text(&b, counter_name(C_evicted_first + k->cause) + sizeof("evicted_") - 1);
	bind_text(&b, kinds[k->kind]);
	bind_text(&b, comm_text(k->comm, comm));
	bind_bytes(&b, r->cgroup);
	bind_directory(&b, l, k->reached);
	bind_known(&b, k->does != DOES_NEITHER, k->does == DOES_WRITE);
	bind_directory(&b, l, k->owner);
	bind_int(&b, (int64_t)r->pages);
	bind_int(&b, k->exact);
	return run_mark(st, &b, &r->mark);
}
