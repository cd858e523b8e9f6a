/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/llm/kb_impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/access/access.h"
#include "cachemon/base/cleanup.h"

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
