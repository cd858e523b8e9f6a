/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machines to which a note applies: "any", or terms such as fs:xfs, device:ssd,
 * kernel:>=5.4<6.1, cgroup:v2. Owns the grammar of the terms; the code that knows the machine's
 * facts evaluates them. Pure.
 */
#ifndef RULES_APPLIES_H
#define RULES_APPLIES_H

#include <stdbool.h>
#include <stdint.h>

#include "advisor/rules/text.h"

enum applies_kind { APPLIES_FS, APPLIES_DEVICE, APPLIES_KERNEL, APPLIES_CGROUP, APPLIES_NR };

struct applies_term {
	enum applies_kind kind;
	struct span value;    /* what follows the colon */
	uint64_t from, below; /* kernel: from <= version < below */
};

/*
 * The next term of a list, which moves on past it. 1; 0: none is left; -EINVAL: ret->value is the
 * invalid piece, and *ret_wrong says why and what to do.
 */
int applies_next(struct span *list, struct applies_term *ret, const char **ret_wrong);

/* "6.12.9-amd64" as a number that grows with the version; false: it does not begin with one. */
bool applies_version(struct span text, uint64_t *ret);

/* The next element of "[a, b]" or "a, b", trimmed. false: none is left. */
bool list_next(struct span *list, struct span *ret);

#endif
