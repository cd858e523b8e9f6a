/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/llm/check_impl.h"
#include "cachemon/base/cleanup.h"

static const char think[] = "<think>", unthink[] = "</think>", wanted_key[] = "statements";

/* What may come next. */
enum expected { VALUE, VALUE_OR_END, KEY, KEY_OR_END, COLON, COMMA_OR_END };

enum phase {
	BEGIN,	  /* of the text: blanks, or the model's thoughts */
	THINKING, /* until </think> */
	HUNTING,  /* for an object */
	IN_OBJECT,
	DONE,	/* the object is whole */
	BROKEN, /* it went wrong when statements were found already */
};

struct level {
	char bracket; /* '{' or '[' */
	size_t begin; /* where in all of the text */
};

struct llm_split {
	enum phase phase;
	enum expected expected;
	size_t matched; /* of think or unthink */
	struct level levels[SPLIT_DEPTH_MAX];
	int depth;
	bool in_string, escaped, in_literal, is_key;
	char key[sizeof(wanted_key)]; /* as far as it may be the wanted one */
	size_t key_len;
	int list_depth;	  /* of the list of statements, while in it; else 0 */
	int object_depth; /* of the object that has it */
	bool had_list;
	struct split_object object;
	size_t at; /* in all of the text */
	bool in_statement;
	char *statement;
	size_t len, room;
};

struct listener {
	void (*statement)(void *arg, const char *object, size_t len);
	void *arg;
};

struct llm_split *llm_split_new(void)
{
	return calloc(1, sizeof(struct llm_split));
}

void llm_split_free(struct llm_split *s)
{
	if (s)
		free(s->statement);
	free(s);
}

bool llm_split_object(const struct llm_split *s, struct split_object *ret)
{
	if (s->phase != DONE)
		return false;
	*ret = s->object;
	return true;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Not JSON: what was begun is none of ours. */
static void give_up(struct llm_split *s)
{
	s->phase = s->had_list ? BROKEN : HUNTING;
	s->depth = s->list_depth = 0;
	s->in_string = s->escaped = s->in_literal = s->in_statement = false;
}

static void begin_statement(struct llm_split *s)
{
	s->in_statement = true;
	s->len = 0;
}

static void open_level(struct llm_split *s, char c)
{
	bool in_list = s->list_depth && s->depth == s->list_depth;

	if (s->depth == SPLIT_DEPTH_MAX) {
		give_up(s);
		return;
	}
	if (in_list && c == '{')
		begin_statement(s);
	else if (in_list)
		s->object.others++;
	s->levels[s->depth++] = (struct level){c, s->at};
	s->expected = c == '{' ? KEY_OR_END : VALUE_OR_END;
	if (c == '[' && s->is_key && !s->had_list) {
		s->had_list = true;
		s->list_depth = s->depth;
		s->object_depth = s->depth - 1;
	}
	s->is_key = false;
}

/* A value is over, whatever it was. */
static void after_value(struct llm_split *s)
{
	s->expected = COMMA_OR_END;
	s->is_key = false;
}

static void close_level(struct llm_split *s, char c, const struct listener *l)
{
	struct level *level = &s->levels[s->depth - 1];

	if (level->bracket != (c == '}' ? '{' : '[')) {
		give_up(s);
		return;
	}
	s->depth--;
	after_value(s);
	if (s->in_statement && s->depth == s->list_depth) {
		s->in_statement = false;
		l->statement(l->arg, s->statement, s->len);
	} else if (s->list_depth && s->depth == s->list_depth - 1) {
		s->list_depth = 0;
	} else if (s->had_list && s->depth == s->object_depth - 1) {
		s->object.begin = level->begin;
		s->object.end = s->at + 1;
		s->phase = DONE;
	} else if (!s->depth) {
		give_up(s);
	}
}

static void begin_string(struct llm_split *s)
{
	bool key = s->expected == KEY || s->expected == KEY_OR_END;

	if (!key && s->expected != VALUE && s->expected != VALUE_OR_END) {
		give_up(s);
		return;
	}
	if (!key && s->list_depth && s->depth == s->list_depth)
		s->object.others++;
	s->in_string = true;
	s->is_key = key;
	s->key_len = 0;
}

static void in_string(struct llm_split *s, char c)
{
	if (s->escaped) {
		s->escaped = false;
	} else if (c == '\\') {
		s->escaped = true;
		s->key_len = sizeof(s->key); /* another way to write a key: not the wanted one */
	} else if (c == '"') {
		s->in_string = false;
		if (!s->is_key) {
			after_value(s);
			return;
		}
		s->expected = COLON;
		s->is_key = s->key_len == sizeof(wanted_key) - 1 &&
			    memcmp(s->key, wanted_key, s->key_len) == 0;
	} else if (!c) {
		give_up(s);
	} else if (s->key_len < sizeof(s->key)) {
		s->key[s->key_len++] = c;
	}
}

/* A number or a name: cJSON looks at it more closely. */
static bool is_literal(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c && strchr("+-.E", c));
}

