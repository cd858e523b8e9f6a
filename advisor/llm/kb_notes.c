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
#include "cachemon/base/text_builder.h"
#include "cachemon/base/escape.h"

/* A user's note may be of any length. Built-in notes are shorter: tests/unit/test_llm_kb.c. */
enum { TEXT_TOKENS_MAX = 250, FIELD_MAX = 400 };

/* A copy on one line with printable characters only: invalid bytes and characters that are not
 * printable end a word. NULL: no memory. */
static char *inert_copy(struct arena *a, const char *text, size_t len)
{
	char *copy = arena_alloc(a, len + 1);
	size_t to = 0;

	for (size_t at = 0, used; copy && at < len; at += used) {
		uint32_t c = 0;
		size_t n = escape_decode(text + at, len - at, &c);

		used = n ? n : 1;
		if (n && c != ' ' && !escape_is_unsafe(c)) {
			memcpy(copy + to, text + at, n);
			to += n;
		} else if (to && copy[to - 1] != ' ') {
			copy[to++] = ' ';
		}
	}
	if (copy && to && copy[to - 1] == ' ')
		copy[to - 1] = '\0';
	return copy;
}

/* Where to cut a text that is longer than max: at a blank, never within a character. */
static size_t cut_at(const char *text, size_t max)
{
	if (strnlen(text, max + 1) <= max)
		return strlen(text);
	for (size_t at = max; at > max / 2; at--)
		if (text[at] == ' ')
			return at;
	while (max && ((unsigned char)text[max] & 0xc0) == 0x80)
		max--;
	return max;
}

/* One field as a sentence. false: no memory. */
static bool put_field(FILE *out, struct arena *a, const char *name, const char *value)
{
	char *text = inert_copy(a, value, strnlen(value, FIELD_MAX * 2));
	size_t len = text ? strlen(text) : 0;

	/* Code after a colon is not sent. */
	if (len && text[len - 1] == ':')
		text[--len] = '\0';
	if (!len)
		return text;
	len = cut_at(text, FIELD_MAX);
	fprintf(out, "%s%s%.*s%s", ftell(out) ? " " : "", name, (int)len, text,
		text[len]		       ? " ..."
		: strchr(".!?", text[len - 1]) ? ""
					       : ".");
	return true;
}

static const char *text_of(struct arena *a, const struct note *n, int fields)
{
	const char *const all[][2] = {
		{"", n->title},	     {"When: ", n->precondition}, {"Do: ", n->action},
		{"Risk: ", n->risk}, {"Check: ", n->verify},
	};
	struct text_builder b;
	FILE *out = text_begin(&b);
	const char *text;
	bool whole = out;

	for (int i = 0; i < fields && whole; i++)
		whole = !all[i][1] || put_field(out, a, all[i][0], all[i][1]);
	text = text_end_in(&b, a);
	return whole ? text : NULL;
}

const char *kb_text(struct arena *a, const struct note *note)
{
	const char *text = NULL;

	/* Drops the last fields if the text does not fit. */
	for (int fields = 5; fields > 0; fields--) {
		text = text_of(a, note, fields);
		if (!text || tokens_of(text) <= TEXT_TOKENS_MAX)
			break;
	}
	return text;
}

/* "user:" and the printable file name without its ending; the name may have any bytes. */
static const char *id_of(struct arena *a, const char *name)
{
	const char *inert = inert_copy(a, name, strlen(name) - strlen(".md"));

	return inert ? arena_print(a, "user:%s", inert) : NULL;
}

static int load_note(struct kb *kb, int fd, const char *path, const char *name, size_t *bytes,
		     struct errtext *err)
{
	struct kb_note *to = &kb->notes[kb->nr_notes];
	_cleanup_free_ char *text = NULL;
	const char *kept, *file, *id;
	size_t len = 0;
	int e = access_read(fd, name, KB_USER_FILE_MAX, &text, &len);

	if (e == -EFBIG)
		return errtext_set(err, e, "%s:1: longer than %d KiB; split the note", path,
				   KB_USER_FILE_MAX / 1024);
	if (e)
		return errtext_set(err, e, "%s:1: cannot be read: %s", path, access_strerror(e));
	if (strlen(text) != len)
		return errtext_set(err, -EINVAL, "%s:1: contains a NUL byte; a note must be text",
				   path);
	*bytes += len;
	kept = arena_bytes(&kb->arena, text, len).data;
	file = arena_text(&kb->arena, path);
	id = id_of(&kb->arena, name);
	if (!kept || !file || !id)
		return -ENOMEM;
	e = note_parse_lenient(&kb->arena, file, id, kept, &to->note, err);
	to->of_user = !e;
	kb->nr_notes += !e;
	return e;
}

static int is_note(const struct dirent *d)
{
	size_t len = strlen(d->d_name);

	return d->d_name[0] != '.' && len > 3 && strcmp(d->d_name + len - 3, ".md") == 0 &&
	       strcmp(d->d_name, "README.md") != 0;
}

/* Sorted by bytes, independent of the locale. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

int kb_load_user(struct kb *kb, const char *dir, void (*problem)(void *arg, const char *text),
		 void *arg)
{
	_cleanup_close_ int fd =
		access_open(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0, ACCESS_DIRECTORY);
	struct dirent **names = NULL;
	int nr = fd < 0 ? fd : scandirat(fd, ".", &names, is_note, by_name);
	int e = fd < 0 ? fd : nr < 0 ? -errno : 0;
	size_t bytes = 0, last = kb->nr_notes + KB_USER_NOTES_MAX;
	bool full = false;
	struct errtext err = {0};
	char path[4096];

	if (e)
		errtext_set(&err, e, "%s: cannot be read: %s; name a directory of notes", dir,
			    strerror(-e));
	if (e && problem)
		problem(arg, err.text);
	for (int i = 0; i < nr; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]->d_name);
		if (!full && e != -ENOMEM) {
			full = kb->nr_notes == last || bytes > KB_USER_ALL_MAX;
			e = full ? errtext_set(&err, -EFBIG,
					       "%s: more than %d notes or %d MiB; '%s' and the "
					       "notes after it are left out",
					       dir, KB_USER_NOTES_MAX, KB_USER_ALL_MAX >> 20,
					       names[i]->d_name)
				 : load_note(kb, fd, path, names[i]->d_name, &bytes, &err);
			if (e && e != -ENOMEM && problem)
				problem(arg, err.text);
		}
		free(names[i]);
	}
	free(names);
	return e == -ENOMEM ? e : 0;
}
