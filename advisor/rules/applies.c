/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/rules/applies.h"

#include <errno.h>

/* Parts of a version: each has 16 bits of the number. */
enum { PARTS = 3, PART_BITS = 16, PART_MAX = (1 << PART_BITS) - 1 };

static const struct {
	const char *prefix;
	const char *wrong;
} kinds[APPLIES_NR] = {
	[APPLIES_FS] = {"fs:", "write a type as mount(8) shows it, such as fs:ext4"},
	[APPLIES_DEVICE] = {"device:", "write device:rotational, device:ssd or device:network"},
	[APPLIES_KERNEL] = {"kernel:", "write kernel:>=6.1, kernel:<6.1 or kernel:>=5.4<6.1"},
	[APPLIES_CGROUP] = {"cgroup:", "write cgroup:v1 or cgroup:v2"},
};

static struct span cut_front(struct span s, size_t len)
{
	return (struct span){s.at + len, s.len - len};
}

bool list_next(struct span *list, struct span *ret)
{
	struct span rest = span_trim(*list);
	size_t len = 0;

	if (rest.len && rest.at[0] == '[')
		rest = cut_front(rest, 1);
	if (rest.len && rest.at[rest.len - 1] == ']')
		rest.len--;
	if (!rest.len)
		return false;
	while (len < rest.len && rest.at[len] != ',')
		len++;
	*ret = span_trim((struct span){rest.at, len});
	*list = cut_front(rest, len < rest.len ? len + 1 : len);
	return true;
}

/* Takes the digits, points and digits in front; false: there are no digits, or a number is too
 * large. */
static bool take_version(struct span *s, uint64_t *ret)
{
	uint64_t version = 0;
	int part = 0;

	for (; part < PARTS; part++) {
		uint64_t n = 0;
		size_t len = 0;

		if (part && (s->len < 2 || s->at[0] != '.' || s->at[1] < '0' || s->at[1] > '9'))
			break;
		if (part)
			*s = cut_front(*s, 1);
		for (; len < s->len && s->at[len] >= '0' && s->at[len] <= '9'; len++) {
			n = n * 10 + (uint64_t)(s->at[len] - '0');
			if (n > PART_MAX)
				return false;
		}
		if (!len)
			return false;
		*s = cut_front(*s, len);
		version = version << PART_BITS | n;
	}
	*ret = version << PART_BITS * (PARTS - part);
	return true;
}

bool applies_version(struct span text, uint64_t *ret)
{
	return take_version(&text, ret);
}

static bool take_range(struct span s, struct applies_term *t)
{
	bool any = false;

	t->from = 0;
	t->below = UINT64_MAX;
	if (span_begins(s, ">=")) {
		s = cut_front(s, 2);
		any = take_version(&s, &t->from);
		if (!any)
			return false;
	}
	if (span_begins(s, "<") && !span_begins(s, "<=")) {
		s = cut_front(s, 1);
		any = take_version(&s, &t->below);
	}
	return any && !s.len && t->from < t->below;
}

static bool take_value(struct applies_term *t)
{
	switch (t->kind) {
	case APPLIES_FS:
		/* "9p" begins with a digit. */
		return span_is(t->value, "9p") || span_is_name(t->value, "._-");
	case APPLIES_DEVICE:
		return span_is(t->value, "rotational") || span_is(t->value, "ssd") ||
		       span_is(t->value, "network");
	case APPLIES_KERNEL:
		return take_range(t->value, t);
	case APPLIES_CGROUP:
		return span_is(t->value, "v1") || span_is(t->value, "v2");
	default:
		return false;
	}
}

static int take_term(struct span text, struct applies_term *ret, const char **ret_wrong)
{
	struct applies_term t = {.value = text};

	for (int kind = 0; kind < APPLIES_NR; kind++) {
		size_t len = 0;

		if (!span_begins(text, kinds[kind].prefix))
			continue;
		while (kinds[kind].prefix[len])
			len++;
		t.kind = (enum applies_kind)kind;
		t.value = cut_front(text, len);
		if (take_value(&t)) {
			*ret = t;
			return 1;
		}
		ret->value = text;
		*ret_wrong = kinds[kind].wrong;
		return -EINVAL;
	}
	ret->value = text;
	*ret_wrong = "write any, or a list of fs:, device:, kernel: and cgroup:";
	return -EINVAL;
}

int applies_next(struct span *list, struct applies_term *ret, const char **ret_wrong)
{
	struct span text;

	if (span_is(span_trim(*list), "any"))
		*list = cut_front(*list, list->len);
	if (!list_next(list, &text))
		return 0;
	return take_term(text, ret, ret_wrong);
}
