/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/rules/rule_set.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/rules/embedded.h"
#include "advisor/rules/text.h"
#include "cachemon/access/access.h"
#include "cachemon/access/paths.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/suggest.h"

/* Appends an element to an array in the arena, which doubles its room. */
static int push_item(struct arena *a, void *array, size_t *nr, const void *item, size_t size)
{
	void **list = array;
	char *more = *list;

	if (!(*nr & (*nr - 1))) {
		more = arena_alloc(a, (*nr ? 2 * *nr : 1) * size);
		if (!more)
			return -ENOMEM;
		if (*nr)
			memcpy(more, *list, *nr * size);
		*list = more;
	}
	memcpy(more + (*nr)++ * size, item, size);
	return 0;
}

static struct rule *find_rule(const struct rule_set *s, const char *id)
{
	for (size_t i = 0; i < s->nr_rules; i++)
		if (strcmp(s->rules[i].id, id) == 0)
			return &s->rules[i];
	return NULL;
}

const struct rule *rule_set_rule(const struct rule_set *s, const char *id)
{
	return find_rule(s, id);
}

const struct note *rule_set_note(const struct rule_set *s, const char *id)
{
	for (size_t i = 0; i < s->nr_notes; i++)
		if (strcmp(s->notes[i].id, id) == 0)
			return &s->notes[i];
	return NULL;
}

/* A rule or note of the same id is replaced. */
static int replace_rule(struct rule_set *s, const struct rule *rule)
{
	struct rule *old = find_rule(s, rule->id);

	if (!old)
		return push_item(&s->arena, &s->rules, &s->nr_rules, rule, sizeof(*rule));
	*old = *rule;
	return 0;
}

static int replace_note(struct rule_set *s, const struct note *note)
{
	struct note *old = (struct note *)rule_set_note(s, note->id);

	if (!old)
		return push_item(&s->arena, &s->notes, &s->nr_notes, note, sizeof(*note));
	*old = *note;
	return 0;
}

int rule_set_problem(struct rule_set *s, int e, const struct errtext *err)
{
	const char *text;

	if (e == -ENOMEM)
		return e;
	text = arena_text(&s->arena, err->text);
	if (!text)
		return -ENOMEM;
	return push_item(&s->arena, &s->problems, &s->nr_problems, &text, sizeof(text));
}

static int load_builtin(struct rule_set *s)
{
	struct errtext err = {0};
	const char *id, *text;
	int e = 0;

	for (size_t i = 0; !e && embedded_rule(i, &id, &text); i++) {
		const char *file = arena_print(&s->arena, "sql/rules/%s.sql", id);
		struct rule rule;

		e = file ? rule_parse(&s->arena, file, id, text, &rule, &err) : -ENOMEM;
		rule.builtin = true;
		e = e ? rule_set_problem(s, e, &err) : replace_rule(s, &rule);
	}
	for (size_t i = 0; !e && embedded_note(i, &id, &text); i++) {
		const char *file = arena_print(&s->arena, "prompts/notes/%s.md", id);
		struct note note;

		e = file ? note_parse(&s->arena, file, id, text, &note, &err) : -ENOMEM;
		e = e ? rule_set_problem(s, e, &err) : replace_note(s, &note);
	}
	return e;
}

enum { RULE_MAX = 64 * 1024, NOTE_MAX = 256 * 1024, IDS_MAX = 256, WRONG_LINES_MAX = 20 };

int rule_dirs_make(const char *home, const char *config_home, const char *env, const char *named,
		   struct rule_dirs *ret)
{
	struct rule_dirs d = {0};

	d.dir[d.nr++].path = "/etc/cachemon/rules";
	if (paths_user_config(home, config_home, "rules", &d.owned))
		return -ENOMEM;
	if (d.owned)
		d.dir[d.nr++].path = d.owned;
	if (env && *env)
		d.dir[d.nr++] = (struct rule_dir){env, true};
	if (named && *named)
		d.dir[d.nr++] = (struct rule_dir){named, true};
	*ret = d;
	return 0;
}

void rule_dirs_free(struct rule_dirs *d)
{
	free(d->owned);
	*d = (struct rule_dirs){0};
}

