/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/access/mountinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/cleanup.h"
#include "cachemon/base/file.h"
#include "cachemon/base/parse.h"
#include "cachemon/access/paths.h"

/* Far more than machines with thousands of containers have. */
#define TEXT_MAX (64U << 20)

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* The kernel writes blanks, newlines, backslashes and '#' as \ooo. */
void mountinfo_decode(char *s)
{
	char *out = s;

	while (*s) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && is_octal(s[2]) &&
		    is_octal(s[3])) {
			char c = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));

			if (c) {
				*out++ = c;
				s += 4;
				continue;
			}
		}
		*out++ = *s++;
	}
	*out = '\0';
}

static int parse_number(const char *s, uint64_t max, uint64_t *ret)
{
	uint64_t value = 0;

	if (!s || parse_u64(s, &value) || value > max)
		return -EBADMSG;
	*ret = value;
	return 0;
}

static int parse_device(char *s, uint32_t *ret_dev)
{
	uint64_t major = 0, minor = 0;
	char *colon = s ? strchr(s, ':') : NULL;

	if (!colon)
		return -EBADMSG;
	*colon = '\0';
	if (parse_number(s, 0xfff, &major) || parse_number(colon + 1, 0xfffff, &minor))
		return -EBADMSG;
	*ret_dev = (uint32_t)(major << 20 | minor);
	return 0;
}

/* ID PARENT MAJ:MIN ROOT POINT OPTIONS [TAG…] - FSTYPE SOURCE SUPEROPTIONS, separated by single
 * blanks. An empty source leaves two consecutive blanks, hence strsep. */
static int parse_line(char *line, struct mount *ret)
{
	struct mount m = {0};
	uint64_t id = 0, parent = 0;
	char *root, *point, *fstype, *source, *field;

	if (parse_number(strsep(&line, " "), INT32_MAX, &id) ||
	    parse_number(strsep(&line, " "), INT32_MAX, &parent) ||
	    parse_device(strsep(&line, " "), &m.dev))
		return -EBADMSG;
	root = strsep(&line, " ");
	point = strsep(&line, " ");
	if (!root || !point || point[0] != '/' || !strsep(&line, " "))
		return -EBADMSG;
	do {
		field = strsep(&line, " ");
	} while (field && strcmp(field, "-") != 0);
	fstype = strsep(&line, " ");
	source = strsep(&line, " ");
	if (!field || !fstype || !*fstype || !source || !line)
		return -EBADMSG;
	mountinfo_decode(root);
	mountinfo_decode(point);
	mountinfo_decode(fstype);
	mountinfo_decode(source);
	m.id = (int)id;
	m.parent = (int)parent;
	m.root = root;
	m.point = point;
	m.fstype = fstype;
	m.source = source;
	m.options = line;
	*ret = m;
	return 0;
}

static int compare_int(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

static int mark_top(struct mountinfo *mi)
{
	_cleanup_free_ int *ids = calloc(mi->nr + 1, sizeof(int));

	if (!ids)
		return -ENOMEM;
	for (size_t i = 0; i < mi->nr; i++)
		ids[i] = mi->mounts[i].id;
	qsort(ids, mi->nr, sizeof(int), compare_int);
	for (size_t i = 0; i < mi->nr; i++) {
		struct mount *m = &mi->mounts[i];

		/* The first mount of a machine is its own parent. */
		m->top = m->parent == m->id ||
			 !bsearch(&m->parent, ids, mi->nr, sizeof(int), compare_int);
	}
	return 0;
}

int mountinfo_parse(const char *text, size_t len, struct mountinfo *ret)
{
	struct mountinfo mi = {0};
	size_t lines = 1;
	char *rest, *line;
	int err = -ENOMEM;

	if (memchr(text, '\0', len))
		return -EBADMSG;
	for (size_t i = 0; i < len; i++)
		lines += text[i] == '\n';
	mi.text = strndup(text, len);
	mi.mounts = calloc(lines, sizeof(*mi.mounts));
	if (!mi.text || !mi.mounts)
		goto out;
	rest = mi.text;
	while ((line = strsep(&rest, "\n"))) {
		if (!*line && !rest)
			break;
		err = parse_line(line, &mi.mounts[mi.nr]);
		if (err)
			goto out;
		mi.nr++;
	}
	err = mark_top(&mi);
out:
	if (err)
		mountinfo_free(&mi);
	else
		*ret = mi;
	return err;
}

int mountinfo_read(const char *path, struct mountinfo *ret)
{
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	int err = file_read(AT_FDCWD, path, TEXT_MAX, &text, &len);

	return err ? err : mountinfo_parse(text, len, ret);
}

void mountinfo_free(struct mountinfo *mi)
{
	if (!mi)
		return;
	free(mi->mounts);
	free(mi->text);
	memset(mi, 0, sizeof(*mi));
}

/* The first mount point on the way to path, at which a lookup leaves cur. */
static const struct mount *next_mount(const struct mountinfo *mi, const struct mount *cur,
				      const char *path)
{
	const struct mount *best = NULL;
	size_t best_len = 0;

	for (size_t i = 0; i < mi->nr; i++) {
		const struct mount *m = &mi->mounts[i];
		size_t len;

		if (m == cur || (cur ? m->top || m->parent != cur->id : !m->top) ||
		    !paths_below(path, m->point))
			continue;
		len = strlen(m->point);
		if (!best || len <= best_len) {
			best = m;
			best_len = len;
		}
	}
	return best;
}

const struct mount *mountinfo_serving(const struct mountinfo *mi, const char *path)
{
	const struct mount *cur = NULL, *next;

	/* Each step goes down one mount; the limit protects against a cyclic list. */
	for (size_t i = 0; i <= mi->nr; i++) {
		next = next_mount(mi, cur, path);
		if (!next)
			return cur;
		cur = next;
	}
	return NULL;
}

bool mountinfo_has_option(const char *options, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = options; p; p = strchr(p, ',')) {
		p += *p == ',';
		if (strncmp(p, word, len) == 0 && (p[len] == ',' || p[len] == '\0'))
			return true;
	}
	return false;
}
