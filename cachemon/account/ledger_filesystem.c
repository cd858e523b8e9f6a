/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>

#include "cachemon/account/ledger_impl.h"
#include "cachemon/base/text_builder.h"

enum { REST };

int filesystems_init(struct ledger *l)
{
	if (!l->limits.filesystems)
		l->limits.filesystems = 1;
	if (vec_reserve(l->filesystems, l->max_filesystems, 1))
		return -ENOMEM;
	l->filesystems[REST] = (struct ledger_filesystem){.job = JOB_WATCHED, .rest = true};
	l->nr_filesystems = 1;
	return 0;
}

void filesystems_free(struct ledger *l)
{
	for (size_t i = 0; i < l->nr_filesystems; i++) {
		free(l->filesystems[i].type);
		free(l->filesystems[i].mount);
		free(l->filesystems[i].cover);
		free(l->filesystems[i].why);
	}
	free(l->filesystems);
}

static struct ledger_filesystem *find_filesystem(struct ledger *l, uint32_t dev)
{
	struct ledger_filesystem *f = &l->filesystems[l->last_filesystem];

	/* Thousands of consecutive files come from one device, and there are few devices. */
	if (!f->rest && f->dev == dev)
		return f;
	for (size_t i = REST + 1; i < l->nr_filesystems; i++) {
		if (l->filesystems[i].dev == dev) {
			l->last_filesystem = i;
			return &l->filesystems[i];
		}
	}
	return NULL;
}

static struct ledger_filesystem *filesystem_of(struct ledger *l, uint32_t dev)
{
	struct ledger_filesystem *f = find_filesystem(l, dev);

	if (f)
		return f;
	if (l->nr_filesystems == l->limits.filesystems ||
	    vec_reserve(l->filesystems, l->max_filesystems, l->nr_filesystems + 1))
		return &l->filesystems[REST];
	f = &l->filesystems[l->nr_filesystems++];
	*f = (struct ledger_filesystem){.job = JOB_WATCHED, .dev = dev};
	return f;
}

static void add_to_filesystem(struct ledger_filesystem *f, const int64_t *delta)
{
	counters_add(&f->total, delta);
	f->mark.dirty = true;
}

void filesystem_apply(struct ledger *l, const struct sample_file *sf, enum file_seen seen)
{
	struct ledger_filesystem *f = filesystem_of(l, sf->key.dev);

	f->files += seen == FILE_NEW;
	f->files_estimated |= seen == FILE_NOT_TOLD;
	add_to_filesystem(f, sf->c);
}

void filesystem_rest(struct ledger *l, const int64_t *delta)
{
	struct ledger_filesystem *f = &l->filesystems[REST];

	f->files_estimated = true;
	add_to_filesystem(f, delta);
}

/* now NULL: the present value is not known. */
static void describe_filesystem(struct ledger_filesystem *f, char **text, const char *now)
{
	if (now && text_replace(text, now))
		f->mark.dirty = true;
}

void filesystems_describe(struct ledger *l, const struct sample_filesystem *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		struct ledger_filesystem *f = find_filesystem(l, list[i].dev);

		if (!f)
			continue;
		describe_filesystem(f, &f->type, list[i].type);
		describe_filesystem(f, &f->mount, list[i].mount);
		describe_filesystem(f, &f->cover, list[i].cover);
		describe_filesystem(f, &f->why, list[i].why);
	}
}