/* The text of a file, in the arena; NULL with an error in err. */
static const char *read_text(struct arena *a, const char *path, size_t max, struct errtext *err,
			     int *ret_e)
{
	_cleanup_free_ char *text = NULL;
	size_t len = 0;

	*ret_e = access_read(AT_FDCWD, path, max, &text, &len);
	if (*ret_e == -EFBIG)
		errtext_set(err, *ret_e, "%s: longer than %zu KiB; a rule is one query", path,
			    max / 1024);
	else if (*ret_e)
		errtext_set(err, *ret_e, "%s: cannot be read: %s", path, access_strerror(*ret_e));
	else if (strlen(text) != len)
		*ret_e =
			errtext_set(err, -EINVAL, "%s: contains a NUL byte; it must be text", path);
	return *ret_e ? NULL : arena_bytes(a, text, len).data;
}

/* "ID.sql" -> ID; NULL: another ending. */
static const char *id_of(struct arena *a, const char *name, const char *ending)
{
	size_t len = strlen(name);
	size_t end = strlen(ending);

	if (len <= end || strcmp(name + len - end, ending) != 0)
		return NULL;
	return arena_bytes(a, name, len - end).data;
}

static int no_such_rule(struct rule_set *s, const char *file, int line, const char *id,
			struct errtext *err)
{
	const char *ids[IDS_MAX];
	const char *near;
	size_t nr = 0;

	for (; nr < s->nr_rules && nr < IDS_MAX; nr++)
		ids[nr] = s->rules[nr].id;
	near = suggest_nearest(id, ids, nr);
	return errtext_set(err, -EINVAL, "%s:%d: there is no rule '%s'; %s", file, line, id,
			   suggest_text(near, "'cachemon explain' lists them").text);
}

/* For a file that has only thresholds. */
static int override_all(struct rule_set *s, const struct rule *values, struct errtext *err)
{
	struct rule *rule = find_rule(s, values->id);
	int e = 0;

	if (!rule)
		return no_such_rule(s, values->file, 1, values->id, err);
	for (size_t i = 0; !e && i < values->nr_params; i++)
		e = rule_param_override(&s->arena, rule, values->file, &values->params[i], err);
	return e;
}

/* A directory while it is read. */
struct dir_load {
	struct rule_set *set;
	const char *path;
	struct rule *values[IDS_MAX]; /* files with only thresholds, applied after all rules are
				       * read */
	size_t nr_values;
};

static int load_rule(struct dir_load *d, const char *file, const char *id, struct errtext *err)
{
	struct arena *a = &d->set->arena;
	struct rule *rule = arena_alloc(a, sizeof(*rule));
	int e = 0;
	const char *text = read_text(a, file, RULE_MAX, err, &e);

	if (!rule || (!e && !text))
		return -ENOMEM;
	if (!e)
		e = rule_parse(a, file, id, text, rule, err);
	if (e || rule->sql)
		return e ? e : replace_rule(d->set, rule);
	if (d->nr_values == IDS_MAX)
		return errtext_set(
			err, -EINVAL,
			"%s: too many files of thresholds; put them into one file 'thresholds'",
			file);
	d->values[d->nr_values++] = rule;
	return 0;
}

static int load_note(struct dir_load *d, const char *file, const char *id, struct errtext *err)
{
	struct arena *a = &d->set->arena;
	struct note note;
	int e = 0;
	const char *text = read_text(a, file, NOTE_MAX, err, &e);

	if (!e && !text)
		return -ENOMEM;
	if (!e)
		e = note_parse(a, file, id, text, &note, err);
	return e ? e : replace_note(d->set, &note);
}

/* "RULE.NAME = VALUE UNIT -- why" */
static int load_threshold(struct rule_set *s, const char *file, int line, struct span text,
			  struct errtext *err)
{
	struct rule_param value;
	struct rule *rule;
	const char *copy = span_copy(&s->arena, text);
	char *dot;
	int e = copy ? rule_param_parse(&s->arena, file, line, copy, &value, err) : -ENOMEM;

	if (e)
		return e;
	dot = strchr(value.name, '.');
	if (!dot)
		return errtext_set(err, -EINVAL,
				   "%s:%d: '%s' names no rule; write RULE-ID.%s = VALUE", file,
				   line, value.name, value.name);
	*dot = '\0';
	rule = find_rule(s, value.name);
	if (!rule)
		return no_such_rule(s, file, line, value.name, err);
	value.name = dot + 1;
	return rule_param_override(&s->arena, rule, file, &value, err);
}

