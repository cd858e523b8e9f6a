/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/access/paths.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "cachemon/access/access.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/text_builder.h"

int paths_default_db(const struct invoker *inv, const char *cachemon_db, const char *xdg_state_home,
		     char **ret_path, struct errtext *err)
{
	if (cachemon_db && *cachemon_db)
		return text_print(ret_path, "%s", cachemon_db);
	if (xdg_state_home && xdg_state_home[0] == '/')
		return text_print(ret_path, "%s/cachemon/cachemon.db", xdg_state_home);
	if (inv->home)
		return text_print(ret_path, "%s/.local/state/cachemon/cachemon.db", inv->home);
	return errtext_set(err, -ENOENT,
			   "user %u has no home directory to keep a database in: give --db "
			   "FILE or set CACHEMON_DB",
			   inv->uid);
}

static int make_directory(const char *path, struct errtext *err)
{
	char denied[ACCESS_DENIED_MAX];
	struct stat st;
	int e;

	if (mkdir(path, 0700) == 0)
		return 0;
	e = -errno;
	if (stat(path, &st) == 0) {
		if (S_ISDIR(st.st_mode))
			return 0;
		e = -ENOTDIR;
	} else if (e == -EEXIST) {
		e = -errno;
	}
	access_denied(path, e, denied);
	return errtext_set(err, e, "cannot make the directory %s: %s%s", path, strerror(-e),
			   denied);
}

int paths_user_config(const char *home, const char *config_home, const char *name, char **ret_path)
{
	*ret_path = NULL;
	if (config_home && config_home[0] == '/')
		return text_print(ret_path, "%s/cachemon/%s", config_home, name);
	if (home && home[0] == '/')
		return text_print(ret_path, "%s/.config/cachemon/%s", home, name);
	return 0;
}

int paths_make_parents(const char *path, const struct invoker *inv, struct errtext *err)
{
	char *copy = strdup(path);
	struct access saved;
	int e;

	if (!copy)
		return -ENOMEM;
	e = access_enter(inv, &saved);
	if (e) {
		errtext_set(err, e, "cannot act as user %u to make %s: %s", inv->uid, path,
			    strerror(-e));
		goto out;
	}
	/* Keeps the slash of the root directory. */
	for (char *slash = strchr(copy + (copy[0] == '/'), '/'); slash && !e;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		e = make_directory(copy, err);
		*slash = '/';
	}
	access_leave(&saved);
out:
	free(copy);
	return e;
}

const char *paths_below(const char *path, const char *prefix)
{
	size_t len = strlen(prefix);

	if (len == 1 && prefix[0] == '/')
		return path[0] == '/' ? path + 1 : NULL;
	if (strncmp(path, prefix, len) != 0)
		return NULL;
	if (path[len] == '\0')
		return path + len;
	return path[len] == '/' ? path + len + 1 : NULL;
}

const char *paths_last(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}
