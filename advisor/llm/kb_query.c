/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/llm/kb_impl.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "advisor/rules/applies.h"

enum answer { NO, YES, NOT_KNOWN };

/* "fuse" also matches "fuse.sshfs". Empty names are unknown. */
static enum answer is_among(struct span term, const char *const *names, size_t nr)
{
	if (!names || !nr || !names[0] || !*names[0])
		return NOT_KNOWN;
	for (size_t i = 0; i < nr; i++)
		if (names[i] && !strncmp(names[i], term.at, term.len) &&
		    (!names[i][term.len] || names[i][term.len] == '.'))
			return YES;
	return NO;
}

static enum answer holds(const struct applies_term *t, const struct kb_facts *f)
{
	uint64_t version = 0;

	switch (t->kind) {
	case APPLIES_FS:
		return is_among(t->value, f->filesystems, f->nr_filesystems);
	case APPLIES_DEVICE:
		return is_among(t->value, f->devices, f->nr_devices);
	case APPLIES_CGROUP:
		return is_among(t->value, &f->cgroup, 1);
	case APPLIES_KERNEL:
		if (f->kernel &&
		    applies_version((struct span){f->kernel, strlen(f->kernel)}, &version))
			return t->from <= version && version < t->below ? YES : NO;
		return NOT_KNOWN;
	default:
		return NOT_KNOWN;
	}
}

bool kb_allows(const struct note *note, const struct kb_facts *facts, bool *ret_named)
{
	bool named[APPLIES_NR] = {false}, held[APPLIES_NR] = {false};
	struct applies_term term;
	const char *wrong = NULL;
	struct span list;

	*ret_named = false;
	if (!note->applies_to || !facts)
		return true;
	list = (struct span){note->applies_to, strlen(note->applies_to)};
	while (applies_next(&list, &term, &wrong) > 0) {
		enum answer a = holds(&term, facts);

		named[term.kind] = true;
		held[term.kind] = held[term.kind] || a != NO;
		/* Most kernels are new enough, so this match counts little. */
		*ret_named = *ret_named || (a == YES && term.kind != APPLIES_KERNEL);
	}
	for (int i = 0; i < APPLIES_NR; i++)
		if (named[i] && !held[i])
			return false;
	return true;
}

/* A longer question adds nothing, and its length must not decide how long a search takes. */
enum { TEXT_MAX = 8192 };

/* Words that occur in every question. */
static const char stop_words[] =
	" about after all also although am an and any are as at be because been before being "
	"best better between but by can cannot could did do does doing don done each else "
	"ever every for from get gets getting give gives go goes good had has have having he "
	"help helps her here his how if in instead into is it its just keep like make makes "
	"many matter may me might more most much must my need needs no not now of off on "
	"only or other our out own part please really right run same see should so some "
	"still such take takes than that the their them then there these they thing things "
	"this those to too under up us use used uses using very want was way we were what "
	"when where whether which while who whose why will with without work works would yes "
	"yet you your ";

/* Bytes other than ASCII are left to the index. */
static bool in_word(char c)
{
	return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

static bool counts(const char *word, size_t len)
{
	char between[KB_WORD_MAX + 3];

	if (len < 2 || strspn(word, "0123456789") == len)
		return false;
	snprintf(between, sizeof(between), " %s ", word);
	return !strstr(stop_words, between);
}

bool kb_words(const char *text, char ret[KB_MATCH_MAX])
{
	const char *at = text ? text : "", *end = at + strnlen(at, TEXT_MAX);
	char word[KB_WORD_MAX + 1], quoted[KB_WORD_MAX + 3], *to = ret;
	size_t nr = 0;

	*ret = '\0';
	for (; at < end && nr < KB_WORDS_MAX; at++) {
		size_t len = 0;

		for (; at < end && in_word(*at); at++)
			if (len < KB_WORD_MAX)
				word[len++] = (char)tolower((unsigned char)*at);
		word[len] = '\0';
		/* Quotes make every word literal; a word has no quotes. */
		snprintf(quoted, sizeof(quoted), "\"%s\"", word);
		if (counts(word, len) && !strstr(ret, quoted))
			to += sprintf(to, "%s%s", nr++ ? " OR " : "", quoted);
	}
	return nr > 0;
}
