/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/llm/kb_impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/llm/tokens.h"
#include "cachemon/access/access.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/utf8.h"

/* Of a user's note, which may be of any length. Ours are shorter: tests/unit/test_llm_kb.c. */
enum { TEXT_TOKENS_MAX = 250, FIELD_MAX = 400 };

/* Bytes that are no character, and characters that are not only seen, end a word. */
static size_t take(const char *text, size_t len, bool *ret_blank)
{
	uint32_t cp = 0;
	size_t n = utf8_decode(text, len, &cp);

	*ret_blank = !n || cp == ' ' || utf8_is_unsafe(cp);
	return n ? n : 1;
}

char *kb_inert(struct arena *a, const char *text, size_t len)
{
	char *copy = arena_alloc(a, len + 1);
	size_t to = 0;

	for (size_t at = 0; copy && at < len;) {
		bool blank;
		size_t n = take(text + at, len - at, &blank);

		if (!blank) {
			memcpy(copy + to, text + at, n);
			to += n;
		} else if (to && copy[to - 1] != ' ') {
			copy[to++] = ' ';
		}
		at += n;
	}
	if (copy && to && copy[to - 1] == ' ')
		copy[to - 1] = '\0';
	return copy;
}

/* Where to cut a text that is longer than max: at a blank, not within a character. */
static size_t cut_at(const char *text, size_t max)
{
	size_t len = strnlen(text, max + 1);

	if (len <= max)
		return len;
	for (size_t at = max; at > max / 2; at--)
		if (text[at] == ' ')
			return at;
	while (max && ((unsigned char)text[max] & 0xc0) == 0x80)
		max--;
	return max;
}

static bool ends_sentence(char c)
{
	return c == '.' || c == '!' || c == '?';
}

/* One field as a sentence. false: no memory. */
static bool put_field(FILE *out, struct arena *a, const char *name, const char *value)
{
	char *text;
	size_t len;

	if (!value || !*value)
		return true;
	text = kb_inert(a, value, strnlen(value, FIELD_MAX * 2));
	if (!text)
		return false;
	len = strlen(text);
	/* The code behind a colon is not sent. */
	if (len && text[len - 1] == ':')
		text[--len] = '\0';
	if (!len)
		return true;
	len = cut_at(text, FIELD_MAX);
	fprintf(out, "%s%s%.*s", ftell(out) ? " " : "", name, (int)len, text);
	if (text[len])
		fputs(" ...", out);
	else if (!ends_sentence(text[len - 1]))
		putc('.', out);
	return true;
}

static const char *text_of(struct arena *a, const struct note *n, int fields)
{
	const struct {
		const char *name, *value;
	} all[] = {
		{"", n->title},	     {"When: ", n->precondition}, {"Do: ", n->action},
		{"Risk: ", n->risk}, {"Check: ", n->verify},
	};
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	bool whole = out;

	for (int i = 0; i < fields && whole; i++)
		whole = put_field(out, a, all[i].name, all[i].value);
	if (out && fclose(out) != 0)
		whole = false;
	return whole ? arena_bytes(a, text, len).data : NULL;
}

const char *kb_text(struct arena *a, const struct note *note)
{
	const char *text = NULL;

	/* What does not fit loses its last fields. */
	for (int fields = 5; fields > 0; fields--) {
		text = text_of(a, note, fields);
		if (!text || tokens_of(text, strlen(text)) <= TEXT_TOKENS_MAX)
			break;
	}
	return text;
}

/* A directory while it is read. */
struct loading {
	struct arena *arena;
	const char *dir;
	int fd;
	const struct kb_problems *problems;
	struct kb_note *notes;
	size_t nr, bytes;
	bool full;
};

/* 0, unless it is the memory. */
static int say(const struct kb_problems *p, int e, const struct errtext *err)
{
	if (e == -ENOMEM)
		return e;
	if (p->say)
		p->say(p->arg, err->text);
	return 0;
}

