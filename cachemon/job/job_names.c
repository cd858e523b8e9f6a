/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/job/job_names.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachemon/access/access.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/base/vec.h"

enum { FILE_MAX = 16 << 20 };

static void free_named(struct job_named *n)
{
	free(n->id);
	free(n->name);
	free(n->path);
}

/* By name or by id; the other one is NULL. */
struct search {
	const char *name, *id;
	struct job_names *ret;
};

static bool wants_id(const struct search *s, const char *id)
{
	return !s->id || !strcmp(id, s->id);
}

static bool wants_name(const struct search *s, const char *name)
{
	return *name && (!s->name || !strcmp(name, s->name));
}

/* Adds a container or pod if it is wanted. */
static int offer(struct search *s, const char *id, const char *name, const char *path)
{
	struct job_names *names = s->ret;
	struct job_named n;

	if (!wants_id(s, id) || !wants_name(s, name))
		return 0;
	n = (struct job_named){strdup(id), strdup(name), path ? strdup(path) : NULL};
	if (!n.id || !n.name || (path && !n.path) ||
	    vec_reserve(names->list, names->room, names->nr + 1)) {
		free_named(&n);
		return -ENOMEM;
	}
	names->list[names->nr++] = n;
	return 0;
}

/* Parses DIR/ENTRY/FILE; *ret NULL: it cannot be read, or is not JSON. 0 or -ENOMEM. */
static int read_json(const char *dir, const char *entry, const char *file, cJSON **ret)
{
	_cleanup_free_ char *path = NULL, *text = NULL;
	size_t len = 0;

	*ret = NULL;
	if (text_print(&path, "%s/%s/%s", dir, entry, file))
		return -ENOMEM;
	if (!access_read(AT_FDCWD, path, FILE_MAX, &text, &len))
		*ret = cJSON_ParseWithLength(text, len);
	return 0;
}

static const char *string_of(const cJSON *object, const char *key)
{
	const char *s = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));

	return s ?: "";
}

/* Calls each for the entries of dir other than "." and ".."; a missing directory has none. */
static int each_entry(const char *dir, int (*each)(const char *dir, const char *entry, void *arg),
		      void *arg)
{
	int fd = access_open(AT_FDCWD, dir, O_RDONLY, 0, ACCESS_DIRECTORY);
	_cleanup_closedir_ DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int err = 0;

	if (!d && fd >= 0)
		close(fd);

	while (d && !err && (entry = readdir(d)))
		if (entry->d_name[0] != '.')
			err = each(dir, entry->d_name, arg);
	return err;
}

/* DIR/ID/config.v2.json of Docker has the name with a slash before it. */
static int look_at_docker(const char *dir, const char *id, void *arg)
{
	struct search *s = arg;
	const char *name;
	cJSON *config;
	int err;

	if (!wants_id(s, id))
		return 0;
	err = read_json(dir, id, "config.v2.json", &config);
	name = string_of(config, "Name");
	if (!err)
		err = offer(s, id, name + (*name == '/'), NULL);
	cJSON_Delete(config);
	return err;
}

/* A list of containers of the library that Podman and CRI-O use. */
static int look_at_storage(const char *dir, const char *entry, void *arg)
{
	static const char *const files[] = {"containers.json", "volatile-containers.json"};
	struct search *s = arg;
	const char *kind = strstr(entry, "-containers");
	int err = 0;

	/* overlay-containers, vfs-containers: by the driver. */
	if (!kind || strcmp(kind, "-containers") != 0)
		return 0;
	for (size_t i = 0; !err && i < sizeof(files) / sizeof(files[0]); i++) {
		const cJSON *container, *name;
		cJSON *list;

		err = read_json(dir, entry, files[i], &list);
		cJSON_ArrayForEach(container, list)
		{
			cJSON_ArrayForEach(name,
					   cJSON_GetObjectItemCaseSensitive(container, "names"))
			{
				if (!err && cJSON_IsString(name))
					err = offer(s, string_of(container, "id"),
						    name->valuestring, NULL);
			}
		}
		cJSON_Delete(list);
	}
	return err;
}

/* DIR/ID/config.json of a task of containerd; cgroupsPath is a path, or of a form that systemd's
 * driver understands: then the cgroup's name has the id. */
