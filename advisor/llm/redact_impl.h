/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside of redact: the names, the tree that finds them in a text, and their aliases (redact.c);
 * texts with names and paths in them (redact_text.c). */
#ifndef LLM_REDACT_IMPL_H
#define LLM_REDACT_IMPL_H

#include <stdint.h>

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

struct redact {
	bool on;
	struct arena arena;
	struct name *names;
	size_t nr, room;
	struct tree_node *nodes; /* the first is the root */
	size_t nr_nodes, room_nodes;
	struct {
		uint32_t *names; /* that of number 1 first; NO_NAME: no name has that number */
		size_t nr, room;
	} aliases[NAME_NR];
	struct bytes *texts; /* that everybody has */
	size_t nr_texts, room_texts;
};

/* redact.c: one step down from a node of the tree; 0: there is none. */
uint32_t redact_step(const struct redact *r, uint32_t node, unsigned char c);
/* The name of a path in a text, new or not; NO_NAME: no memory. */
uint32_t redact_path(struct redact *r, enum name_kind kind, const char *path, size_t len);
/* "<KIND-N>" of a name, which gets a number if it has none; NULL: no memory. */
const char *redact_alias(struct redact *r, uint32_t name, char ret[32]);
/* The name of an alias of ours that begins at text, and how much of text that is, a kept ending
 * included; NO_NAME: there is none. */
uint32_t redact_alias_at(const struct redact *r, const char *text, size_t len, size_t *ret_len);

/* redact_text.c */
bool redact_is_word(char c);
/* Paths that every machine has, with no names of people in them. */
bool redact_is_of_system(const char *path, size_t len);
/* What of a file's name is kept: its endings, when they are usual ones of data. */
size_t redact_ending(const char *base, size_t len);

#endif
