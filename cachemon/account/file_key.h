/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares and hashes the key of a file. */
#ifndef FILE_KEY_H
#define FILE_KEY_H

#include <stdbool.h>

#include "bpf/cachemon.h"
#include "cachemon/base/hash.h"

static inline bool file_key_equal(const struct file_key *a, const struct file_key *b)
{
	return a->ino == b->ino && a->dev == b->dev && a->gen == b->gen;
}

/* All 0: no file. */
static inline bool file_key_none(const struct file_key *key)
{
	return !key->ino && !key->dev && !key->gen;
}

static inline uint64_t file_key_hash(const struct file_key *key)
{
	return hash_mix(hash_mix(key->ino) ^ ((uint64_t)key->dev << 32 | key->gen));
}

#endif
