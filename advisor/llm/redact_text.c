/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "advisor/llm/redact_impl.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/text_builder.h"

/*
 * Paths that are the kernel's or the program's, and are the same on every machine: what they say is
 * needed in an answer, and they name nobody. Not here: /dev/mapper, /dev/disk (labels), /dev/shm
 * and /sys/fs/cgroup (jobs), /etc (files of an administrator's choice).
 */
static const struct {
	const char *path;
	enum { ALONE, WITH_ONE_BELOW, WITH_ALL_BELOW } how;
} of_system[] = {
	{"/proc", WITH_ALL_BELOW},
	{"/sys/block", WITH_ALL_BELOW},
	{"/sys/bus", WITH_ALL_BELOW},
	{"/sys/class", WITH_ALL_BELOW},
	{"/sys/devices", WITH_ALL_BELOW},
	{"/sys/kernel", WITH_ALL_BELOW},
	{"/sys/module", WITH_ALL_BELOW},
	{"/sys/fs/cgroup", ALONE},
	{"/sys", ALONE},
	{"/dev", WITH_ONE_BELOW},
	{"/etc/cachemon", ALONE},
	{"/etc/fstab", ALONE},
	{"/etc/sysctl.conf", ALONE},
	{"/etc/sysctl.d", ALONE},
	{"/etc/udev/rules.d", ALONE},
};

/* Endings that say what kind of data a file has; any other could be a name too. */
static const char endings[] =
	" .arrow .avi .bam .bin .bmp .bz2 .c .cache .conf .cpp .csv .dat .db .fits "
	".flac .gguf .gif .gz .h5 .hdf5 .html .idx .img .index .iso .jar .jpeg .jpg "
	".json .jsonl .lmdb .log .lz4 .md .mp3 .mp4 .nc .npy .npz .onnx .orc .ovf "
	".parquet .pb .pdf .pickle .pkl .png .pt .pth .py .pyc .qcow2 .rec .root "
	".sam .safetensors .sh .so .sql .sqlite .tar .tfrecord .tgz .tif .tiff .tmp "
	".tsv .txt .vcf .wav .webp .xml .xz .yaml .yml .zarr .zip .zst ";

enum { ENDINGS_KEPT = 2 /* .tar.gz */ };

bool redact_is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* What may stand in a component without quotes, and begin it. */
static bool is_path_char(char c)
{
	return (unsigned char)c > ' ' && c != 0x7f && !strchr("\"'<>|;,()[]{}*?`$&!", c);
}

/* Whether a path may begin at: "/x" or "~/x" that is not the middle of something. */
static bool path_begins(const char *text, size_t len, size_t at)
{
	size_t slash = at;
	char before = at ? text[at - 1] : ' ';

	/* Another part of the same thing, also behind the end of an alias. */
	if (redact_is_word(before) || (before && strchr("./-~\\", before)) ||
	    (before == '>' && at > 1 && text[at - 2] >= '0' && text[at - 2] <= '9'))
		return false;
	if (text[at] == '~')
		for (slash++; slash < len && redact_is_word(text[slash]); slash++)
			;
	if (slash >= len || text[slash] != '/')
		return false;
	for (slash++; slash < len && text[slash] == '/'; slash++)
		;
	return slash < len && is_path_char(text[slash]);
}

/* A colon is part of a name, but not before a line's number, another path or a word. */
static bool colon_ends(const char *text, size_t len, size_t at)
{
	return at + 1 >= len || !is_path_char(text[at + 1]) || text[at + 1] == '/' ||
	       (text[at + 1] >= '0' && text[at + 1] <= '9');
}

/* Where a path that goes on at ends, punctuation of the sentence left out. */
static size_t path_end(const char *text, size_t len, size_t at)
{
	size_t end = at;

	while (end < len && is_path_char(text[end]) &&
	       (text[end] != ':' || !colon_ends(text, len, end)))
		end++;
	while (end > at && strchr(".:/-", text[end - 1]))
		end--;
	return end;
}