static int load_thresholds(struct rule_set *s, const char *file)
{
	struct errtext err = {0};
	int e = 0;
	const char *text = read_text(&s->arena, file, RULE_MAX, &err, &e);
	struct lines lines = {.next = text};
	struct span line;
	size_t wrong = 0;

	if (!text)
		return e ? rule_set_problem(s, e, &err) : -ENOMEM;
	while (!e && lines_next(&lines, &line)) {
		line = span_trim(line);
		if (!line.len || line.at[0] == '#' || span_begins(line, "--"))
			continue;
		if (wrong == WRONG_LINES_MAX) {
			errtext_set(&err, -EINVAL,
				    "%s:%d: more than %d lines are wrong; the rest is not read",
				    file, lines.number, WRONG_LINES_MAX);
			return rule_set_problem(s, -EINVAL, &err);
		}
		e = load_threshold(s, file, lines.number, line, &err);
		if (e) {
			e = rule_set_problem(s, e, &err);
			wrong++;
		}
	}
	return e;
}

static int load_entry(struct dir_load *d, const char *name)
{
	struct arena *a = &d->set->arena;
	struct errtext err = {0};
	const char *rule = id_of(a, name, ".sql");
	const char *note = id_of(a, name, ".md");
	const char *file;
	int e = 0;

	if (name[0] == '.' || (!rule && !note) || strcmp(name, "README.md") == 0)
		return 0;
	file = arena_print(a, "%s/%s", d->path, name);
	if (!file)
		return -ENOMEM;
	e = rule ? load_rule(d, file, rule, &err) : load_note(d, file, note, &err);
	return e ? rule_set_problem(d->set, e, &err) : 0;
}

static int load_names(struct dir_load *d, struct dirent **names, int nr)
{
	struct errtext err = {0};
	const char *file = arena_print(&d->set->arena, "%s/thresholds", d->path);
	int e = file ? 0 : -ENOMEM;

	for (int i = 0; i < nr && !e; i++)
		e = load_entry(d, names[i]->d_name);
	for (size_t i = 0; i < d->nr_values && !e; i++) {
		e = override_all(d->set, d->values[i], &err);
		if (e)
			e = rule_set_problem(d->set, e, &err);
	}
	return e || access(file, F_OK) != 0 ? e : load_thresholds(d->set, file);
}

/* Adds one directory, which overrides earlier ones. */
static int load_directory(struct rule_set *s, const struct rule_dir *dir)
{
	struct dir_load d = {.set = s, .path = dir->path};
	struct errtext err = {0};
	struct dirent **names = NULL;
	_cleanup_close_ int fd =
		access_open(AT_FDCWD, dir->path, O_RDONLY | O_DIRECTORY, 0, ACCESS_DIRECTORY);
	int nr = fd < 0 ? fd : scandirat(fd, ".", &names, NULL, alphasort);
	int e = fd < 0 ? fd : nr < 0 ? -errno : 0;

	if (nr < 0 && !dir->must_exist && (e == -ENOENT || e == -ENOTDIR))
		return 0;
	if (nr < 0) {
		errtext_set(&err, e, "%s: cannot be read: %s; name a directory of rules", dir->path,
			    strerror(-e));
		return rule_set_problem(s, -EIO, &err);
	}
	e = load_names(&d, names, nr);
	for (int i = 0; i < nr; i++)
		free(names[i]);
	free(names);
	return e;
}

static int by_rule_id(const void *a, const void *b)
{
	return strcmp(((const struct rule *)a)->id, ((const struct rule *)b)->id);
}

static int by_note_id(const void *a, const void *b)
{
	return strcmp(((const struct note *)a)->id, ((const struct note *)b)->id);
}

int rule_set_load(const struct rule_dirs *dirs, struct rule_set *ret)
{
	struct rule_set s = {0};
	int e = load_builtin(&s);

	for (size_t i = 0; dirs && i < dirs->nr && !e; i++)
		e = load_directory(&s, &dirs->dir[i]);
	if (!e && s.arena.failed)
		e = -ENOMEM;
	if (e) {
		rule_set_free(&s);
		return e;
	}
	if (s.nr_rules)
		qsort(s.rules, s.nr_rules, sizeof(*s.rules), by_rule_id);
	if (s.nr_notes)
		qsort(s.notes, s.nr_notes, sizeof(*s.notes), by_note_id);
	*ret = s;
	return 0;
}

void rule_set_free(struct rule_set *s)
{
	arena_free(&s->arena);
	*s = (struct rule_set){0};
}
