/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside of redact: the names and the tree that finds them in a text (redact.c), their aliases
 * (redact_alias.c), and what in a text is a path (redact_path.c). redact_text.c brings them
 * together.
 */
#ifndef LLM_REDACT_IMPL_H
#define LLM_REDACT_IMPL_H

#include <stdint.h>
#include <stdio.h>

#include "advisor/llm/redact.h"

/* A name as it stands in texts. */
struct name {
	enum name_kind kind;
	const char *text;
	size_t len;
	size_t base;	    /* where a file's own name begins in text; an alias stands for that */
	size_t ending;	    /* how much at its end is kept, ".tar" */
	uint32_t directory; /* of a file: the name of what is before base; NO_NAME: that is no name
			     */
	uint32_t number;    /* of the alias; 0: not used yet */
};

enum { NO_NAME = UINT32_MAX, NAME_MIN = 3 };

struct tree_node {
	uint32_t child, next; /* 0: none */
	uint32_t name;	      /* that ends here; NO_NAME: none */
	unsigned char c;
};

struct redact_tree {
	struct tree_node *nodes; /* the first is the root */
	size_t nr, room;
};

struct redact_aliases {
	uint32_t *names; /* by number - 1; NO_NAME: passed over */
	size_t nr, room;
};

struct redact {
	bool on;
	struct arena arena;
	struct name *names;
	size_t nr, room;
	struct redact_tree tree;
	struct redact_aliases aliases[NAME_NR];
	struct bytes *texts; /* that everybody has */
	size_t nr_texts, room_texts;
};

/* Makes room for one more; 0 or -ENOMEM. */
int redact_grow(void **list, size_t nr, size_t *room, size_t size);

/* redact.c: a name that is there already is left. 0 or -ENOMEM. */
int redact_tree_add(struct redact_tree *t, const char *text, size_t len, uint32_t name);
uint32_t redact_tree_find(const struct redact_tree *t, const char *text, size_t len);
/* One step down from a node; 0: there is none. */
uint32_t redact_tree_step(const struct redact_tree *t, uint32_t node, unsigned char c);
void redact_tree_free(struct redact_tree *t);

/* redact_path.c */
bool redact_is_word(char c);
/* Whether a path may begin at: "/x" or "~/x" that is not the middle of something. */
bool redact_path_begins(const char *text, size_t len, size_t at);
/* Where a path that goes on at ends, punctuation of the sentence left out. */
size_t redact_path_end(const char *text, size_t len, size_t at);
/* Paths that every machine has, with no names of people in them. */
bool redact_path_is_of_system(const char *path, size_t len);
/* What of a file's name is kept: its ending, when it is a usual one of data. */
size_t redact_path_ending(const char *base, size_t len);

/* redact_alias.c: gives the name its alias, if it has none. 0 or -ENOMEM. */
int redact_alias_give(struct redact *r, uint32_t name);
/* The name behind an alias of ours that begins at text, and how much of text that is, a kept ending
 * included; NO_NAME: there is none. */
uint32_t redact_alias_at(const struct redact *r, const char *text, size_t len, size_t *ret_len);
void redact_alias_put(const struct name *n, FILE *out);

/* redact_text.c: the longest name at, and how much of the text it is; NO_NAME: there is none. It
 * does not reach into an alias, which is one thing whatever its letters. */
uint32_t redact_find_name(const struct redact *r, const char *text, size_t len, size_t at,
			  size_t *ret_len);
/* Where a path that every machine has ends; 0: none begins at. */
size_t redact_find_system(const char *text, size_t len, size_t at);
bool redact_find_public(const struct redact *r, const char *name, size_t len);

/* redact.c: the name of a path in a text, new or not; NO_NAME: no memory. */
uint32_t redact_path(struct redact *r, enum name_kind kind, const char *path, size_t len);

#endif