static const char *prefixed(struct arena *a, const char *id)
{
	static const char prefix[] = "user:";
	size_t size = sizeof(prefix) + strlen(id);
	char *copy = arena_alloc(a, size);

	if (copy)
		snprintf(copy, size, "%s%s", prefix, id);
	return copy;
}

/* "user:" and the name of the file without its ending, inert: it may be any bytes. */
static const char *id_of(struct arena *a, const char *name)
{
	char *inert = kb_inert(a, name, strlen(name) - strlen(".md"));

	return inert ? prefixed(a, inert) : NULL;
}

static int read_text(struct loading *l, const char *name, const char **ret, struct errtext *err)
{
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	int e = access_read(l->fd, name, KB_USER_FILE_MAX, &text, &len);

	if (e == -EFBIG)
		return errtext_set(err, e, "%s/%s:1: longer than %d KiB; split the note", l->dir,
				   name, KB_USER_FILE_MAX / 1024);
	if (e)
		return errtext_set(err, e, "%s/%s:1: cannot be read: %s", l->dir, name,
				   access_strerror(e));
	if (strlen(text) != len)
		return errtext_set(err, -EINVAL, "%s/%s:1: holds a NUL byte; it is to be text",
				   l->dir, name);
	l->bytes += len;
	*ret = arena_bytes(l->arena, text, len).data;
	return *ret ? 0 : -ENOMEM;
}

static int load(struct loading *l, const char *name)
{
	struct kb_note *to = &l->notes[l->nr];
	struct errtext err = {0};
	char file[4096];
	const char *text = NULL, *id, *path;
	int e;

	if (l->nr == KB_USER_NOTES_MAX || l->bytes > KB_USER_ALL_MAX) {
		l->full = true;
		errtext_set(
			&err, 0,
			"%s: more than %d notes, or %d MiB; '%s' and all behind it are left out",
			l->dir, KB_USER_NOTES_MAX, KB_USER_ALL_MAX >> 20, name);
		return say(l->problems, 0, &err);
	}
	e = read_text(l, name, &text, &err);
	if (e)
		return say(l->problems, e, &err);
	snprintf(file, sizeof(file), "%s/%s", l->dir, name);
	path = arena_bytes(l->arena, file, strlen(file)).data;
	id = id_of(l->arena, name);
	if (!path || !id)
		return -ENOMEM;
	e = note_parse_lenient(l->arena, path, id, text, &to->note, &err);
	if (e)
		return say(l->problems, e, &err);
	to->of_user = true;
	l->nr++;
	return 0;
}

static int is_note(const struct dirent *d)
{
	size_t len = strlen(d->d_name);

	return d->d_name[0] != '.' && len > 3 && strcmp(d->d_name + len - 3, ".md") == 0 &&
	       strcmp(d->d_name, "README.md") != 0;
}

/* By bytes, whatever the locale. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

int kb_user_load(struct arena *a, const char *dir, const struct kb_problems *problems,
		 struct kb_note *notes, size_t *ret_nr)
{
	_cleanup_close_ int fd =
		access_open(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0, ACCESS_DIRECTORY);
	struct loading l = {.arena = a, .dir = dir, .fd = fd, .problems = problems, .notes = notes};
	struct errtext err = {0};
	struct dirent **names = NULL;
	int nr = fd < 0 ? fd : scandirat(fd, ".", &names, is_note, by_name);
	int e = fd < 0 ? fd : nr < 0 ? -errno : 0;

	if (nr < 0) {
		errtext_set(&err, e, "%s: cannot be read: %s; name a directory of notes", dir,
			    strerror(-e));
		return say(problems, e, &err);
	}
	for (int i = 0; i < nr; i++) {
		if (!e && !l.full)
			e = load(&l, names[i]->d_name);
		free(names[i]);
	}
	free(names);
	*ret_nr = l.nr;
	return e;
}