static void begin_literal(struct llm_split *s)
{
	if (s->expected != VALUE && s->expected != VALUE_OR_END) {
		give_up(s);
		return;
	}
	if (s->list_depth && s->depth == s->list_depth)
		s->object.others++;
	s->in_literal = true;
}

static void punctuation(struct llm_split *s, char c, const struct listener *l)
{
	enum expected e = s->expected;
	bool in_object = s->levels[s->depth - 1].bracket == '{';

	if (c == ':' && e == COLON)
		s->expected = VALUE;
	else if (c == ',' && e == COMMA_OR_END)
		s->expected = in_object ? KEY : VALUE;
	else if ((c == '}' && (e == KEY_OR_END || e == COMMA_OR_END)) ||
		 (c == ']' && (e == VALUE_OR_END || e == COMMA_OR_END)))
		close_level(s, c, l);
	else if ((c == '{' || c == '[') && (e == VALUE || e == VALUE_OR_END))
		open_level(s, c);
	else
		give_up(s);
}

static void in_object(struct llm_split *s, char c, const struct listener *l)
{
	if (s->in_string) {
		in_string(s, c);
		return;
	}
	if (s->in_literal && is_literal(c))
		return;
	if (s->in_literal) {
		s->in_literal = false;
		after_value(s);
	}
	if (is_blank(c))
		return;
	if (c == '"')
		begin_string(s);
	else if (is_literal(c))
		begin_literal(s);
	else
		punctuation(s, c, l);
}

/* Whether c goes on with the word; then the word may be whole. */
static bool match(struct llm_split *s, const char *word, char c)
{
	s->matched = word[s->matched] == c ? s->matched + 1 : word[0] == c;
	return !word[s->matched];
}

static void hunt(struct llm_split *s, char c)
{
	if (s->phase == BEGIN) {
		if (!s->matched && is_blank(c))
			return;
		if (match(s, think, c)) {
			s->phase = THINKING;
			s->matched = 0;
			return;
		}
		if (s->matched)
			return;
		s->phase = HUNTING;
	}
	if (c != '{')
		return;
	s->phase = IN_OBJECT;
	s->expected = VALUE;
	s->is_key = false;
	open_level(s, c);
}

/* Keeps what belongs to a statement; what is too long is cut, and no object then. */
static int keep(struct llm_split *s, char c)
{
	char *grown;

	if (s->len == SPLIT_STATEMENT_MAX)
		return 0;
	if (s->len == s->room) {
		s->room = s->room ? s->room * 2 : 1024;
		grown = realloc(s->statement, s->room);
		if (!grown)
			return -ENOMEM;
		s->statement = grown;
	}
	s->statement[s->len++] = c;
	return 0;
}

static int take(struct llm_split *s, char c, const struct listener *l)
{
	bool was = s->in_statement, string = s->in_string;
	enum phase before = s->phase;

	if (s->phase == THINKING) {
		if (match(s, unthink, c))
			s->phase = HUNTING;
		return 0;
	}
	if (s->phase == BEGIN || s->phase == HUNTING) {
		hunt(s, c);
		return 0;
	}
	/* The last sign of a statement belongs to it, and is kept before it is told. */
	if (was && keep(s, c))
		return -ENOMEM;
	in_object(s, c, l);
	if (!was && s->in_statement && keep(s, c))
		return -ENOMEM;
	/* What broke off an object may begin another. */
	if (before == IN_OBJECT && s->phase == HUNTING && !string)
		hunt(s, c);
	return 0;
}

int llm_split_feed(struct llm_split *s, const char *piece, size_t len,
		   void (*statement)(void *arg, const char *object, size_t len), void *arg)
{
	const struct listener l = {statement, arg};
	int e = 0;

	if (len > SPLIT_TEXT_MAX - s->at)
		return -EFBIG;
	for (size_t i = 0; !e && i < len && s->phase != DONE && s->phase != BROKEN; i++) {
		e = take(s, piece[i], &l);
		s->at++;
	}
	return e;
}
