/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/render/html.h"

#include <math.h>
#include <string.h>

/* The drawing is stretched to the available width, like pictures; NODE is the width of an end,
 * GAP the smallest space between two ends of a side. */
enum { WIDE = 1000, HIGH = 1000, NODE = 8, GAP = 40, HEAD_MAX = 32 };

/* How many characters of a name's beginning and end fit: on a desktop, a tablet, a phone. */
static const struct room {
	const char *class;
	size_t head, tail;
} rooms[] = {{"desk", 30, 34}, {"tablet", 14, 18}, {"phone", 9, 13}};

struct side {
	double begin[FLOW_NAMES], size[FLOW_NAMES], used[FLOW_NAMES];
};

static double amount_of(const struct doc_flow *f, int side, size_t name)
{
	double sum = 0;

	for (size_t i = 0; i < f->nr; i++)
		if ((side ? f->streams[i].to : f->streams[i].from) == name)
			sum += f->streams[i].amount;
	return sum;
}

/* Stacked, each as wide as its amount; the side with fewer names has larger gaps. */
static struct side place_names(const struct doc_flow *f, int side, double per)
{
	struct side ret = {0};
	size_t nr = f->nr_names[side];
	double all = 0;
	double y, gap;

	for (size_t i = 0; i < nr; i++) {
		ret.size[i] = amount_of(f, side, i) * per;
		all += ret.size[i];
	}
	gap = (HIGH - all) / (double)nr;
	y = gap / 2;
	for (size_t i = 0; i < nr; i++) {
		ret.begin[i] = y;
		y += ret.size[i] + gap;
	}
	return ret;
}

static void put_stream(FILE *out, const struct doc_stream *s, struct side sides[2], double per)
{
	double size = s->amount * per;
	double a = sides[0].begin[s->from] + sides[0].used[s->from];
	double b = sides[1].begin[s->to] + sides[1].used[s->to];

	sides[0].used[s->from] += size;
	sides[1].used[s->to] += size;
	fprintf(out,
		"<path class=\"stream f-%s\" d=\"M%d %.1fC%d %.1f %d %.1f %d %.1fV%.1f"
		"C%d %.1f %d %.1f %d %.1fz\"/>\n",
		html_tone(s->tone), NODE, a, WIDE / 2, a, WIDE / 2, b, WIDE - NODE, b, b + size,
		WIDE / 2, b + size, WIDE / 2, a + size, NODE, a + size);
}

static void put_ends(FILE *out, const struct side *s, size_t nr, int x)
{
	fputs("<path class=\"end\" d=\"", out);
	for (size_t i = 0; i < nr; i++)
		fprintf(out, "M%d %.1fh%dv%.1fh-%dz", x, s->begin[i], NODE, fmax(s->size[i], 4),
			NODE);
	fputs("\"/>\n", out);
}

static bool inside_character(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* The beginning names the process, and the end of a path is its most useful part: shows whole
 * components if one fits. */
static void put_name(FILE *out, const char *name, const struct room *room)
{
	size_t len = strlen(name);
	size_t head = room->head, tail = len - room->tail;
	char begin[HEAD_MAX + 1];
	const char *slash;

	if (len <= room->head + room->tail + 1) {
		html_text(out, name);
		return;
	}
	while (head > 0 && inside_character(name[head]))
		head--;
	while (inside_character(name[tail]))
		tail++;
	slash = strchr(name + tail, '/');
	if (slash && slash[1])
		tail = (size_t)(slash - name);
	snprintf(begin, sizeof(begin), "%.*s", (int)head, name);
	html_text(out, begin);
	fputs("…", out);
	html_text(out, name + tail);
}

static void put_names(FILE *out, const struct doc_flow *f, const struct side *s, int side)
{
	for (size_t i = 0; i < f->nr_names[side]; i++)
		for (size_t k = 0; k < sizeof(rooms) / sizeof(rooms[0]); k++) {
			fprintf(out, "<text class=\"%s\" x=\"%s\" y=\"%.1f%%\"%s>", rooms[k].class,
				side ? "98%" : "2%", (s->begin[i] + s->size[i] / 2) * 100 / HIGH,
				side ? " text-anchor=\"end\"" : "");
			put_name(out, f->names[side][i], &rooms[k]);
			fputs("</text>\n", out);
		}
}

void html_flow(struct doc *d, const struct doc_flow *f)
{
	FILE *out = d->out;
	size_t most = f->nr_names[0] > f->nr_names[1] ? f->nr_names[0] : f->nr_names[1];
	struct side sides[2];
	double all = 0;
	double per;

	for (size_t i = 0; i < f->nr; i++)
		all += f->streams[i].amount;
	per = (HIGH - GAP * (double)most) / all;
	for (int side = 0; side < 2; side++)
		sides[side] = place_names(f, side, per);
	fputs("<figure>", out);
	html_caption(out, f->title, f->says);
	fputs("\n<div", out);
	html_label(out, f->title, f->says);
	fprintf(out,
		"><svg class=\"flow\" aria-hidden=\"true\">\n"
		"<svg class=\"streams\" viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\">\n",
		WIDE, HIGH);
	for (size_t i = 0; i < f->nr; i++)
		put_stream(out, &f->streams[i], sides, per);
	put_ends(out, &sides[0], f->nr_names[0], 0);
	put_ends(out, &sides[1], f->nr_names[1], WIDE - NODE);
	fputs("</svg>\n", out);
	for (int side = 0; side < 2; side++)
		put_names(out, f, &sides[side], side);
	fputs("</svg></div></figure>\n", out);
}
