/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/llm/redact.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/cleanup.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/base/vec.h"

/* A name as it occurs in texts. */
struct name {
	enum name_kind kind;
	const char *text;
	size_t len;
	size_t base;	    /* start of the file's own name in text; an alias replaces it */
	size_t ending;	    /* length of the kept ending, ".tar" */
	uint32_t directory; /* for a file: the name before base, or NO_NAME if that is not a name */
	uint32_t number;    /* number of the alias; 0: not used yet */
};

enum { NO_NAME = UINT32_MAX, NAME_MIN = 3 };

/* The key of a name: its text, or a file's own name. */
struct key {
	const char *text;
	size_t len;
	uint32_t name;
};

struct redact {
	bool on;
	struct arena arena;
	struct name *names;
	size_t nr, room;
	struct key *keys; /* sorted by bytes */
	size_t nr_keys, room_keys;
	struct {
		uint32_t *names; /* by number, from 1; NO_NAME: the number is free */
		size_t nr, room;
	} aliases[NAME_NR];
	struct bytes *texts; /* public texts */
	size_t nr_texts, room_texts;
};

static const char *const kinds[NAME_NR] = {
	[NAME_PATH] = "file",	    [NAME_DIRECTORY] = "dir", [NAME_JOB] = "job",
	[NAME_USER] = "user",	    [NAME_HOST] = "host",     [NAME_CGROUP] = "cgroup",
	[NAME_COMMAND] = "command",
};

/*
 * Paths of the kernel or of cachemon that are the same on every machine: an answer needs them, and
 * they identify nobody. Excluded: /dev/mapper, /dev/disk (labels), /dev/shm and /sys/fs/cgroup
 * (jobs), /etc (files that an administrator names).
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

/* Endings that show the type of data; any other ending could be a name too. */
static const char endings[] =
	" .arrow .avi .bam .bin .bmp .bz2 .c .cache .conf .cpp .csv .dat .db .fits "
	".flac .gguf .gif .gz .h5 .hdf5 .html .idx .img .index .iso .jar .jpeg .jpg "
	".json .jsonl .lmdb .log .lz4 .md .mp3 .mp4 .nc .npy .npz .onnx .orc .ovf "
	".parquet .pb .pdf .pickle .pkl .png .pt .pth .py .pyc .qcow2 .rec .root "
	".sam .safetensors .sh .so .sql .sqlite .tar .tfrecord .tgz .tif .tiff .tmp "
	".tsv .txt .vcf .wav .webp .xml .xz .yaml .yml .zarr .zip .zst ";

enum { ENDINGS_KEPT = 2 /* .tar.gz */ };

static bool is_word_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* Characters of an unquoted path component, and those that begin it. */
static bool is_path_char(char c)
{
	return (unsigned char)c > ' ' && c != 0x7f && !strchr("\"'<>|;,()[]{}*?`$&!", c);
}

/* Whether a path may begin at `at`: "/x" or "~/x", not in the middle of a word. */
static bool path_begins(const char *text, size_t len, size_t at)
{
	size_t slash = at;
	char before = at ? text[at - 1] : ' ';

	/* The next part of the same word, also after the end of an alias. */
	if (is_word_char(before) || (before && strchr("./-~\\", before)) ||
	    (before == '>' && at > 1 && text[at - 2] >= '0' && text[at - 2] <= '9'))
		return false;
	if (text[at] == '~')
		for (slash++; slash < len && is_word_char(text[slash]); slash++)
			;
	if (slash >= len || text[slash] != '/')
		return false;
	for (slash++; slash < len && text[slash] == '/'; slash++)
		;
	return slash < len && is_path_char(text[slash]);
}

/* A colon is part of a name, but not before a line number, another path or a word. */
static bool colon_ends(const char *text, size_t len, size_t at)
{
	return at + 1 >= len || !is_path_char(text[at + 1]) || text[at + 1] == '/' ||
	       (text[at + 1] >= '0' && text[at + 1] <= '9');
}

/* The end of the path at `at`, without punctuation of the sentence. */
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

