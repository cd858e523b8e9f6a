/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A resolver with its own directory, and name records to resolve. Failures fail the test. Include
 * after cmocka.h.
 */
#ifndef RESOLVE_WORLD_H
#define RESOLVE_WORLD_H

#include "cachemon/capture/resolve.h"
#include "scratch.h"

#define DEV(major, minor) ((uint32_t)(major) << 20 | (uint32_t)(minor))
#define NELEMS(a)	  (sizeof(a) / sizeof((a)[0]))

enum { NOBODY = 999999 }; /* a tgid that does not exist in /proc */

struct world {
	struct scratch s;
	struct resolver *r;
};

/* Writes the components of path, leaf first, into record. */
static inline size_t fill(struct name_record *record, const char *path, uint32_t flags,
			  uint32_t dev, uint32_t tgid)
{
	const char *end = path + strlen(path);

	memset(record, 0, sizeof(*record));
	record->flags = flags;
	record->file.dev = dev;
	record->tgid = tgid;
	while (end > path) {
		const char *start = end;

		while (start > path && start[-1] != '/')
			start--;
		memcpy(record->data + record->data_len, start, (size_t)(end - start));
		record->data_len += (uint32_t)(end - start) + 1;
		end = start > path ? start - 1 : path;
	}
	return offsetof(struct name_record, data) + record->data_len;
}

/* As programs send the name of a file whose directory they know. */
static inline void put_leaf_last(struct name_record *record)
{
	char leaf[NAME_DATA_MAX];
	size_t len = strnlen(record->data, record->data_len) + 1;

	if (!record->data_len)
		return;
	memcpy(leaf, record->data, len);
	memmove(record->data, record->data + len, record->data_len - len);
	memcpy(record->data + record->data_len - len, leaf, len);
	record->flags |= NAME_LEAF_LAST;
}

static inline void expect_once(struct world *w, const char *path, uint32_t flags, uint32_t dev,
			       uint32_t tgid, const char *want, bool leaf_last)
{
	struct resolved name = {0};
	struct name_record record;
	size_t size = fill(&record, path, flags, dev, tgid);

	if (leaf_last)
		put_leaf_last(&record);
	assert_int_equal(resolver_name(w->r, &record, size, &name), 0);
	if (!name.path || strcmp(name.path, want) != 0)
		fail_msg("%s on %u:%u: %s, not %s", path, dev >> 20, dev & 0xfffff,
			 name.path ? name.path : "none", want);
	assert_int_equal(name.deleted, (flags & NAME_UNLINKED) != 0);
	free(name.path);
}

static inline void expect(struct world *w, const char *path, uint32_t flags, uint32_t dev,
			  uint32_t tgid, const char *want)
{
	expect_once(w, path, flags, dev, tgid, want, false);
	expect_once(w, path, flags, dev, tgid, want, true);
}

#endif
