/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/job/command_env.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct replacement {
	const char *name;
	const char *root_value; /* NULL: none is known, nothing is replaced */
	const char *value;	/* NULL: the variable is dropped */
};

/* The value of entry "NAME=value" when its name is name. */
static const char *value_of(const char *entry, const char *name)
{
	size_t len = strlen(name);

	return strncmp(entry, name, len) == 0 && entry[len] == '=' ? entry + len + 1 : NULL;
}

static bool is_sudo_effect(const char *entry)
{
	static const char *const names[] = {"SUDO_COMMAND", "SUDO_UID",	 "SUDO_GID",
					    "SUDO_USER",    "SUDO_HOME", "SUDO_TTY"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (value_of(entry, names[i]))
			return true;
	}
	return false;
}

/* 1: *ret_entry is set; 0: the variable is dropped. */
static int translate(const char *entry, const struct replacement *replacements, char **ret_entry)
{
	char *copy = NULL;

	for (const struct replacement *r = replacements; r->name; r++) {
		const char *value = value_of(entry, r->name);

		if (!value || !r->root_value || strcmp(value, r->root_value) != 0)
			continue;
		if (!r->value)
			return 0;
		if (asprintf(&copy, "%s=%s", r->name, r->value) < 0)
			return -ENOMEM;
		*ret_entry = copy;
		return 1;
	}
	copy = strdup(entry);
	if (!copy)
		return -ENOMEM;
	*ret_entry = copy;
	return 1;
}

int command_env_build(char *const env[], const struct invoker *inv, const char *root_home,
		      const char *root_shell, char ***ret_env)
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
	copy = calloc(nr + 1, sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		int n;

		if (inv->switched && is_sudo_effect(env[i]))
			continue;
		n = translate(env[i], inv->switched ? user : none, &copy[out]);
		if (n < 0) {
			command_env_free(copy);
			return n;
		}
		out += (size_t)n;
	}
	*ret_env = copy;
	return 0;
}

void command_env_free(char **env)
{
	if (!env)
		return;
	for (char **e = env; *e; e++)
		free(*e);
	free(env);
}
