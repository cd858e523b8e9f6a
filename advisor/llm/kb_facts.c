/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/llm/kb_impl.h"

#include <string.h>

#include "advisor/rules/applies.h"

enum answer { NO, YES, NOT_KNOWN };

/* "fuse" is also a "fuse.sshfs". */
static bool is_type(struct span term, const char *type)
{
	return strncmp(type, term.at, term.len) == 0 &&
	       (type[term.len] == '\0' || type[term.len] == '.');
}

static enum answer is_among(struct span term, const char *const *names, size_t nr)
{
	if (!names || !nr)
		return NOT_KNOWN;
	for (size_t i = 0; i < nr; i++)
		if (names[i] && is_type(term, names[i]))
			return YES;
	return NO;
}

static enum answer is_kernel(const struct applies_term *t, const char *kernel)
{
	uint64_t version = 0;

	if (!kernel || !applies_version((struct span){kernel, strlen(kernel)}, &version))
		return NOT_KNOWN;
	return t->from <= version && version < t->below ? YES : NO;
}

static enum answer holds(const struct applies_term *t, const struct kb_facts *f)
{
	switch (t->kind) {
	case APPLIES_FS:
		return is_among(t->value, f->filesystems, f->nr_filesystems);
	case APPLIES_DEVICE:
		return is_among(t->value, f->devices, f->nr_devices);
	case APPLIES_KERNEL:
		return is_kernel(t, f->kernel);
	case APPLIES_CGROUP:
		return f->cgroup && *f->cgroup ? (enum answer)span_is(t->value, f->cgroup)
					       : NOT_KNOWN;
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
		/* Most kernels are new enough: that says little. */
		*ret_named = *ret_named || (a == YES && term.kind != APPLIES_KERNEL);
	}
	for (int i = 0; i < APPLIES_NR; i++)
		if (named[i] && !held[i])
			return false;
	return true;
}