static int look_at_task(const char *dir, const char *id, void *arg)
{
	struct search *s = arg;
	const char *cgroup, *names[3];
	const cJSON *notes;
	cJSON *config;
	size_t i = 0;
	int err;

	if (!wants_id(s, id))
		return 0;
	err = read_json(dir, id, "config.json", &config);
	cgroup = string_of(cJSON_GetObjectItemCaseSensitive(config, "linux"), "cgroupsPath");
	notes = cJSON_GetObjectItemCaseSensitive(config, "annotations");
	names[0] = string_of(notes, "nerdctl/name");
	names[1] = string_of(notes, "io.kubernetes.cri.container-name");
	names[2] = id; /* ctr has no other */
	while (i < 2 && !wants_name(s, names[i]))
		i++;
	if (config)
		err = offer(s, id, names[i], *cgroup == '/' ? cgroup : NULL);
	cJSON_Delete(config);
	return err;
}

static int look_at_namespace(const char *dir, const char *namespace, void *arg)
{
	_cleanup_free_ char *path = NULL;

	if (text_print(&path, "%s/%s", dir, namespace))
		return -ENOMEM;
	return each_entry(path, look_at_task, arg);
}

static int search_below(const char *root, const char *place,
			int (*each)(const char *dir, const char *entry, void *arg),
			struct search *s)
{
	_cleanup_free_ char *dir = NULL;

	if (text_print(&dir, "%s%s", root, place))
		return -ENOMEM;
	return each_entry(dir, each, s);
}

static int search_containers(const char *root, struct search *s)
{
	int err = search_below(root, "/var/lib/docker/containers", look_at_docker, s);

	if (!err)
		err = search_below(root, "/var/lib/containers/storage", look_at_storage, s);
	if (!err)
		err = search_below(root, "/run/containerd/io.containerd.runtime.v2.task",
				   look_at_namespace, s);
	return err;
}

int job_names_containers(const char *root, const char *name, struct job_names *ret)
{
	struct search s = {.name = name, .ret = ret};

	return search_containers(root, &s);
}

int job_names_podman_of_user(const char *home, const char *name, struct job_names *ret)
{
	struct search s = {.name = name, .ret = ret};

	return search_below(home, "/.local/share/containers/storage", look_at_storage, &s);
}

/* NAMESPACE_NAME_UID; none of the three has an underscore. */
static int look_at_logs(const char *dir, const char *entry, void *arg)
{
	const char *space_end = strchr(entry, '_');
	const char *name_end = space_end ? strchr(space_end + 1, '_') : NULL;
	_cleanup_free_ char *name = NULL;

	(void)dir;
	if (!name_end || strchr(name_end + 1, '_'))
		return 0;
	if (text_print(&name, "%.*s/%.*s", (int)(space_end - entry), entry,
		       (int)(name_end - space_end - 1), space_end + 1))
		return -ENOMEM;
	return offer(arg, name_end + 1, name, NULL);
}

int job_names_pods(const char *root, const char *name, struct job_names *ret)
{
	struct search s = {.name = name, .ret = ret};

	return search_below(root, JOB_NAMES_POD_PLACES, look_at_logs, &s);
}

/* The first name that can be printed. */
static char *take_name(struct job_names *names)
{
	char *name = NULL;

	for (size_t i = 0; i < names->nr && !name; i++) {
		const char *c = names->list[i].name;

		while (*c && !iscntrl((unsigned char)*c))
			c++;
		if (*c || c - names->list[i].name > NAME_MAX)
			continue;
		name = names->list[i].name;
		names->list[i].name = NULL;
	}
	job_names_free(names);
	return name;
}

int job_names_of_container(const char *root, const char *id, char **ret)
{
	struct job_names names = {0};
	struct search s = {.id = id, .ret = &names};
	int err = search_containers(root, &s);

	*ret = take_name(&names);
	return err;
}

int job_names_of_pod(const char *root, const char *uid, char **ret)
{
	struct job_names names = {0};
	struct search s = {.id = uid, .ret = &names};
	int err = search_below(root, JOB_NAMES_POD_PLACES, look_at_logs, &s);

	*ret = take_name(&names);
	return err;
}

void job_names_free(struct job_names *names)
{
	for (size_t i = 0; i < names->nr; i++)
		free_named(&names->list[i]);
	free(names->list);
	*names = (struct job_names){0};
}
