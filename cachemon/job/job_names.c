/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/job/job_names.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachemon/access/access.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/base/vec.h"

enum { FILE_MAX = 16 << 20 };

static int add_named(struct job_names *names, const char *id, const char *path)
{
	struct job_named n = {.id = strdup(id), .path = path ? strdup(path) : NULL};

	if (!n.id || (path && !n.path) || vec_reserve(names->list, names->room, names->nr + 1)) {
		free(n.id);
		free(n.path);
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

struct search {
	const char *name;
	struct job_names *ret;
};

/* DIR/ID/config.v2.json of Docker has the name with a slash before it. */
static int look_at_docker(const char *dir, const char *id, void *arg)
{
	struct search *s = arg;
	const char *name;
	cJSON *config;
	int err = read_json(dir, id, "config.v2.json", &config);

	name = string_of(config, "Name");
	if (!err && !strcmp(name + (*name == '/'), s->name))
		err = add_named(s->ret, id, NULL);
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
				if (!err && cJSON_IsString(name) &&
				    !strcmp(name->valuestring, s->name))
					err = add_named(s->ret, string_of(container, "id"), NULL);
			}
		}
		cJSON_Delete(list);
	}
	return err;
}

/* Names of the kubelet and of nerdctl; ctr calls a container by its id. */
static bool containerd_name_is(const cJSON *config, const char *id, const char *name)
{
	const cJSON *notes = cJSON_GetObjectItemCaseSensitive(config, "annotations");

	return !strcmp(id, name) ||
	       !strcmp(string_of(notes, "io.kubernetes.cri.container-name"), name) ||
	       !strcmp(string_of(notes, "nerdctl/name"), name);
}

/* DIR/ID/config.json of a task of containerd; cgroupsPath is a path, or of a form that systemd's
 * driver understands: then the cgroup's name has the id. */
static int look_at_task(const char *dir, const char *id, void *arg)
{
	struct search *s = arg;
	const char *cgroup;
	cJSON *config;
	int err = read_json(dir, id, "config.json", &config);

	cgroup = string_of(cJSON_GetObjectItemCaseSensitive(config, "linux"), "cgroupsPath");
	if (config && containerd_name_is(config, id, s->name))
		err = add_named(s->ret, id, *cgroup == '/' ? cgroup : NULL);
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

int job_names_containers(const char *root, const char *name, struct job_names *ret)
{
	struct search s = {name, ret};
	int err = search_below(root, "/var/lib/docker/containers", look_at_docker, &s);

	if (!err)
		err = search_below(root, "/var/lib/containers/storage", look_at_storage, &s);
	if (!err)
		err = search_below(root, "/run/containerd/io.containerd.runtime.v2.task",
				   look_at_namespace, &s);
	return err;
}

int job_names_podman_of_user(const char *home, const char *name, struct job_names *ret)
{
	struct search s = {name, ret};

	return search_below(home, "/.local/share/containers/storage", look_at_storage, &s);
}

/* NAMESPACE_NAME_UID; none of the three has an underscore. */
static int look_at_logs(const char *dir, const char *entry, void *arg)
{
	struct search *s = arg;
	const char *slash = strchr(s->name, '/');
	size_t space = slash ? (size_t)(slash - s->name) : 0, len = strlen(s->name);

	(void)dir;
	if (!slash || strnlen(entry, len + 1) <= len || strncmp(entry, s->name, space) != 0 ||
	    entry[space] != '_' || strncmp(entry + space + 1, slash + 1, len - space - 1) != 0 ||
	    entry[len] != '_' || strchr(entry + len + 1, '_'))
		return 0;
	return add_named(s->ret, entry + len + 1, NULL);
}

int job_names_pods(const char *root, const char *name, struct job_names *ret)
{
	struct search s = {name, ret};

	return search_below(root, JOB_NAMES_POD_PLACES, look_at_logs, &s);
}

void job_names_free(struct job_names *names)
{
	for (size_t i = 0; i < names->nr; i++) {
		free(names->list[i].id);
		free(names->list[i].path);
	}
	free(names->list);
	*names = (struct job_names){0};
}