bool redact_is_of_system(const char *path, size_t len)
{
	/* One that leaves its place. */
	if (memmem(path, len, "/../", 4) || (len >= 3 && !memcmp(path + len - 3, "/..", 3)))
		return false;
	for (size_t i = 0; i < sizeof(of_system) / sizeof(of_system[0]); i++) {
		size_t n = strlen(of_system[i].path);

		if (len < n || memcmp(path, of_system[i].path, n) != 0)
			continue;
		if (len == n || (path[n] == '/' && (of_system[i].how == WITH_ALL_BELOW ||
						    (of_system[i].how == WITH_ONE_BELOW &&
						     !memchr(path + n + 1, '/', len - n - 1)))))
			return true;
	}
	return false;
}

size_t redact_ending(const char *base, size_t len)
{
	size_t kept = 0;

	for (int i = 0; i < ENDINGS_KEPT; i++) {
		const char *end = base + len - kept, *dot = memrchr(base, '.', len - kept);
		char ending[16];

		if (!dot || dot == base)
			break;
		snprintf(ending, sizeof(ending), " %.*s ", (int)(end - dot), dot);
		if (!strstr(endings, ending))
			break;
		kept += (size_t)(end - dot);
	}
	return kept;
}

/* Whether a component of a path goes on at. */
static bool goes_on(const char *text, size_t len, size_t at)
{
	if (at >= len || !text[at])
		return false;
	if (redact_is_word(text[at]) || (text[at] & 0x80) || strchr("-+@%~=#", text[at]))
		return true;
	return strchr(".:,", text[at]) && at + 1 < len && redact_is_word(text[at + 1]);
}

/* Whether a name that begins at begin may end before end. */
static bool may_end(const char *text, size_t len, size_t begin, size_t end)
{
	if (text[begin] == '/' || text[begin] == '~')
		return !goes_on(text, len, end);
	return end >= len || !redact_is_word(text[end - 1]) || !redact_is_word(text[end]);
}

static bool may_begin(const char *text, size_t at)
{
	return !at || !redact_is_word(text[at - 1]) || !redact_is_word(text[at]);
}

/* The longest name at, and how much of the text it is. It does not reach into an alias, which is
 * one thing whatever its letters. */
static uint32_t find_name(const struct redact *r, const char *text, size_t len, size_t at,
			  size_t *ret_len)
{
	uint32_t node = 0, found = NO_NAME;
	size_t used;

	if (!may_begin(text, at))
		return NO_NAME;
	for (size_t i = at; i < len; i++) {
		if (text[i] == '<' && redact_alias_at(r, text + i, len - i, &used) != NO_NAME)
			break;
		node = redact_step(r, node, (unsigned char)text[i]);
		if (!node)
			break;
		if (r->nodes[node].name != NO_NAME && may_end(text, len, at, i + 1)) {
			found = r->nodes[node].name;
			*ret_len = i + 1 - at;
		}
	}
	return found;
}

/* Where a path that every machine has ends; 0: none begins at. */
static size_t find_system(const char *text, size_t len, size_t at)
{
	size_t end;

	if (text[at] != '/' || !path_begins(text, len, at))
		return 0;
	end = path_end(text, len, at);
	return redact_is_of_system(text + at, end - at) ? end : 0;
}

/* Whether a name stands in a text that everybody has: then it says nothing of this machine. */
static bool is_public(const struct redact *r, const char *name, size_t name_len)
{
	for (size_t i = 0; i < r->nr_texts; i++) {
		const char *text = r->texts[i].data, *hit = text;
		size_t len = r->texts[i].len;

		while ((hit = memmem(hit, len - (size_t)(hit - text), name, name_len))) {
			size_t at = (size_t)(hit - text);

			if (may_begin(text, at) && may_end(text, len, at, at + name_len))
				return true;
			hit++;
		}
	}
	return false;
}

/* The name at, or that of a path which nobody added; NO_NAME: there is none. */
static uint32_t take_name(struct redact *r, const char *text, size_t len, size_t at,
			  size_t *ret_len, bool *ret_failed)
{
	bool is_path = text[at] == '/' || text[at] == '~';
	size_t used = 0, end;
	uint32_t name = find_name(r, text, len, at, &used);
	enum name_kind kind;

	*ret_len = used;
	if (!is_path || (name == NO_NAME && !path_begins(text, len, at)))
		return name;
	end = path_end(text, len, at + used);
	if (name != NO_NAME && (end < at + used + 2 || text[at + used] != '/'))
		return name;
	if (end < at + 2)
		return NO_NAME;
	kind = end < len && text[end] == '/' ? NAME_DIRECTORY : NAME_PATH;
	name = redact_path(r, kind, text + at, end - at);
	*ret_failed = name == NO_NAME;
	*ret_len = end - at;
	return name;
}

