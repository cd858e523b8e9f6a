// SPDX-License-Identifier: BSD-2-Clause
/* The expectation for one file as JSON: only the figures that the pattern determines. */
#include <inttypes.h>
#include <stdio.h>
#include <sys/sysmacros.h>

#include "bitmap.h"
#include "oracle.h"

static const char *const figure_names[F_NR] = {
#define X(name) #name,
	ORACLE_FIGURES(X)
#undef X
};

/* Test files have plain names, but a mount point may not. */
static void print_string(const char *s, FILE *out)
{
	fputc('"', out);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fputc('\\', out);
		if ((unsigned char)*s < 0x20)
			fprintf(out, "\\u%04x", *s);
		else
			fputc(*s, out);
	}
	fputc('"', out);
}

void oracle_print(struct oracle *o, FILE *out)
{
	const char *comma = "";

	o->f[F_hits] = o->f[F_lookups] - o->f[F_misses] - o->slack[F_misses];
	o->slack[F_hits] += o->slack[F_misses];
	o->f[F_resident_unused] -= o->slack[F_resident_unused];
	fprintf(out, "{\"path\": ");
	print_string(o->path, out);
	fprintf(out,
		", \"dev\": \"%u:%u\", \"ino\": %" PRIu64 ", \"resident\": %" PRIu64
		", \"gone\": %s,\n  \"disturbed\": %s, \"reason\": ",
		major(o->dev), minor(o->dev), (uint64_t)o->ino,
		o->gone ? 0 : bitmap_count(o->present, 0, o->nr_pages), o->gone ? "true" : "false",
		o->disturbed ? "true" : "false");
	print_string(o->reason, out);
	fprintf(out, ",\n  \"expect\": {");
	for (int i = 0; i < F_NR; i++) {
		if (!(o->known >> i & 1))
			continue;
		fprintf(out, "%s\"%s\": ", comma, figure_names[i]);
		if (o->slack[i])
			fprintf(out, "[%" PRIu64 ", %" PRIu64 "]", o->f[i], o->f[i] + o->slack[i]);
		else
			fprintf(out, "%" PRIu64, o->f[i]);
		comma = ", ";
	}
	fprintf(out, "}}");
}
