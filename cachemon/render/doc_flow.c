/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/render/doc_flow.h"

#include <stdlib.h>
#include <string.h>

#include "cachemon/render/doc_ops.h"
#include "cachemon/base/escape.h"

void doc_put_flow(struct doc *d, const struct doc_flow *flow)
{
	struct doc_flow safe = *flow;
	char *copies[2][FLOW_NAMES] = {0};

	if (!flow->nr || !d->ops->flow)
		return;
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < flow->nr_names[side]; i++) {
			const char *name = flow->names[side][i];

			copies[side][i] = escape_inert_copy(name, strlen(name));
			d->failed = d->failed || !copies[side][i];
			safe.names[side][i] = copies[side][i] ? copies[side][i] : "";
		}
	d->ops->flow(d, &safe);
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < flow->nr_names[side]; i++)
			free(copies[side][i]);
}