/* whole: its path; a file's own name is shorter. As deep as the path is. False: no memory. */
static bool put_alias(struct redact *r, uint32_t name, bool whole, FILE *out)
{
	const struct name *n = &r->names[name];
	char alias[32];

	if (whole && n->directory != NO_NAME) {
		if (!put_alias(r, n->directory, true, out))
			return false;
		putc('/', out);
	} else if (whole) {
		fwrite(n->text, 1, n->base, out);
	}
	if (!redact_alias(r, name, alias))
		return false;
	fputs(alias, out);
	fwrite(n->text + n->len - n->ending, 1, n->ending, out);
	return true;
}

static bool put_redacted(struct redact *r, const char *text, size_t len, FILE *out)
{
	size_t at = 0, used = 0, past = 0;
	bool failed = false;

	while (at < len) {
		uint32_t name = NO_NAME;

		if (text[at] == '<' && redact_alias_at(r, text + at, len - at, &used) != NO_NAME) {
			fwrite(text + at, 1, used, out);
			at += used;
			continue;
		}
		if (at >= past)
			past = find_system(text, len, at);
		if (at >= past)
			name = take_name(r, text, len, at, &used, &failed);
		else if (text[at] != '/' && text[at] != '~')
			name = find_name(r, text, len, at, &used);
		if (failed)
			return false;
		if (name == NO_NAME)
			putc(text[at], out);
		else if (!put_alias(r, name, used == r->names[name].len, out))
			return false;
		at += name == NO_NAME ? 1 : used;
	}
	return true;
}

/* The text of a builder, in an arena. */
static const char *to_arena(struct arena *a, struct text_builder *b, bool ok)
{
	_cleanup_free_ char *text = text_end(b);

	return text && ok ? arena_bytes(a, text, b->len).data : NULL;
}

/* Again until nothing changes: a path that was learned may stand before the place where it was, and
 * what went on with one that is an alias now ends there. */
const char *redact_text(struct redact *r, struct arena *a, const char *text, size_t len)
{
	const char *made = arena_bytes(a, text, len).data, *before = NULL;

	for (bool first = true; r->on && made && (first || strcmp(made, before) != 0);
	     first = false) {
		struct text_builder b;
		FILE *out = text_begin(&b);

		before = made;
		made = to_arena(a, &b,
				out && put_redacted(r, made, first ? len : strlen(made), out));
	}
	return made;
}

const char *redact_restore(const struct redact *r, struct arena *a, const char *text)
{
	size_t len = strlen(text), used = 0;
	struct text_builder b;
	FILE *out;

	if (!r->on)
		return arena_bytes(a, text, len).data;
	out = text_begin(&b);
	for (size_t at = 0; out && at < len; at += used) {
		uint32_t name = redact_alias_at(r, text + at, len - at, &used);

		if (name == NO_NAME) {
			putc(text[at], out);
			used = 1;
			continue;
		}
		fwrite(r->names[name].text + r->names[name].base, 1,
		       r->names[name].len - r->names[name].base, out);
	}
	return to_arena(a, &b, true);
}

size_t redact_alias_len(const struct redact *r, const char *text, size_t len)
{
	size_t used = 0;

	return redact_alias_at(r, text, len, &used) == NO_NAME ? 0 : used;
}

const char *redact_left(const struct redact *r, const char *text, size_t len)
{
	size_t used = 0, past = 0;

	for (size_t at = 0; at < len; at++) {
		uint32_t name = NO_NAME;

		if (text[at] == '<' && redact_alias_at(r, text + at, len - at, &used) != NO_NAME) {
			at += used - 1;
			continue;
		}
		if (at >= past)
			past = find_system(text, len, at);
		if (at >= past || (text[at] != '/' && text[at] != '~'))
			name = find_name(r, text, len, at, &used);
		if (name != NO_NAME && !is_public(r, text + at, used))
			return r->names[name].text;
	}
	return NULL;
}
