/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The settings of a node's daemon, from its file in YAML. Owns the keys: their names, units,
 * defaults and limits. Reading the text has no effects; an unknown key, a wrong value and
 * a key given twice are errors with FILE:LINE.
 */
#ifndef NODE_CONFIG_H
#define NODE_CONFIG_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cachemon/base/arena.h"
#include "cachemon/base/errtext.h"
#include "cachemon/store/retention.h"

/* How calls of files and directories are counted. */
enum node_vfs {
	NODE_VFS_NONE,
	NODE_VFS_FUNCTIONS, /* at the end of the functions that do their work */
	NODE_VFS_CALLS,	    /* at the end of each system call of the machine */
};

struct node_list {
	const char **of;
	size_t nr;
};

struct node_config {
	const char *database;
	uint64_t interval_ns;
	double budget_percent; /* of the CPU time of all watched jobs */
	struct {
		unsigned int kinds; /* a bit for each enum find_kind */
		struct node_list include, exclude;
	} jobs;
	struct retention_policy retention; /* and the keys of rollup */
	struct {
		const char *textfile_directory; /* NULL: none is written */
		struct sockaddr_storage listen; /* ss_family 0: nothing listens */
		const char *web_config;		/* NULL: without TLS and passwords */
		enum node_vfs vfs;
	} metrics;
	struct {
		const char *path;
		const char *admin_group; /* NULL: root alone */
	} socket;
	struct arena arena;
};

/* file: its name in errors. 0, or -EINVAL, -ENOMEM and a text. Free *ret after a failure too. */
int node_config_parse(const char *file, const char *text, size_t len, struct node_config *ret,
		      struct errtext *err);
/* The same for a file, which must be of root or of this user, and which only they can change. */
int node_config_load(const char *file, struct node_config *ret, struct errtext *err);
void node_config_free(struct node_config *c);
/* The text of a file that only root or this user can change; to be freed. */
int node_config_text(const char *file, size_t max, char **ret_text, size_t *ret_len,
		     struct errtext *err);

/* Whether only root or this user can change the directory that the key names: another one who can
 * could make root write anywhere. 0, or -errno with a text. */
int node_config_directory(const char *key, const char *path, struct errtext *err);

/* "none", "functions", "calls"; -EINVAL. */
int node_vfs_parse(const char *text, enum node_vfs *ret);

/* Whether these settings select a job. kind: as find_kind_name() has it. */
bool node_config_selects(const struct node_config *c, const char *kind, const char *name);

/*
 * The keys whose values differ and that a daemon reads only when it starts, such as "database,
 * interval"; empty: none.
 */
struct node_config_fixed {
	char names[256];
};
struct node_config_fixed node_config_fixed(const struct node_config *started,
					   const struct node_config *now);

struct node_config_key {
	const char *name; /* "retention.age" */
	const char *unit;
	const char *value; /* the default, as in a file */
};

/* Key i; false: there are no more. */
bool node_config_key(size_t i, struct node_config_key *ret);

#endif
