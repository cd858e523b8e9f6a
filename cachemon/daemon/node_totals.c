/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/daemon/node_totals.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cachemon/figures/show.h"

static struct opt_i64 number(const cJSON *root, const char *key)
{
	double v = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(root, key));

	return v >= 0 && v < 9e18 ? (struct opt_i64){(int64_t)v, true} : (struct opt_i64){0};
}

static struct opt_i64 product(struct opt_i64 a, struct opt_i64 b)
{
	struct opt_i64 ret = {.known = a.known && b.known};

	ret.known = ret.known && !__builtin_mul_overflow(a.value, b.value, &ret.value);
	return ret;
}

static void say_lookups(const cJSON *root, FILE *out)
{
	struct opt_i64 lookups = number(root, "lookups"), hits = number(root, "hits"),
		       misses = number(root, "misses");
	struct opt_f64 ratio = {.known = hits.known && lookups.known && lookups.value};

	if (lookups.known && !lookups.value) {
		fputs("no page was looked up in the page cache", out);
		return;
	}
	if (ratio.known)
		ratio.value = (double)hits.value / (double)lookups.value;
	fprintf(out, "%s of %s page lookups hit the page cache, %s missed (%s)",
		show_ratio(ratio, false).s, show_count(lookups, false).s,
		show_count(misses, false).s,
		show_bytes(product(misses, number(root, "page_size_bytes")), false).s);
}

int node_totals_parse(const char *answer, struct node_totals *ret)
{
	cJSON *root = cJSON_Parse(answer);
	const char *state = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "state"));
	FILE *out = state ? fmemopen(ret->line, sizeof(ret->line), "w") : NULL;
	struct opt_i64 duration = number(root, "duration_ns");

	if (!out) {
		cJSON_Delete(root);
		return -EBADMSG;
	}
	ret->ended = strcmp(state, "running") != 0;
	ret->duration_ns = duration.known ? duration.value : -1;
	fprintf(out, "read %s; ", show_bytes(number(root, "read_bytes"), false).s);
	say_lookups(root, out);
	fprintf(out, "; its tasks waited %s for it in %s", show_ns(number(root, "stall_ns")).s,
		show_ns(duration).s);
	fclose(out);
	cJSON_Delete(root);
	return 0;
}
