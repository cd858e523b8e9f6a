/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/job/command_exec.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachemon/base/text_builder.h"

struct replacement {
	const char *name;
	const char *root_value; /* NULL: unknown; nothing is replaced */
	const char *value;	/* NULL: the variable is dropped */
};

/* The value of entry "NAME=value" if it has this name. */
static const char *value_of_entry(const char *entry, const char *name)
{
	size_t len = strlen(name);

	return strncmp(entry, name, len) == 0 && entry[len] == '=' ? entry + len + 1 : NULL;
}

static bool is_sudo_effect(const char *entry)
{
	static const char *const names[] = {"SUDO_COMMAND", "SUDO_UID",	 "SUDO_GID",
					    "SUDO_USER",    "SUDO_HOME", "SUDO_TTY"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (value_of_entry(entry, names[i]))
			return true;
	}
	return false;
}

/* *ret_entry is NULL: drop the variable. */
static int translate_entry(const char *entry, const struct replacement *replacements,
			   char **ret_entry)
{
	*ret_entry = NULL;
	for (const struct replacement *r = replacements; r->name; r++) {
		const char *value = value_of_entry(entry, r->name);

		if (!value || !r->root_value || strcmp(value, r->root_value) != 0)
			continue;
		return r->value ? text_print(ret_entry, "%s=%s", r->name, r->value) : 0;
	}
	return text_print(ret_entry, "%s", entry);
}

static bool same_name(const char *entry, const char *variable)
{
	size_t len = strcspn(variable, "=");

	return strncmp(entry, variable, len + 1) == 0;
}

int command_exec_env(char *const env[], const struct invoker *inv, const char *root_home,
		     const char *root_shell, const char *variable, char ***ret_env)
{
	const struct replacement none[] = {{NULL, NULL, NULL}};
	const struct replacement user[] = {
		{"HOME", root_home, inv->home ? inv->home : "/"},
		{"SHELL", root_shell, inv->shell ? inv->shell : "/bin/sh"},
		{"USER", "root", inv->name},
		{"LOGNAME", "root", inv->name},
		{"MAIL", "/var/mail/root", NULL},
		{"MAIL", "/var/spool/mail/root", NULL},
		{NULL, NULL, NULL},
	};
	size_t nr = 0, out = 0;
	char **copy;

	while (env[nr])
		nr++;
	copy = calloc(nr + 2, sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		int err;

		if (inv->switched && is_sudo_effect(env[i]))
			continue;
		if (variable && same_name(env[i], variable))
			continue;
		err = translate_entry(env[i], inv->switched ? user : none, &copy[out]);
		if (err) {
			command_exec_env_free(copy);
			return err;
		}
		out += copy[out] != NULL;
	}
	if (variable) {
		copy[out] = strdup(variable);
		if (!copy[out]) {
			command_exec_env_free(copy);
			return -ENOMEM;
		}
	}
	*ret_env = copy;
	return 0;
}

void command_exec_env_free(char **env)
{
	if (!env)
		return;
	for (char **e = env; *e; e++)
		free(*e);
	free(env);
}

/* DIR/NAME, "./NAME" for an empty DIR. */
static int join_path(char path[PATH_MAX], const char *dir, size_t dir_len, const char *name)
{
	size_t name_len = strlen(name);

	if (dir_len == 0) {
		dir = ".";
		dir_len = 1;
	}
	if (dir_len + 1 + name_len + 1 > PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(path, dir, dir_len);
	path[dir_len] = '/';
	memcpy(path + dir_len + 1, name, name_len + 1);
	return 0;
}

/* The meaning of a file that cannot be executed for the search. */
static int judge_failure(const char *path, int err)
{
	struct stat st;

	switch (err) {
	case EACCES:
		return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? -EACCES : -ENOENT;
	case ENOENT:
	case ENOTDIR:
	case ENODEV:
	case ESTALE:
	case ETIMEDOUT:
	case ELOOP:
		return -ENOENT;
	default:
		return -err;
	}
}

int command_exec(char *const argv[], char *const env[])
{
	const char *dirs = getenv("PATH"), *name = argv[0];
	int result = -ENOENT;
	char path[PATH_MAX];

	if (strchr(name, '/')) {
		/* A name with a slash is not searched for, and scripts go to /bin/sh. */
		execvpe(name, argv, env);
		return -errno;
	}
	if (!*name)
		return result;
	if (!dirs)
		dirs = "/bin:/usr/bin";
	for (;;) {
		size_t len = strcspn(dirs, ":");

		if (join_path(path, dirs, len, name) == 0) {
			int err;

			execvpe(path, argv, env);
			err = judge_failure(path, errno);
			if (err != -ENOENT && err != -EACCES)
				return err;
			/* A later directory may have an executable one. */
			if (err == -EACCES)
				result = err;
		}
		if (!dirs[len])
			return result;
		dirs += len + 1;
	}
}