/* Paths that every machine has and that contain no personal names. */
static bool is_of_system(const char *path, size_t len)
{
	/* The path leaves its directory through "..". */
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

/* The part of a file name to keep: an ending that is usual for data files. */
static size_t ending_of(const char *base, size_t len)
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

/* The number of keys that are not greater than a text. */
static size_t keys_upto(const struct redact *r, const char *text, size_t len)
{
	size_t low = 0, high = r->nr_keys;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct key *k = &r->keys[middle];
		int order = memcmp(k->text, text, k->len < len ? k->len : len);

		if (order < 0 || (!order && k->len <= len))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint32_t find_key_of(const struct redact *r, const char *text, size_t len)
{
	size_t at = keys_upto(r, text, len);
	const struct key *k = at ? &r->keys[at - 1] : NULL;

	return k && k->len == len && !memcmp(k->text, text, len) ? k->name : NO_NAME;
}

/* Keeps an existing key. 0 or -ENOMEM. */
static int add_key(struct redact *r, const char *text, size_t len, uint32_t name)
{
	size_t at = keys_upto(r, text, len);

	if (find_key_of(r, text, len) != NO_NAME)
		return 0;
	if (vec_reserve(r->keys, r->room_keys, r->nr_keys + 1))
		return -ENOMEM;
	memmove(r->keys + at + 1, r->keys + at, (r->nr_keys++ - at) * sizeof(*r->keys));
	r->keys[at] = (struct key){text, len, name};
	return 0;
}

struct redact *redact_new(bool on)
{
	struct redact *r = calloc(1, sizeof(*r));

	if (r)
		r->on = on;
	return r;
}

void redact_free(struct redact *r)
{
	if (!r)
		return;
	for (int i = 0; i < NAME_NR; i++)
		free(r->aliases[i].names);
	arena_free(&r->arena);
	free(r->keys);
	free(r->texts);
	free(r->names);
	free(r);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* "E12": the form of a pack's keys. */
static bool is_key(const char *name, size_t len)
{
	for (size_t i = 1; i < len; i++)
		if (!is_digit(name[i]))
			return false;
	return strchr("EFNA", name[0]);
}

/* Whether a name can be distinguished from other words; two letters or a number cannot. */
static bool is_word(const char *name, size_t len)
{
	bool letter = false;

	for (size_t i = 0; i < len; i++)
		letter |= (name[i] & 0x80) || (is_word_char(name[i]) && !is_digit(name[i]));
	return len >= NAME_MIN && letter && !is_key(name, len);
}

/* Whether to look for a file's own name without its directory; not if it could be any word. */
static bool is_own_name(const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (name[i] < 'a' || name[i] > 'z')
			return is_word(name, len);
	return false;
}

static uint32_t add_name(struct redact *r, const struct name *n)
{
	uint32_t index = (uint32_t)r->nr;
	struct bytes copy = arena_bytes(&r->arena, n->text, n->len);

	if (!copy.data || r->nr >= NO_NAME || vec_reserve(r->names, r->room, r->nr + 1) ||
	    add_key(r, copy.data, copy.len, index))
		return NO_NAME;
	r->names[index] = *n;
	r->names[index].text = copy.data;
	r->nr++;
	return index;
}

/* Whether the directory of a file needs an alias: not "/", "~", or a path of every machine. */
static bool is_directory(const char *path, size_t len)
{
	if (len < 2 || is_of_system(path, len))
		return false;
	for (size_t i = 0; i < len; i++)
		if (path[i] != '/')
			return true;
	return false;
}

static uint32_t path_name(struct redact *r, enum name_kind kind, const char *path, size_t len);

static uint32_t add_file(struct redact *r, const char *path, size_t len)
{
	struct name n = {NAME_PATH, path, len, 0, 0, NO_NAME, 0};
	uint32_t index;

	if (path[0] == '/' || path[0] == '~')
		for (n.base = len; n.base && path[n.base - 1] != '/';)
			n.base--;
	if (n.base && is_directory(path, n.base - 1)) {
		n.directory = path_name(r, NAME_DIRECTORY, path, n.base - 1);
		if (n.directory == NO_NAME)
			return NO_NAME;
	}
	n.ending = ending_of(path + n.base, len - n.base);
	index = add_name(r, &n);
	if (index != NO_NAME && is_own_name(path + n.base, len - n.base) &&
	    add_key(r, r->names[index].text + n.base, len - n.base, index))
		return NO_NAME;
	return index;
}

/* The name of a path in a text, added if new; NO_NAME: no memory. */
static uint32_t path_name(struct redact *r, enum name_kind kind, const char *path, size_t len)
{
	struct name n = {kind, path, len, 0, 0, NO_NAME, 0};
	uint32_t known = find_key_of(r, path, len);

	if (known != NO_NAME && r->names[known].len == len)
		return known;
	return kind == NAME_PATH ? add_file(r, path, len) : add_name(r, &n);
}

int redact_add(struct redact *r, enum name_kind kind, const char *name, size_t len)
{
	bool is_path = len && (name[0] == '/' || name[0] == '~');

	if (!r->on)
		return 0;
	len = strnlen(name, len);
	while (is_path && len && name[len - 1] == '/') {
		len--;
		if (kind == NAME_PATH)
			kind = NAME_DIRECTORY;
	}
	if (is_path ? !is_directory(name, len) : !is_word(name, len))
		return 0;
	if (!is_path && (kind == NAME_PATH || kind == NAME_DIRECTORY) && !is_own_name(name, len))
		return 0;
	if (find_key_of(r, name, len) != NO_NAME)
		return 0;
	return path_name(r, kind, name, len) == NO_NAME ? -ENOMEM : 0;
}

int redact_public(struct redact *r, const char *text)
{
	struct bytes copy = arena_bytes(&r->arena, text, strlen(text));

	if (!copy.data || vec_reserve(r->texts, r->room_texts, r->nr_texts + 1))
		return -ENOMEM;
	r->texts[r->nr_texts++] = copy;
	return 0;
}

/* The largest alias number, far above the number of names in any report. */
enum { DIGITS_MAX = 7 };

/* Whether a name looks like an alias; no other name may get that alias. */
static bool is_taken(const struct redact *r, const char *alias)
{
	for (size_t i = 0; i < r->nr; i++)
		if (memmem(r->names[i].text, r->names[i].len, alias, strlen(alias)))
			return true;
	return false;
}

/* The next number of its kind, skipping taken ones. 0 or -ENOMEM. */
static int give_number(struct redact *r, uint32_t name)
{
	struct name *n = &r->names[name];

	while (!n->number) {
		size_t number = r->aliases[n->kind].nr;
		char alias[32];
		bool taken;

		if (vec_reserve(r->aliases[n->kind].names, r->aliases[n->kind].room, number + 1))
			return -ENOMEM;
		snprintf(alias, sizeof(alias), "<%s-%zu>", kinds[n->kind], number + 1);
		taken = is_taken(r, alias);
		r->aliases[n->kind].names[number] = taken ? NO_NAME : name;
		r->aliases[n->kind].nr++;
		n->number = taken ? 0 : (uint32_t)number + 1;
	}
	return 0;
}

/* "<KIND-N>" at the start of text. */
static size_t parse_alias(const char *text, enum name_kind *ret_kind, size_t *ret_number)
{
	for (int i = 0; i < NAME_NR && *text == '<'; i++) {
		size_t at = strlen(kinds[i]) + 2, digits;

		if (strncmp(text + 1, kinds[i], at - 2) != 0 || text[at - 1] != '-')
			continue;
		digits = strspn(text + at, "0123456789");
		if (!digits || digits > DIGITS_MAX || text[at] == '0' || text[at + digits] != '>')
			return 0;
		*ret_kind = (enum name_kind)i;
		*ret_number = strtoul(text + at, NULL, 10);
		return at + digits + 1;
	}
	return 0;
}

/* The name of the alias at the start of text, and the alias's length, with a kept ending;
 * NO_NAME: none. */
static uint32_t alias_at(const struct redact *r, const char *text, size_t len, size_t *ret_len)
{
	enum name_kind kind = NAME_NR;
	size_t number = 0, used = parse_alias(text, &kind, &number);
	uint32_t name;
	const struct name *n;

	if (!used || used > len || number > r->aliases[kind].nr)
		return NO_NAME;
	name = r->aliases[kind].names[number - 1];
	if (name == NO_NAME)
		return NO_NAME;
	n = &r->names[name];
	if (len - used >= n->ending &&
	    !memcmp(text + used, n->text + n->len - n->ending, n->ending))
		used += n->ending;
	*ret_len = used;
	return name;
}

/* Whether a path component goes on at `at`. */
static bool goes_on(const char *text, size_t len, size_t at)
{
	if (at >= len || !text[at])
		return false;
	if (is_word_char(text[at]) || (text[at] & 0x80) || strchr("-+@%~=#", text[at]))
		return true;
	return strchr(".:,", text[at]) && at + 1 < len && is_word_char(text[at + 1]);
}

/* Whether a name that begins at `begin` may end before `end`. */
static bool may_end(const char *text, size_t len, size_t begin, size_t end)
{
	if (text[begin] == '/' || text[begin] == '~')
		return !goes_on(text, len, end);
	return end >= len || !is_word_char(text[end - 1]) || !is_word_char(text[end]);
}

static bool may_begin(const char *text, size_t at)
{
	return !at || !is_word_char(text[at - 1]) || !is_word_char(text[at]);
}

/* The longest name at `at`, and its length. It never extends into an alias, which is one unit. */
static uint32_t find_name(const struct redact *r, const char *text, size_t len, size_t at,
			  size_t *ret_len)
{
	size_t most = may_begin(text, at) ? len - at : 0, used;

	while (most) {
		size_t before = keys_upto(r, text + at, most), same = 0, end = 0;
		const struct key *k = before ? &r->keys[before - 1] : NULL;

		/* No key between the text and this one is a prefix of the text. */
		while (k && same < k->len && same < most && k->text[same] == text[at + same])
			same++;
		if (!k || same < k->len) {
			most = same;
			continue;
		}
		while (end < same && alias_at(r, text + at + end, len - at - end, &used) == NO_NAME)
			end++;
		if (end == same && may_end(text, len, at, at + same)) {
			*ret_len = same;
			return k->name;
		}
		most = end < same ? end : same - 1;
	}
	return NO_NAME;
}

/* The end of a path that every machine has; 0: none begins at `at`. */
static size_t find_system(const char *text, size_t len, size_t at)
{
	size_t end;

	if (text[at] != '/' || !path_begins(text, len, at))
		return 0;
	end = path_end(text, len, at);
	return is_of_system(text + at, end - at) ? end : 0;
}

/* Whether a name occurs in a public text: then it reveals nothing about this machine. */
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

/* The name at `at`, unless it is within a path that every machine has; past: the end of that
 * path. */
static uint32_t name_at(const struct redact *r, const char *text, size_t len, size_t at,
			size_t *past, size_t *ret_len)
{
	*ret_len = 0;
	if (at >= *past)
		*past = find_system(text, len, at);
	return at < *past && strchr("/~", text[at]) ? NO_NAME
						    : find_name(r, text, len, at, ret_len);
}

/* The name at `at`, or the name of an unknown path; NO_NAME: none. */
static uint32_t take_name(struct redact *r, const char *text, size_t len, size_t at, size_t *past,
			  size_t *ret_len, bool *ret_failed)
{
	uint32_t name = name_at(r, text, len, at, past, ret_len);
	size_t used = *ret_len, end;

	if (at < *past || !strchr("/~", text[at]) ||
	    (name == NO_NAME && !path_begins(text, len, at)))
		return name;
	end = path_end(text, len, at + used);
	if (name != NO_NAME && (end < at + used + 2 || text[at + used] != '/'))
		return name;
	if (end < at + 2)
		return NO_NAME;
	name = path_name(r, end < len && text[end] == '/' ? NAME_DIRECTORY : NAME_PATH, text + at,
			 end - at);
	*ret_failed = name == NO_NAME;
	*ret_len = end - at;
	return name;
}

/* whole: its path; a file's own name is shorter. The recursion is as deep as the path. False: no
 * memory. */
static bool put_alias(struct redact *r, uint32_t name, bool whole, FILE *out)
{
	const struct name *n = &r->names[name];

	if (whole && n->directory != NO_NAME) {
		if (!put_alias(r, n->directory, true, out))
			return false;
		putc('/', out);
	} else if (whole) {
		fwrite(n->text, 1, n->base, out);
	}
	if (give_number(r, name))
		return false;
	fprintf(out, "<%s-%u>", kinds[n->kind], n->number);
	fwrite(n->text + n->len - n->ending, 1, n->ending, out);
	return true;
}

static bool put_redacted(struct redact *r, const char *text, size_t len, FILE *out)
{
	size_t at = 0, used = 0, past = 0;
	bool failed = false;

	while (at < len) {
		uint32_t name = alias_at(r, text + at, len - at, &used);

		if (name != NO_NAME) {
			fwrite(text + at, 1, used, out);
			at += used;
			continue;
		}
		name = take_name(r, text, len, at, &past, &used, &failed);
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

/* Repeats until nothing changes: a path learned late may occur earlier in the text, and a path
 * may end at a new alias. */
const char *redact_text(struct redact *r, struct arena *a, const char *text, size_t len)
{
	const char *made = arena_bytes(a, text, len).data, *before = NULL;

	for (bool first = true; r->on && made && (first || strcmp(made, before) != 0);
	     first = false) {
		struct text_builder b;
		FILE *out = text_begin(&b);
		bool whole = out && put_redacted(r, made, first ? len : strlen(made), out);

		before = made;
		made = text_end_in(&b, a);
		if (!whole)
			return NULL;
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
		uint32_t name = alias_at(r, text + at, len - at, &used);

		if (name == NO_NAME) {
			putc(text[at], out);
			used = 1;
			continue;
		}
		fwrite(r->names[name].text + r->names[name].base, 1,
		       r->names[name].len - r->names[name].base, out);
	}
	return text_end_in(&b, a);
}

size_t redact_alias_len(const struct redact *r, const char *text, size_t len)
{
	size_t used = 0;

	return alias_at(r, text, len, &used) == NO_NAME ? 0 : used;
}

const char *redact_left(const struct redact *r, const char *text, size_t len)
{
	size_t used = 0, past = 0;

	for (size_t at = 0; at < len; at++) {
		uint32_t name = alias_at(r, text + at, len - at, &used);

		if (name != NO_NAME) {
			at += used - 1;
			continue;
		}
		name = name_at(r, text, len, at, &past, &used);
		if (name != NO_NAME && !is_public(r, text + at, used))
			return r->names[name].text;
	}
	return NULL;
}
