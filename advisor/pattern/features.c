/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/pattern/features.h"

#include <math.h>

const char *feature_name(enum feature f)
{
	static const char *const names[F_NR] = {
#define X(name) [F_##name] = #name,
		PATTERN_FEATURES(X)
#undef X
	};

	return names[f];
}

void features_set(struct features *f, enum feature which, double value)
{
	f->known[which] = isfinite(value);
	f->value[which] = f->known[which] ? value : 0;
}

void features_set_ratio(struct features *f, enum feature which, double num, double den)
{
	if (den > 0)
		features_set(f, which, num / den);
}

bool features_least(const struct features *f, enum feature which, double value)
{
	return f->known[which] && f->value[which] >= value;
}

bool features_most(const struct features *f, enum feature which, double value)
{
	return f->known[which] && f->value[which] <= value;
}

void features_merge(struct features *to, const struct features *from)
{
	for (int i = 0; i < F_NR; i++) {
		if (to->known[i] || !from->known[i])
			continue;
		to->known[i] = true;
		to->value[i] = from->value[i];
	}
}
