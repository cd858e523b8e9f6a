/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Internals of the traces, shared by their files: traces.c (the files), traces_event.c (from
 * records to events). No other file includes this.
 */
#ifndef TRACES_IMPL_H
#define TRACES_IMPL_H

#include "cachemon/account/file_key.h"
#include "cachemon/account/traces.h"

enum { DESCRIPTIONS_MAX = 4096, ACTORS_MAX = 4096, MAPPINGS_MAX = 4096 };

/* The present meaning of an address of a struct file. */
struct description {
	uint64_t file;
	uint32_t number;
	uint32_t flags; /* TRACE_RANDOM, TRACE_NOREUSE */
	uint32_t ra_pages;
	uint32_t reader; /* the last task that read it; unknown if none did */
	bool read;
	bool touched; /* its readahead state was used */
};

struct mapping {
	uint64_t start, end, offset_pages;
};

struct traces {
	struct traces_config config;
	struct traced_file **files;
	size_t nr_files;
	struct hash_index by_key, by_number;
	uint64_t events;
};

/* Encodes a record. */
void traced_file_take(struct traces *t, struct traced_file *f, const struct trace_record *rec);

#endif
