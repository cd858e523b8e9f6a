/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the tests of pattern names. */
#ifndef EXPECT_PATTERN_H
#define EXPECT_PATTERN_H

#include "advisor/pattern/pattern.h"

static inline void expect(const struct pattern *p, enum pattern_name want, const char *what)
{
	if (p->name != want)
		fail_msg("%s: expected %s, got %s (%.2f)", what, pattern_name(want),
			 pattern_name(p->name), p->confidence);
	if (want == PATTERN_unknown)
		assert_true(p->confidence == 0);
	else
		assert_true(p->confidence > 0 && p->confidence <= 1 && p->nr_decided > 0);
}

#endif
